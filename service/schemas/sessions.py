"""What sessions take and answer."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, model_validator

from service.schemas.base import Fraction, Interval, RequestModel, ResponseModel, one_of
from service.schemas.comparisons import NON_INFERIORITY_MARGIN, Confidence, Margin, Preset
from service.schemas.requests import Count, Name, Seed
from service.schemas.selections import MatrixRef

Status = Literal["open", "decided", "exhausted", "stopped", "expired"]
STATUS = (
    "`open` takes answers; `decided`; `exhausted`: the budget was used up undecided; `stopped` by a caller; "
    "`expired`: no answer came for days."
)
RUN_VARIANCE = Annotated[
    float | None,
    Field(
        ge=0,
        le=0.25,
        description="Variance of one answer from run to run: then the question is about new runs. When left "
        "out, about these very runs.",
    ),
]


class CompareQuestion(RequestModel):
    """Is the candidate worse, or better, than the baseline?"""

    kind: Annotated[Literal["compare"], Field(description="A gate on candidate − baseline.")]
    baseline: Annotated[Name, Field(description="A model of the matrix with a score on every example.")]
    preset: Preset = "regression"
    margin: Annotated[
        Margin | None, Field(description="By default 0; 0.05 for `non_inferiority`, 5 points.")
    ] = None
    confidence: Confidence = 0.9
    run_variance: RUN_VARIANCE = None

    @property
    def gate_margin(self) -> float:
        """The margin asked for, or the preset's."""
        if self.margin is not None:
            return self.margin
        return NON_INFERIORITY_MARGIN if self.preset == "non_inferiority" else 0.0


class ScoreQuestion(RequestModel):
    """What is the candidate's score on the full benchmark?"""

    kind: Annotated[Literal["score"], Field(description="A full score with an interval.")]
    precision: Annotated[
        float,
        Field(ge=0.001, le=0.5, description="Half the width of the interval at which the session ends."),
    ]
    baseline: Annotated[
        Name | None, Field(description="A model of the matrix that the candidate is like, if there is one.")
    ] = None
    confidence: Confidence = 0.9
    run_variance: RUN_VARIANCE = None


class SessionCreate(RequestModel):
    """Start a session."""

    matrix_id: Annotated[str, Field(min_length=1, max_length=100, description="From `POST /matrices`.")]
    revision: Annotated[Count | None, Field(description="Of the matrix; the newest when left out.")] = None
    question: Annotated[
        CompareQuestion | ScoreQuestion, Field(discriminator="kind", description="What is to be decided.")
    ]
    budget: Annotated[
        int | None,
        Field(ge=10, lt=2**31, description="Most examples; the whole benchmark when left out."),
    ] = None
    batch: Annotated[
        int, Field(ge=1, le=10_000, description="Examples handed out at a time; at most the budget.")
    ] = 25
    looks: Annotated[
        Literal["planned", "any"],
        Field(
            description="`planned`: the answers are looked at after whole batches, from 50 examples on, with "
            "the error spread over these looks. `any`: the interval holds whenever looked at, and is wider."
        ),
    ] = "planned"
    mode: Annotated[
        Literal["random", "designed"],
        Field(
            description="`random`: a probability sample; intervals hold whatever the candidate is. "
            "`designed`: the most telling examples first; fewer answers decide, but intervals are a model's "
            "and hold for candidates like the source models."
        ),
    ] = "random"
    errors: Annotated[
        Literal["zero", "missing"],
        Field(description="What an `error` of the evaluated system counts as: 0, or no score."),
    ] = "zero"
    seed: Seed = 0
    clusters: Annotated[
        dict[str, Name] | None,
        Field(description="Example id → what it belongs to (a shared passage); of every example."),
    ] = None

    @model_validator(mode="after")
    def _batches_fit(self) -> SessionCreate:
        given = "batch" in self.model_fields_set
        if self.budget is not None and given and self.batch > self.budget:
            raise ValueError("A batch is at most the budget.")
        if self.question.kind == "score" and self.mode == "designed" and self.question.baseline is None:
            raise ValueError("A designed order of a score needs the baseline that the candidate is like.")
        return self


class AnswerFailed(RequestModel):
    """The evaluated system ended in an error or refused."""

    error: Annotated[str, Field(max_length=2000, description="Its message; not stored.")]


SessionAnswer = Annotated[
    Fraction | Annotated[list[Fraction | None], Field(min_length=1, max_length=1000)] | AnswerFailed | None,
    one_of(
        "a score from 0 to 1, a list of them (one an attempt), an object with `error`, or null where there "
        "is no score"
    ),
]


class SessionAnswers(RequestModel):
    """Answers to examples of a session."""

    answers: Annotated[
        dict[str, SessionAnswer],
        Field(
            max_length=20_000,
            description="By example id. Of several attempts the mean counts; null says that there is no "
            "score, which is taken as missing at random.",
        ),
    ]
    another_batch: Annotated[
        bool,
        Field(description="Hand out a further batch, to a caller who works beside others on this session."),
    ] = False


class QuestionView(ResponseModel):
    """The question, every default filled in."""

    kind: Literal["compare", "score"] = Field(description="As in the request.")
    baseline: str | None = Field(description="The model it is about, or that the candidate is like.")
    preset: Literal["regression", "non_inferiority", "improvement"] | None = Field(
        description="What the gate is for; null for a score."
    )
    margin: float | None = Field(description="Largest acceptable drop, or gain to exceed; null for a score.")
    confidence: float = Field(description="With which the intervals of all looks hold together.")
    precision: float | None = Field(description="Half the width asked for; null for a comparison.")
    run_variance: float | None = Field(description="Stated variance of one answer from run to run.")


class LookView(ResponseModel):
    """What was found when the answers were looked at."""

    size: int = Field(description="Examples answered then, in the order they were handed out.")
    scored: int = Field(description="Those with a score.")
    estimate: float = Field(description="Candidate − baseline on the full benchmark, or the full score.")
    standard_error: float = Field(description="Of the estimate; 0 when the whole benchmark is known.")
    interval: Interval = Field(description="Holds together with the intervals of all other looks.")
    critical: float = Field(description="Standard errors it reaches by the plan, before Student's t.")
    error_spent: float = Field(description="Share of 1 − confidence's error spent so far, two-sided.")
    decision: Literal["pass", "fail", "inconclusive", "known"] | None = Field(
        description="Null while undecided; `inconclusive` at the end of the budget."
    )
    futile: bool = Field(description="Whether it passes because a drop could hardly be shown any more.")
    chance: float = Field(description="Estimated chance to decide within the budget; 1 once decided.")
    estimator: Literal["plain", "regression", "assisted", "predicted"] = Field(
        description="What the estimate rests on beside the paired answers: a regression on the baseline, the "
        "source models' help (`assisted`), or a model's prediction (`predicted`)."
    )


class SessionSummary(ResponseModel):
    """A session without its examples."""

    id: str = Field(description="Id of the session.")
    status: Status = Field(description=STATUS)
    matrix_id: str = Field(description="The matrix whose examples are asked.")
    revision: int = Field(description="Its revision.")
    question: QuestionView = Field(description="What is to be decided.")
    budget: int = Field(description="Most examples.")
    batch: int = Field(description="Examples handed out at a time.")
    looks_at: Literal["planned", "any"] = Field(description="When the answers are looked at.")
    mode: Literal["random", "designed"] = Field(description="In which order examples are asked.")
    errors: Literal["zero", "missing"] = Field(description="What an error counts as.")
    seed: int = Field(description="Of the order.")
    handed_out: int = Field(description="Examples given to callers so far.")
    answered: int = Field(description="Examples answered, with or without a score.")
    verdict: Literal["pass", "fail", "inconclusive", "known"] | None = Field(
        description="Of the last look; null while it is undecided, and of one stopped or expired."
    )
    created_at: datetime = Field(description="When it was started.")
    updated_at: datetime = Field(description="When the last answer came.")


class SessionView(SessionSummary):
    """A session, and which examples it waits for."""

    matrix: MatrixRef = Field(description="The exact data it rests on.")
    engine_version: str = Field(description="Version of the engine that it was started with.")
    scored: int = Field(description="Answers with a score.")
    next_batch: list[str] = Field(
        description="Examples that this call handed out; empty when it completed no batch."
    )
    outstanding: list[str] = Field(
        description="All examples handed out and not answered, in order: what to run next, alone."
    )
    next_look: int | None = Field(
        description="Number of answered examples at which it is looked at next; null when it has ended."
    )
    current: LookView | None = Field(description="The last look; null before the first.")
    reason: str = Field(description="Where the session stands, in a sentence.")
    looks: list[LookView] = Field(description="All looks, first to last.")
    warnings: list[str] = Field(description="What limits the estimate.")


class SessionPage(ResponseModel):
    """A page of sessions."""

    items: list[SessionSummary] = Field(description="Newest first.")
    next_cursor: str | None = Field(description="Send as `cursor` for the next page; null on the last.")

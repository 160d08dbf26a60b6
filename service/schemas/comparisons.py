"""What `POST /compare` and `POST /power` take."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag, ValidationInfo, field_validator, model_validator

from service.schemas.base import Fraction, RequestModel, named_or, one_of
from service.schemas.requests import MISSING, AttemptsBudget, Count, Errors, Missing, Name, Score

Answer = Annotated[
    Fraction | list[Fraction | None] | None,
    one_of("a score from 0 to 1, a list of them (one a run), or null where there is none"),
]
Confidence = Annotated[float, Field(ge=0.5, le=0.9999, description="Of the two-sided interval.")]
Margin = Annotated[
    Fraction, Field(description="Largest drop that is acceptable; of `improvement` the gain to exceed.")
]
Preset = Annotated[
    Literal["regression", "non_inferiority", "improvement"],
    Field(
        description="`regression` fails only when a drop beyond the margin is shown and passes otherwise; "
        "`non_inferiority` passes only when one is excluded; `improvement` passes only when a gain beyond "
        "the margin is shown. The last two may be inconclusive."
    ),
]
Revision = Annotated[
    Count | None,
    Field(description="Revision of the matrix, only with `matrix_id`; the newest when left out."),
]
NON_INFERIORITY_MARGIN = 0.05
"""Without any margin not even an unchanged model could be shown to be no worse."""
Power = Annotated[float, Field(ge=0.5, le=0.999, description="With which a drop is to be found.")]


class Answers(RequestModel):
    """A model's answers, by example id."""

    name: Annotated[Name | None, Field(description="What the answer calls it.")] = None
    answers: Annotated[dict[str, Answer], Field(min_length=1, description="A list holds repeated runs.")]


Side = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Answers, Tag("spec")],
    named_or(Answers, "the name of a model, or an object with its answers by example id"),
]


class CompareRequest(RequestModel):
    """Compare a candidate, or several, with a baseline."""

    matrix_id: Annotated[Name | None, Field(description="Compare on the full benchmark.")] = None
    revision: Revision = None
    selection_id: Annotated[Name | None, Field(description="Compare on its examples only.")] = None
    baseline: Annotated[
        Side,
        Field(
            description="A model of the matrix (for a selection, of its newest revision too), a model whose "
            "scores were kept, or answers."
        ),
    ]
    candidate: Annotated[
        Side | None,
        Field(
            description="The model to compare, named or sent like `baseline`; either this or `candidates`."
        ),
    ] = None
    candidates: Annotated[
        list[Side] | None,
        Field(min_length=1, max_length=100, description="Several at once: all verdicts hold together."),
    ] = None
    preset: Preset = "regression"
    margin: Annotated[
        Margin | None, Field(description="By default 0; 0.05 for `non_inferiority`, 5 points.")
    ] = None
    subtask_margin: Annotated[
        Margin | None,
        Field(
            description="The largest drop of any subtask that is acceptable; without it subtasks only warn."
        ),
    ] = None
    confidence: Confidence = 0.9
    power: Power = 0.8
    truth: Annotated[
        Literal["population", "full_benchmark", "runs"],
        Field(
            description="What the verdict is about: these very runs on all examples of this benchmark; new "
            "`runs` on them (with repeats or `run_variance`); or the models on a `population` of questions."
        ),
    ] = "full_benchmark"
    run_variance: Annotated[
        float | None,
        Field(
            ge=0,
            le=0.25,
            description="Variance of one answer from one run to the next, of each model, where runs are not "
            "repeated: p(1 − p) on average; 0 for deterministic decoding.",
        ),
    ] = None
    estimator: Annotated[
        Literal["auto", "plain"],
        Field(
            description="On a selection: full scores estimated with what the source models and the baseline "
            "say of the other examples, or, of a random or stratified one, the paired difference alone."
        ),
    ] = "auto"
    least_coverage: Annotated[
        Fraction,
        Field(
            description="Share of the examples both must have answered; below it the verdict is inconclusive."
        ),
    ] = 0.95
    clusters: Annotated[
        dict[str, Name] | None,
        Field(description="Example id → what it belongs to (a shared passage); of every example compared."),
    ] = None

    score: Score = None
    errors: Errors = None
    store: Annotated[
        bool,
        Field(description="Whether to keep the answer, with a page of its own; until `keep_jobs_days` pass."),
    ] = True

    @property
    def gate_margin(self) -> float:
        """The margin asked for, or the preset's."""
        if self.margin is not None:
            return self.margin
        return NON_INFERIORITY_MARGIN if self.preset == "non_inferiority" else 0.0

    @model_validator(mode="after")
    def _one_of_each(self) -> CompareRequest:
        if (self.matrix_id is None) == (self.selection_id is None):
            raise ValueError("Give either matrix_id or selection_id.")
        if self.revision is not None and self.matrix_id is None:
            raise ValueError("A revision goes with matrix_id; a selection has its own.")
        if (self.candidate is None) == (self.candidates is None):
            raise ValueError("Give either candidate or candidates.")
        return self


class Threshold(RequestModel):
    """A gate you already have: scores below `threshold` fail."""

    threshold: Annotated[Fraction, Field(description="Scores below this fraction fail.")]
    n: Annotated[Count, Field(le=1_000_000, description="Examples it is run on.")]
    score: Annotated[Fraction, Field(description="True score of a healthy model.")]
    bad_score: Annotated[
        Fraction | None, Field(description="True score of one that should fail; below `score`.")
    ] = None
    runs: Annotated[
        list[Fraction] | None,
        Field(min_length=2, max_length=10_000, description="Scores of earlier runs of a healthy model."),
    ] = None

    @field_validator("bad_score")
    @classmethod
    def _bad_is_below(cls, bad: float | None, others: ValidationInfo) -> float | None:
        score = others.data.get("score")
        if bad is not None and score is not None and bad >= score:
            raise ValueError(f"Should be below score, {score:g}: it is that of a worse model.")
        return bad


class PowerRequest(RequestModel):
    """How many examples it takes, before anything is run."""

    difference: Annotated[Fraction, Field(ge=1e-6, description="Between the two models' full scores.")]
    disagreement: Annotated[
        Fraction | None,
        Field(ge=1e-6, description="Share of examples only one of the two gets right; else of the matrix."),
    ] = None
    matrix_id: Annotated[Name | None, Field(description="Take the disagreement from its models.")] = None
    revision: Revision = None
    models: Annotated[
        list[Name] | None, Field(min_length=2, max_length=1000, description="Only among these models of it.")
    ] = None
    missing: Annotated[Missing, MISSING] = "error"
    score: Score = None
    errors: Errors = None
    job_id: Annotated[
        Name | None, Field(description="An `/mdad` job, to name the best method and size it measured.")
    ] = None
    probability: Annotated[float, Field(ge=0.5, le=0.999, description="Wanted throughout.")] = 0.8
    confidence: Confidence = 0.95
    margin: Margin = 0.0
    purpose: Annotated[
        Literal["pull_request_check"] | None,
        Field(
            description="Plan the default gate of `/compare` (`confidence` 0.9 unless given, truth this "
            "benchmark) to find a drop of `difference`: the answer's `pull_request_check`."
        ),
    ] = None
    preset: Preset = "regression"
    benchmark: Annotated[
        Count | None, Field(le=10_000_000, description="Examples of the full benchmark; else the matrix's.")
    ] = None
    sizes: Annotated[
        list[Annotated[Count, Field(le=1_000_000)]] | None,
        Field(
            min_length=1, max_length=50, description="By default 10 to 1000, as far as the benchmark goes."
        ),
    ] = None
    budget: Annotated[
        AttemptsBudget | None,
        Field(
            description="How many examples and how many attempts at each to run; needs the number of "
            "examples of the benchmark, and both variances or a matrix with repeated attempts."
        ),
    ] = None
    threshold: Annotated[
        Threshold | None, Field(description="A gate on one model's score, to compute how often it is wrong.")
    ] = None

    @model_validator(mode="after")
    def _has_disagreement(self) -> PowerRequest:
        if (self.disagreement is None) == (self.matrix_id is None):
            raise ValueError("Give either disagreement or matrix_id.")
        if self.purpose is not None and self.difference <= self.margin:
            raise ValueError("The difference to be found lies above the margin.")
        if self.matrix_id is None and (self.revision is not None or self.models is not None):
            raise ValueError("revision and models go with matrix_id.")
        if self.matrix_id is None and (self.score is not None or self.errors is not None):
            raise ValueError("score and errors go with matrix_id.")
        return self

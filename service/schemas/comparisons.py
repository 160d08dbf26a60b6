"""What `POST /compare` and `POST /power` take."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag, ValidationInfo, field_validator, model_validator

from service.schemas.base import Fraction, RequestModel, named_or, one_of
from service.schemas.requests import MISSING, Count, Missing, Name

Answer = Annotated[
    Fraction | list[Fraction | None] | None,
    one_of("a score from 0 to 1, a list of them (one a run), or null where there is none"),
]
Confidence = Annotated[float, Field(ge=0.5, le=0.9999, description="Of the two-sided interval.")]
Margin = Annotated[Fraction, Field(description="The largest drop that is acceptable.")]
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
    revision: Count | None = None
    selection_id: Annotated[Name | None, Field(description="Compare on its examples only.")] = None
    baseline: Annotated[
        Side,
        Field(
            description="A model of the matrix (for a selection, of its newest revision too), a model whose "
            "scores were kept, or answers."
        ),
    ]
    candidate: Side | None = None
    candidates: Annotated[
        list[Side] | None,
        Field(min_length=1, max_length=100, description="Several at once: all verdicts hold together."),
    ] = None
    margin: Margin = 0.0
    confidence: Confidence = 0.95
    power: Power = 0.8
    truth: Annotated[
        Literal["population", "full_benchmark"],
        Field(
            description="Whether the verdict is about the models, or about these very runs on all examples."
        ),
    ] = "population"
    clusters: Annotated[
        dict[str, Name] | None,
        Field(description="Example id → what it belongs to (a shared passage); of every example compared."),
    ] = None

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

    threshold: Fraction
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
    revision: Count | None = None
    models: Annotated[
        list[Name] | None, Field(min_length=2, max_length=1000, description="Only among these models of it.")
    ] = None
    missing: Annotated[Missing, MISSING] = "error"
    job_id: Annotated[
        Name | None, Field(description="An `/mdad` job, to name the best method and size it measured.")
    ] = None
    probability: Annotated[float, Field(ge=0.5, le=0.999, description="Wanted throughout.")] = 0.8
    confidence: Confidence = 0.95
    margin: Margin = 0.0
    benchmark: Annotated[
        Count | None, Field(le=10_000_000, description="Examples of the full benchmark; else the matrix's.")
    ] = None
    sizes: Annotated[
        list[Annotated[Count, Field(le=1_000_000)]] | None,
        Field(
            min_length=1, max_length=50, description="By default 10 to 1000, as far as the benchmark goes."
        ),
    ] = None
    threshold: Threshold | None = None

    @model_validator(mode="after")
    def _has_disagreement(self) -> PowerRequest:
        if (self.disagreement is None) == (self.matrix_id is None):
            raise ValueError("Give either disagreement or matrix_id.")
        if self.matrix_id is None and (self.revision is not None or self.models is not None):
            raise ValueError("revision and models go with matrix_id.")
        return self

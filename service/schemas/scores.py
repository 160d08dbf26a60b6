"""What `/selections/{id}/scores` answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.schemas.base import Fraction, Interval, ResponseModel
from service.schemas.selections import MatrixRef
from service.schemas.verdicts import DriftView, RankInterval


class ScoreView(ResponseModel):
    """What a model would score on the full benchmark, from its answers on the selection."""

    model: str = Field(description="Name of the model.")
    score: Fraction = Field(description="Estimated score on the full benchmark, in [0, 1].")
    interval: Interval = Field(description="Two-sided interval of the score at `confidence`.")
    standard_error: float = Field(
        description="Standard error of the score, a fraction; 0 when nothing is unknown."
    )
    basis: Literal["design", "model"] = Field(description="A sample needs no model; other selections do.")
    estimator: Literal["plain", "regression", "assisted", "predicted", "weighted"] = Field(
        description="`plain`: the sample's mean; `regression`, `assisted`: corrected by what the source "
        "models say of the other examples; `predicted`: their predictor; `weighted`: the selection's weights."
    )
    effective_size: float | None = Field(
        description="Random examples whose mean would tell as much; null when all is known."
    )
    answered: int = Field(description="Number of the selection's examples that the model answered.")
    asked: int = Field(description="Number of examples of the selection.")
    coverage: Fraction = Field(description="`answered` divided by `asked`.")
    bounds: Interval | None = Field(description="Were all missing answers wrong, or all right.")
    rank: int | None = Field(description="Among the matrix's models; 1 is best.")
    rank_interval: RankInterval | None = Field(
        description="Best and worst rank that the interval leaves possible; null where `rank` is."
    )
    indistinguishable: list[str] = Field(description="Models of the matrix within the interval.")
    warnings: list[str] = Field(description="What to know before relying on this score.")


class ScoresView(ResponseModel):
    """Full scores estimated from answers on a selection."""

    selection_id: str = Field(description="Id of the selection.")
    matrix: MatrixRef = Field(description="The matrix revision the selection was made on.")
    confidence: float = Field(description="Confidence of each model's interval.")
    estimator: str = Field(description="`weighted` for selections made for one of item response theory.")
    scores: list[ScoreView] = Field(description="One entry for each model.")
    drift: DriftView | None = Field(
        description="Whether the selection still holds; null where no model has joined the matrix since."
    )
    kept: bool = Field(description="Whether the answers were kept, so that `/compare` knows these models.")
    warnings: list[str] = Field(description="About the upload.")

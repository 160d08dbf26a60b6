"""Selections as the API tells them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from service.schemas.base import ResponseModel


class Chosen(ResponseModel):
    """One chosen example."""

    id: str
    weight: float = Field(gt=0, le=1, description="Share of the estimated score; all of them sum to 1.")
    subtask: str | None


class MatrixRef(ResponseModel):
    """The exact data a result was computed from."""

    id: str
    revision: int
    content_hash: str


class CalibrationView(ResponseModel):
    """Errors of estimated full scores, measured on models whose full scores are known."""

    models: int
    bias: float
    deviation: float = Field(description="Root mean square error.")
    effective_size: float | None = Field(description="Random examples that would order models as well.")
    measured_on: str


class PredictorView(ResponseModel):
    """A linear predictor of the full score."""

    coefficients: list[float]
    intercept: float
    posterior: float = Field(description="Standard deviation it gives its own errors.")


class SelectionResult(ResponseModel):
    """A micro-benchmark: which examples, and how answers on them become a full score."""

    selection_id: str = Field(description="Derived from the request, so the same request gives the same.")
    content_hash: str = Field(description="SHA-256 of all the rest.")
    matrix: MatrixRef
    method: str
    estimator: str = Field(description="How answers on the examples become a full score.")
    options: dict[str, Any]
    scored_by: Literal["scores", "confidences"]
    size: int
    seed: int
    source_models: list[str] = Field(description="The models it was chosen by.")
    examples: list[Chosen] = Field(description="By id.")
    missing: str = Field(description="What was done with cells that had no score.")
    predictor: PredictorView | None = Field(
        None, description="Score ≈ intercept + Σ coefficient × answer, in the order of `examples`; or null."
    )
    calibration: CalibrationView | None = Field(
        description="How far its estimates are from full scores; null for a sample, which needs no measuring."
    )
    calibration_of_scores: CalibrationView | None = Field(
        None, description="The same for answers of 0 and 1, where the method takes confidences."
    )
    stability: float = Field(description="Overlap (Jaccard) with the choice under another seed.")


class SelectionView(SelectionResult):
    """A stored selection; it never changes."""

    created_at: datetime


class ExportView(ResponseModel):
    """One way to take the chosen examples to another tool."""

    format: str
    href: str | None = Field(description="Where the file is; null where there can be none.")
    filename: str | None = Field(description="What to save it as, for the command.")
    command: str | None = Field(
        description="Runs the chosen examples only; add the model and all else that the full runs had."
    )
    reason: str | None = Field(description="Why there is no such file.")


class SelectionDetail(SelectionView):
    """A stored selection, and how to run it."""

    exports: list[ExportView] = Field(
        description="Formats for anyone, and that of the tool whose logs the matrix was read from."
    )


class SelectionPage(ResponseModel):
    """A page of selections."""

    items: list[SelectionView]
    next_cursor: str | None

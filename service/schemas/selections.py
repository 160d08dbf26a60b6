"""Selections as the API tells them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from service.schemas.base import Tell


class Chosen(Tell):
    """One chosen example."""

    id: str
    weight: float = Field(gt=0, le=1, description="Share of the estimated score; all of them sum to 1.")
    subtask: str | None


class MatrixRef(Tell):
    """The exact data a result was computed from."""

    id: str
    revision: int
    content_hash: str


class SelectionResult(Tell):
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
    stability: float = Field(description="Overlap (Jaccard) with the choice under another seed.")


class SelectionView(SelectionResult):
    """A stored selection; it never changes."""

    created_at: datetime


class SelectionPage(Tell):
    """A page of selections."""

    items: list[SelectionView]
    next_cursor: str | None

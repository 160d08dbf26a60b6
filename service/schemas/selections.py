"""Selections as the API tells them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

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

    selection_id: str
    content_hash: str
    settings: dict[str, Any]
    matrix: MatrixRef
    examples: list[Chosen]
    estimator: str


class SelectionView(SelectionResult):
    """A stored selection; it never changes."""

    created_at: datetime


class SelectionPage(Tell):
    """A page of selections."""

    items: list[SelectionView]
    next_cursor: str | None

"""Matrices as the API tells them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from service.schemas.base import Fraction, Tell


class MatrixView(Tell):
    """One revision of a matrix."""

    id: str
    name: str
    revision: int = Field(ge=1, description="Grows with every change of a model's results.")
    models: int
    examples: int
    subtasks: list[str]
    binary: bool = Field(description="Whether every score is 0 or 1.")
    missing_cells: int = Field(description="Cells without a score; kept as missing.")
    constant_examples: int = Field(description="Examples on which all models agree.")
    has_confidences: bool
    has_embeddings: bool
    content_hash: str = Field(description="SHA-256 of the whole content in its canonical order.")
    created_at: datetime


class MatrixUploaded(MatrixView):
    """A matrix just read from an upload."""

    format: str = Field(description="The format the upload was read as.")
    warnings: list[str] = Field(description="What was noticed and kept; none of it was changed in silence.")


class MatrixPage(Tell):
    """A page of matrices, newest first."""

    items: list[MatrixView]
    next_cursor: str | None


class ModelView(Tell):
    """One model of a matrix."""

    model: str
    accuracy: Fraction | None = Field(description="Mean over its scored examples; null when it has none.")
    scored: int
    missing: int
    revision: int = Field(description="The revision these results came with.")


class ModelPage(Tell):
    """A page of models, by id."""

    items: list[ModelView]
    next_cursor: str | None

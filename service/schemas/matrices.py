"""Matrices as the API tells them."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from service.schemas.base import Fraction, Interval, RequestModel, ResponseModel


class MatrixView(ResponseModel):
    """One revision of a matrix."""

    id: str = Field(description="Id of the matrix; the same for all of its revisions.")
    name: str = Field(description="The name given at upload; need not be unique.")
    revision: int = Field(ge=1, description="Grows with every change of a model's results.")
    models: int = Field(description="Number of models.")
    examples: int = Field(description="Number of examples.")
    subtasks: list[str] = Field(
        description="Names of the subtasks, sorted; empty when the upload named none."
    )
    binary: bool = Field(description="Whether every score is 0 or 1.")
    missing_cells: int = Field(description="Cells without a score; kept as missing.")
    constant_examples: int = Field(description="Examples on which all models agree.")
    has_confidences: bool = Field(
        description="Whether it holds probabilities of the right answer beside the scores."
    )
    has_embeddings: bool = Field(description="Whether it holds an embedding of each example.")
    content_hash: str = Field(description="SHA-256 of the whole content in its canonical order.")
    created_at: datetime = Field(description="When this revision was made.")


class ModelReportView(ResponseModel):
    """What was read of one model, beside what its own log says."""

    model: str = Field(description="Name of the model.")
    scored: int = Field(description="Examples with a score.")
    errored: int = Field(description="Examples whose run failed.")
    unscored: int = Field(description="Examples that ran and got no score.")
    not_run: int = Field(description="Examples that are not in its log.")
    answers: int = Field(description="Answers read; more than `scored` where examples were repeated.")
    mean: Fraction | None = Field(
        description="Over the scored examples, or over all with `missing=zero`; null when it has none."
    )
    bounds: Interval = Field(
        description="The mean over all examples, were every missing answer wrong, and were it right."
    )
    reported: float | None = Field(description="The mean by the log's own account; null where it has none.")


class AttemptNumbersView(ResponseModel):
    """How many attempts a cell has, over the cells that were attempted."""

    min: int = Field(description="The least.")
    median: float = Field(description="Half of the cells have more, half fewer.")
    max: int = Field(description="The most.")


class MatrixUploaded(MatrixView):
    """A matrix just read from an upload."""

    format: str = Field(description="The format the upload was read as.")
    attempts: AttemptNumbersView | None = Field(
        None,
        description="How many attempts a cell of the upload has, with earlier ones if appended. "
        "Null where no cell has two, or the file has only their means.",
    )
    reports: list[ModelReportView] = Field(description="One a model, by id.")
    warnings: list[str] = Field(description="What was noticed and kept; none of it was changed in silence.")


class MatrixPage(ResponseModel):
    """A page of matrices, newest first."""

    items: list[MatrixView] = Field(description="The matrices of this page, each in its newest revision.")
    next_cursor: str | None = Field(
        description="Send it back as `cursor` for the next page; null on the last."
    )


class ModelView(ResponseModel):
    """One model of a matrix."""

    model: str = Field(description="Name of the model.")
    accuracy: Fraction | None = Field(description="Mean over its scored examples; null when it has none.")
    scored: int = Field(description="Examples with a score.")
    missing: int = Field(description="Examples without a score, for whatever reason.")
    errored: int | None = Field(
        description="Of the log: examples whose run failed; null in results stored by an earlier release."
    )
    unscored: int | None = Field(description="Of the log: examples that ran and got no score.")
    not_run: int | None = Field(description="Of the log: examples that are not in it.")
    answers: int | None = Field(description="Answers the scores are means of.")
    reported: float | None = Field(description="The mean by the log's own account, where it has one.")
    revision: int = Field(description="The revision these results came with.")
    family: str | None = Field(None, description="What it is a variant of, as the caller said.")
    released: date | None = Field(None, description="The day it was released, as the caller said.")
    tags: list[str] = Field(default_factory=list, description="The caller's own marks.")
    guessed_family: str | None = Field(
        None, description="What its name suggests; a proposal, which nothing here takes for granted."
    )


class ModelPatch(RequestModel):
    """What to change of what is known of a model; null clears it, what is left out stays."""

    family: Annotated[str, Field(max_length=200)] | None = Field(None, description="What it is a variant of.")
    released: date | None = Field(None, strict=False, description="The day it was released.")
    tags: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=50)] | None = Field(
        None, description="Marks of your own; they replace those before."
    )


class CellView(ResponseModel):
    """A model's result on one example."""

    example: str = Field(description="Id of the example.")
    score: Fraction | None = Field(description="Null where there is none.")
    state: Literal["scored", "errored", "unscored", "not_run", "missing"] = Field(
        description="`missing` where nobody said why there is no score."
    )
    answers: int | None = Field(
        description="How many the score is the mean of; null in results stored by an earlier release."
    )


class CellPage(ResponseModel):
    """A page of one model's results, by example."""

    items: list[CellView] = Field(description="The results of this page.")
    next_cursor: str | None = Field(
        description="Send it back as `cursor` for the next page; null on the last."
    )


class ModelPage(ResponseModel):
    """A page of models, by id."""

    items: list[ModelView] = Field(description="The models of this page.")
    next_cursor: str | None = Field(
        description="Send it back as `cursor` for the next page; null on the last."
    )

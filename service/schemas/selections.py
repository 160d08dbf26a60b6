"""Selections as the API tells them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from service.schemas.base import Fraction, ResponseModel
from service.schemas.gates import SelectionGateView


class Chosen(ResponseModel):
    """One chosen example."""

    id: str = Field(description="Id of the example.")
    weight: float = Field(gt=0, le=1, description="Share of the estimated score; all of them sum to 1.")
    subtask: str | None = Field(description="Its subtask; null when the matrix has none.")
    inclusion: float | None = Field(
        None, description="Probability with which it was to be chosen, where the selection is a sample."
    )


class MatrixRef(ResponseModel):
    """The exact data a result was computed from."""

    id: str = Field(description="Id of the matrix.")
    revision: int = Field(description="Revision of the matrix.")
    content_hash: str = Field(description="SHA-256 of that revision in its canonical order.")


class CalibrationView(ResponseModel):
    """Errors of estimated full scores, measured on models whose full scores are known."""

    models: int = Field(description="How many models it was measured on.")
    bias: float = Field(description="Mean of estimated minus full score.")
    deviation: float = Field(description="Root mean square error.")
    effective_size: float | None = Field(description="Random examples that would order models as well.")
    measured_on: str = Field(
        description="`new_models` had no part in the choice; in `cross_validation` each source model was "
        "left out in turn; `source_models` chose the examples, which is optimistic; `posterior` is what "
        "the predictor expects of itself."
    )


class PredictorView(ResponseModel):
    """A linear predictor of the full score."""

    coefficients: list[float] = Field(description="One an example, in the order of `examples`.")
    intercept: float = Field(description="The estimate when every answer is 0.")
    posterior: float = Field(description="Standard deviation it gives its own errors.")


class ScoringView(ResponseModel):
    """What the scores are scores of, where the request says how they follow from attempts."""

    score: str = Field(description="The score of an example from its attempts.")
    errors: Literal["zero", "missing", "refuse"] = Field(
        description="What attempts that ended without a score count as."
    )
    cells: int = Field(description="Cells with a score.")
    attempts: int = Field(description="Attempts that count, over all cells.")
    least: int = Field(description="Fewest attempts that count in a cell with a score.")
    median: float = Field(description="Half of these cells have more, half fewer.")
    most: int = Field(description="Most attempts that count in a cell.")
    errors_total: int = Field(description="Attempts that were made and ended without a score.")
    errors_by_model: dict[str, int] = Field(description="Of the models that have any.")
    statement: str = Field(description="The denominators as a sentence.")


class SpendingView(ResponseModel):
    """One way to spend a budget of runs."""

    examples: int = Field(description="Examples to run.")
    attempts: int = Field(description="Attempts at each.")
    standard_error: float = Field(description="Of the difference of two models' scores.")
    detectable: float = Field(description="The difference that orders two models with `probability`.")


class AttemptsBudgetView(ResponseModel):
    """Examples and attempts under one budget, for the difference of two models on the full benchmark."""

    runs: int = Field(description="Of each model, as asked.")
    between_variance: float = Field(
        description="Between examples, of the difference of two models' chances to pass; paid by a subset."
    )
    within_variance: float = Field(
        description="Of the difference of one attempt each, around it: what repeats shrink."
    )
    pairs: int = Field(description="Pairs of models these are medians of; 0 where they are in the settings.")
    best: SpendingView = Field(description="The least standard error.")
    others: list[SpendingView] = Field(description="More attempts at fewer examples, for as many runs.")
    repeats_wasted: bool = Field(
        description="Whether a second attempt is a worse use of the budget than further examples."
    )
    false_alarm: Fraction = Field(
        description="Probability that one attempt each at the examples of `best` shows a drop of more than "
        "`margin` between two runs of one model."
    )
    statement: str = Field(description="The same as a sentence.")


class SelectionResult(ResponseModel):
    """A micro-benchmark: which examples, and how answers on them become a full score."""

    selection_id: str = Field(description="Derived from the request, so the same request gives the same.")
    content_hash: str = Field(description="SHA-256 of all the rest.")
    matrix: MatrixRef = Field(description="The data it was chosen from.")
    method: str = Field(description="The selection method.")
    estimator: str = Field(description="How answers on the examples become a full score.")
    options: dict[str, Any] = Field(description="The method's options, with every default filled in.")
    scored_by: Literal["scores", "confidences"] = Field(
        description="What the estimator takes as answers: scores, or probabilities of the right answer."
    )
    size: int = Field(description="Number of examples chosen.")
    seed: int = Field(description="The seed of the request.")
    source_models: list[str] = Field(description="The models it was chosen by.")
    examples: list[Chosen] = Field(description="By id.")
    missing: str = Field(description="What was done with cells that had no score.")
    expect: Literal["like", "better"] = Field(
        "like", description="What new models are expected to be, compared with the sources."
    )
    expect_reason: str | None = Field(None, description="Why they are expected to be that.")
    guarantee: bool = Field(False, description="Whether scores hold whatever the model under test is.")
    predictor: PredictorView | None = Field(
        None,
        description="Null since engine version 4: `POST /selections/{id}/scores` estimates, not linearly.",
    )
    calibration: CalibrationView | None = Field(
        description="How far its estimates are from full scores; null for a sample, which needs no measuring."
    )
    calibration_of_scores: CalibrationView | None = Field(
        None, description="The same for answers of 0 and 1, where the method takes confidences."
    )
    scoring: ScoringView | None = Field(
        None, description="Null where scores are those of the matrix: means of the attempts with a score."
    )
    gate: SelectionGateView | None = Field(
        None,
        description="What the default gate finds on these examples; null where nothing is unknown, answers "
        "are confidences, or fewer than four source models could be set apart.",
    )
    stability: float = Field(description="Overlap (Jaccard) with the choice under another seed.")


class SelectionView(SelectionResult):
    """A stored selection; it never changes."""

    created_at: datetime = Field(description="When it was first computed.")


class ExportView(ResponseModel):
    """One way to take the chosen examples to another tool."""

    format: str = Field(description="Name of the format, as in `export?format=`.")
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

    items: list[SelectionView] = Field(description="The selections of this page.")
    next_cursor: str | None = Field(
        description="Send it back as `cursor` for the next page; null on the last."
    )

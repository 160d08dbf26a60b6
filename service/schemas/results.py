"""What jobs result in. The bytes are sent as stored; these models document them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.schemas.base import Fraction, Interval, Tell
from service.schemas.selections import MatrixRef, SelectionResult


class CurvePoint(Tell):
    """Agreement of the pairs whose full scores differ by about `difference`."""

    difference: Fraction
    agreement: Fraction = Field(description="A tie counts half.")
    agreement_strict: Fraction = Field(description="A tie counts as wrong.")
    pairs: int


class KendallTau(Tell):
    """Kendall's tau-b between estimated and true scores, over trials."""

    mean: float | None
    sd: float | None
    reason: str | None = None


class EstimationError(Tell):
    """Absolute difference of estimated and true scores."""

    mean: float | None
    p90: float | None


class Judged(Tell):
    """How well a micro-benchmark orders models, judged by one truth."""

    agreement: Fraction | None = Field(description="Share of pairs in their true order; a tie counts half.")
    agreement_interval: Interval | None
    agreement_strict: Fraction | None = Field(description="The same, a tie counting as wrong.")
    tie_rate: Fraction | None
    mdad: Fraction | None = Field(description="Smallest difference ordered right often enough.")
    interval: list[Fraction | None] | None = Field(description="Of the MDAD; 95 %, over models and trials.")
    reason: str | None = Field(None, description="Why there is no MDAD, like `not_reached`.")
    interval_reason: str | None = Field(None, description="Why there is no interval.")
    largest_difference: Fraction | None = Field(description="The largest difference tested.")
    mdad_paper: Fraction | None = Field(description="By the paper's rule: first crossing, ties wrong.")
    pairs: int
    equal_pairs: int = Field(description="Pairs with equal full scores, which have no order; left out.")
    curve: list[CurvePoint]
    kendall_tau: KendallTau | None = None
    estimation_error: EstimationError | None = None


class SizeResult(Tell):
    """One size of micro-benchmark."""

    size: int
    same_items: Judged = Field(description="Truth: the score on the examples chosen from.")
    new_items: Judged | None = Field(description="Truth: the score on examples held out from the choice.")


class MethodResult(Tell):
    """One method, estimator and set of options."""

    label: str
    method: str
    estimator: str
    options: dict[str, Any]
    scored_by: Literal["scores", "confidences"]
    source_models: int | None
    skipped: str | None = Field(None, description="Why this method could not work on these data.")
    sizes: list[SizeResult]


class Recommendation(Tell):
    """The smallest micro-benchmark that does what was asked, or why there is none."""

    status: str
    method: str | None
    size: int | None


class MdadData(Tell):
    """What the experiment had to work with."""

    models: int
    examples: int
    source_models: int | list[int] | None
    target_models: int
    selection_examples: int
    heldout_examples: int
    constant_examples: int


class MdadResult(Tell):
    """How reliable micro-benchmarks of each method and size are, and which to take."""

    settings: dict[str, Any]
    matrix: MatrixRef
    data: MdadData
    methods: list[MethodResult]
    exact_random: list[SizeResult]
    differences: Any
    recommendation: Recommendation


JobResult = MdadResult | SelectionResult

"""What `/compare`, `/power` and a selection's `/scores` answer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.schemas.base import Fraction, Interval, ResponseModel
from service.schemas.selections import MatrixRef

Verdict = Literal["pass", "fail", "inconclusive"]
RankInterval = list[int]


class McNemarView(ResponseModel):
    """McNemar's test on 0/1 scores; both p-values two-sided."""

    exact: float
    mid_p: float = Field(description="The one a verdict without a margin rests on.")


class FullBenchmarkView(ResponseModel):
    """The same runs on all examples of the benchmark."""

    difference: float
    interval: Interval
    order_probability: float | None = Field(
        description="That the order there is the one observed here; null where neither is ahead."
    )


class GateView(ResponseModel):
    """What this comparison could have found."""

    false_alarm_rate: float = Field(description="How often an identical model fails.")
    false_alarm_limit: float = Field(description="Most it may be for a model exactly at the margin.")
    smallest_detectable_drop: float | None = Field(
        description="Found with the power asked for; null where not even the largest drop is."
    )
    examples_needed: int | None = Field(description="To decide a difference like the one observed.")
    examples_needed_reason: str | None
    examples_to_pass_if_equal: int | None = Field(
        description="Null without a margin: equal is then never shown."
    )
    can_pass: bool
    can_fail: bool


class EquivalenceView(ResponseModel):
    """Two one-sided tests: equal for all that matters, within the margin."""

    margin: float
    level: float
    p_not_worse: float
    p_not_better: float
    p: float
    equivalent: bool


class ClustersView(ResponseModel):
    """Examples that belong together."""

    count: int
    standard_error_ignoring_them: float


class RunsView(ResponseModel):
    """What one model's repeated runs say."""

    runs: int
    always_right: int
    always_wrong: int
    mixed: int
    run_scores: list[float]
    run_deviation: float | None
    identical: bool


class RepeatsView(ResponseModel):
    """Both models' runs."""

    baseline: RunsView
    candidate: RunsView


class FlipsView(ResponseModel):
    """Examples that changed hands, by id."""

    lost: list[str]
    won: list[str]


class ComparisonView(ResponseModel):
    """A candidate beside the baseline.

    `pass`: the interval of the difference lies above −margin; `fail`: below it;
    `inconclusive`: it holds −margin, so these examples cannot tell.
    """

    baseline: str
    candidate: str
    verdict: Verdict
    reason: str
    margin: float
    confidence: float
    power: float
    truth: Literal["population", "full_benchmark"]
    baseline_score: float
    candidate_score: float
    difference: float = Field(description="Candidate − baseline.")
    standard_error: float
    interval: Interval
    interval_method: Literal["score", "t", "exact", "model"]
    n_common: int
    n_asked: int
    n_benchmark: int
    coverage: Fraction
    effective_size: float | None
    b: int = Field(description="Examples only the baseline gets right.")
    c: int = Field(description="Examples only the candidate gets right.")
    disagreement: Fraction
    mcnemar: McNemarView | None = Field(description="Null for graded scores.")
    full_benchmark: FullBenchmarkView
    gate: GateView
    equivalence: EquivalenceView | None = Field(description="Null without a margin.")
    clusters: ClustersView | None
    repeats: RepeatsView | None
    warnings: list[str]
    flips: FlipsView


class RankedView(ResponseModel):
    """One model's place among those compared."""

    model: str
    score: float
    interval: Interval
    rank: int
    rank_interval: RankInterval
    win_rate: float
    difference_from_best: float
    difference_from_best_interval: Interval
    coverage: float


class RankingView(ResponseModel):
    """All of them among each other; everything said holds together at `confidence`."""

    confidence: float
    critical_value: float
    family: int
    separable_pairs: int
    separable_neighbours: int
    models: list[RankedView]
    tie_groups: list[list[str]]


class DriftView(ResponseModel):
    """Whether a selection still holds for the models that joined its matrix since."""

    selection_id: str
    revision_then: int = Field(description="The one it was chosen on.")
    revision_now: int
    sentence: str
    reselect: bool = Field(description="Agreement is below what its errors then would give, beyond doubt.")
    new_models: int
    pairs: int = Field(description="Pairs with a new model and different full scores.")
    agreement: Fraction | None
    agreement_interval: Interval | None = Field(description="From five new models on.")
    agreement_expected: Fraction | None = Field(description="Were its errors still as they were then.")
    deviation_then: float = Field(description="Root mean square error of its estimates.")
    deviation_now: float | None


class CompareView(ResponseModel):
    """The answer of `/compare`."""

    matrix: MatrixRef
    selection_id: str | None
    confidence_each: float = Field(description="Of each interval, so that all hold together.")
    comparisons: list[ComparisonView] = Field(description="One a candidate, in the order asked for.")
    verdict: Verdict = Field(description="`fail` when any fails, `pass` when all pass.")
    ranking: RankingView | None = Field(description="Null for a single candidate.")
    drift: DriftView | None = Field(
        description="Whether the selection still holds; null without one, or where no model joined since."
    )
    warnings: list[str] = Field(description="About the answers sent; each comparison has its own.")


class SizePowerView(ResponseModel):
    """What random examples of one size can tell."""

    size: int
    mdad: float | None = Field(description="Null where not even the largest difference is ordered so well.")
    smallest_detectable_drop: float | None = Field(description="Null where not even the largest is found.")
    false_alarm_rate: float
    can_pass: bool
    can_fail: bool


class GroupView(ResponseModel):
    """How often the pairs of the models named disagree."""

    median: float
    lower_quartile: float
    upper_quartile: float
    pairs: int


class NearMarginView(ResponseModel):
    """How many known pairs lie about as far apart: those that could validate a gate."""

    pairs: int
    near: int
    closest_below: float | None
    closest_above: float | None


class MeasuredSizeView(ResponseModel):
    """What a method was measured to tell at one size."""

    size: int
    mdad: float | None


class MeasuredView(ResponseModel):
    """The smallest size at which a method was measured to tell such a difference."""

    method: str
    size: int | None
    by_size: list[MeasuredSizeView]


class ThresholdView(ResponseModel):
    """How often the threshold is wrong."""

    threshold: float
    n: int
    false_fail: float
    miss: float | None
    run_deviation: float
    suggested: float = Field(description="Highest threshold a healthy model fails at most 1 % of the time.")


class HistoryView(ResponseModel):
    """What earlier runs say about the threshold."""

    runs: int
    mean: float
    deviation: float
    failed: int
    false_fail: float
    false_fail_interval: Interval
    suggested: float
    false_fail_wanted: float


class PowerView(ResponseModel):
    """How many random examples it takes, and what each size can tell."""

    disagreement: float
    difference: float
    probability: float
    confidence: float
    benchmark: int | None
    examples_to_order: int | None = Field(
        description="To order the two models rightly, ties counting half; null for less than one example of "
        "the benchmark."
    )
    examples_to_decide: int | None = Field(
        description="For a gate to fail a drop that large, or to pass one smaller than the margin; null for "
        "one at the margin. May be more than the benchmark has."
    )
    by_size: list[SizePowerView]
    group: GroupView | None
    near: NearMarginView | None
    measured: list[MeasuredView] | None = Field(description="By the `/mdad` job named, best first.")
    threshold: ThresholdView | None
    history: HistoryView | None


class ScoreView(ResponseModel):
    """What a model would score on the full benchmark, from its answers on the selection."""

    model: str
    score: Fraction
    interval: Interval
    standard_error: float
    basis: Literal["design", "model"] = Field(description="A sample needs no model; other selections do.")
    answered: int
    asked: int
    coverage: Fraction
    bounds: Interval | None = Field(description="Were all missing answers wrong, or all right.")
    rank: int | None = Field(description="Among the matrix's models; 1 is best.")
    rank_interval: RankInterval | None
    indistinguishable: list[str] = Field(description="Models of the matrix within the interval.")
    warnings: list[str]


class ScoresView(ResponseModel):
    """Full scores estimated from answers on a selection."""

    selection_id: str
    matrix: MatrixRef
    confidence: float
    estimator: str = Field(description="`weighted` for selections made for one of item response theory.")
    scores: list[ScoreView]
    drift: DriftView | None = Field(
        description="Whether the selection still holds; null where no model has joined the matrix since."
    )
    kept: bool = Field(description="Whether the answers were kept, so that `/compare` knows these models.")
    warnings: list[str] = Field(description="About the upload.")

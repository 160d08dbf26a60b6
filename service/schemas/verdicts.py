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


class DropOutcomeView(ResponseModel):
    """What a gate does with a model this much worse; what is left of 1 is inconclusive."""

    drop: float
    fail: float
    passes: float


class GateView(ResponseModel):
    """What this comparison could have found."""

    false_alarm_rate: float = Field(description="How often an identical model fails.")
    false_alarm_limit: float = Field(
        description="The same for a model exactly at the margin: computed, not the nominal level."
    )
    false_pass_rate: float = Field(description="How often a model that lies `false_pass_at` below passes.")
    false_pass_at: float = Field(
        description="A drop, negative for a gain: the margin; for `regression` 5 points more than it."
    )
    smallest_detectable_gain: float | None = Field(
        description="For `improvement`: passed with the power asked for; else null."
    )
    by_drop: list[DropOutcomeView] = Field(description="Probability of the outcomes by true drop.")
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


class RunNoiseView(ResponseModel):
    """Mean variance of one answer from one run to the next."""

    baseline: float
    candidate: float
    known_from: Literal["repeats", "stated"]


class SubtaskDifferenceView(ResponseModel):
    """Candidate − baseline on one subtask; all intervals hold together."""

    subtask: str
    n: int
    n_benchmark: int
    baseline_score: float
    candidate_score: float
    difference: float
    interval: Interval
    verdict: Verdict | None = Field(description="By `subtask_margin`; null without one.")
    dropped: bool = Field(description="Whether a drop is shown: the interval lies below zero.")


class FlipsView(ResponseModel):
    """Examples that changed hands, by id."""

    lost: list[str]
    won: list[str]


class ComparisonView(ResponseModel):
    """A candidate beside the baseline.

    `fail`: the interval of the difference lies below the threshold, −margin (`improvement`: +margin).
    `pass`: it lies above; with `regression` also when it holds it, as no drop is shown.
    `inconclusive`: these examples cannot tell, or too few were answered by both.
    """

    baseline: str
    candidate: str
    verdict: Verdict
    reason: str
    preset: Literal["regression", "non_inferiority", "improvement"]
    margin: float
    confidence: float
    power: float
    truth: Literal["population", "full_benchmark", "runs"]
    baseline_score: float
    candidate_score: float
    difference: float = Field(description="Candidate − baseline.")
    standard_error: float
    interval: Interval
    interval_method: Literal["score", "t", "exact", "model", "assisted"]
    estimator: Literal["plain", "regression", "assisted", "predicted"] = Field(
        description="`plain`: the paired answers alone; `regression` and `assisted`: a sample corrects what "
        "baseline and source models predict; `predicted`: the source models' predictor."
    )
    run_variance: RunNoiseView | None = Field(description="Null where it is not known.")
    n_common: int
    n_asked: int
    n_benchmark: int
    coverage: Fraction
    least_coverage: Fraction = Field(description="Below it the verdict is inconclusive.")
    bounds: Interval | None = Field(
        description="The difference on the examples asked were all missing answers against, or for, the "
        "candidate; null when nothing is missing."
    )
    effective_size: float | None = Field(
        description="Random examples whose paired answers alone would tell as much; null when all is known."
    )
    b: int = Field(description="Examples only the baseline gets right.")
    c: int = Field(description="Examples only the candidate gets right.")
    disagreement: Fraction
    mcnemar: McNemarView | None = Field(description="Null for graded scores.")
    full_benchmark: FullBenchmarkView
    gate: GateView
    subtasks: list[SubtaskDifferenceView] | None = Field(description="Null where the benchmark has none.")
    subtask_margin: float | None
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
    reselect: bool = Field(description="Agreement, errors or their mean are worse than then, beyond doubt.")
    reasons: list[Literal["agreement", "error", "bias"]] = Field(
        default_factory=list, description="Which of these; empty when none."
    )
    new_models: int
    pairs: int = Field(description="Pairs with a new model and different full scores.")
    agreement: Fraction | None
    agreement_interval: Interval | None = Field(description="From five new models on.")
    agreement_expected: Fraction | None = Field(description="Were its errors still as they were then.")
    deviation_then: float = Field(description="Root mean square error of its estimates.")
    deviation_now: float | None = Field(description="The same for the new models; null without any.")
    bias_now: float | None = Field(None, description="Mean of estimate − full score of the new models.")


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


class PlannedSizeView(ResponseModel):
    """A gate on this many random examples."""

    size: int
    standard_error: float = Field(description="Of the difference from the one on the whole benchmark.")
    estimator: Literal["plain", "regression", "assisted", "predicted"]
    false_fail_rate: float = Field(description="A candidate exactly at the margin fails.")
    false_pass_rate: float = Field(description="A candidate `false_pass_at` below passes.")
    false_pass_at: float
    smallest_detectable_drop: float | None = Field(description="Fails with the probability asked for.")
    smallest_detectable_gain: float | None = Field(description="Of `improvement`: passes with it.")
    by_drop: list[DropOutcomeView]


class PlannedGateView(ResponseModel):
    """The size at which a gate finds a drop, and what it does at each size."""

    drop: float
    size: int | None = Field(description="Fewest random examples; null where only all of them show it.")
    preset: Literal["regression", "non_inferiority", "improvement"]
    margin: float
    confidence: float
    pairs: int = Field(description="Pairs of the matrix's models the errors were measured on.")
    by_size: list[PlannedSizeView]


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
    pull_request_check: PlannedGateView | None = Field(description="Where `purpose` asks for it.")


class ScoreView(ResponseModel):
    """What a model would score on the full benchmark, from its answers on the selection."""

    model: str
    score: Fraction
    interval: Interval
    standard_error: float
    basis: Literal["design", "model"] = Field(description="A sample needs no model; other selections do.")
    estimator: Literal["plain", "regression", "assisted", "predicted", "weighted"] = Field(
        description="`plain`: the sample's mean; `regression`, `assisted`: corrected by what the source "
        "models say of the other examples; `predicted`: their predictor; `weighted`: the selection's weights."
    )
    effective_size: float | None = Field(
        description="Random examples whose mean would tell as much; null when all is known."
    )
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

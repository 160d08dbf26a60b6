"""What `POST /power` answers."""

from __future__ import annotations

from pydantic import Field

from service.schemas.base import Interval, ResponseModel
from service.schemas.gates import PlannedGateView
from service.schemas.selections import AttemptsBudgetView, ScoringView
from service.schemas.verdicts import RandomExamples


class SizePowerView(ResponseModel):
    """What random examples of one size can tell."""

    size: RandomExamples
    mdad: float | None = Field(
        description="Minimum Detectable Ability Difference (MDAD), a fraction; null where not even the "
        "largest difference is ordered with that probability."
    )
    smallest_detectable_drop: float | None = Field(description="Null where not even the largest is found.")
    false_alarm_rate: float = Field(description="Probability that a candidate equal to the baseline fails.")
    can_pass: bool = Field(description="Whether some answers to this many examples would pass.")
    can_fail: bool = Field(description="Whether some answers to this many examples would fail.")


class GroupView(ResponseModel):
    """How often the pairs of the models named disagree."""

    median: float = Field(
        description="Median over pairs of the share of examples on which two models differ; the "
        "mean squared difference for graded scores."
    )
    lower_quartile: float = Field(description="The same, 25th percentile.")
    upper_quartile: float = Field(description="The same, 75th percentile.")
    pairs: int = Field(description="Number of pairs of models.")


class NearMarginView(ResponseModel):
    """How many known pairs lie about as far apart: those that could validate a gate."""

    pairs: int = Field(description="Number of pairs of the matrix's models.")
    near: int = Field(
        description="Number of pairs whose full scores differ by between half and one and a half "
        "times `difference`."
    )
    closest_below: float | None = Field(
        description="Largest difference of a pair that is at most `difference`, a fraction; null "
        "without such a pair."
    )
    closest_above: float | None = Field(
        description="Smallest difference of a pair above `difference`, a fraction; null without such a pair."
    )


class MeasuredSizeView(ResponseModel):
    """What a method was measured to tell at one size."""

    size: int = Field(description="Number of examples in the micro-benchmark.")
    mdad: float | None = Field(
        description="Minimum Detectable Ability Difference (MDAD) measured, a fraction; null where "
        "it is not reached."
    )


class MeasuredView(ResponseModel):
    """The smallest size at which a method was measured to tell such a difference."""

    method: str = Field(description="Label of the method, as in the job's `methods`.")
    size: int | None = Field(
        description="Smallest size from which on every measured MDAD (Minimum Detectable Ability "
        "Difference) is at most `difference`; null where there is none."
    )
    by_size: list[MeasuredSizeView] = Field(description="What was measured at each size.")


class ThresholdView(ResponseModel):
    """How often the threshold is wrong."""

    threshold: float = Field(description="Scores below this fraction fail.")
    n: int = Field(description="Number of examples it is run on.")
    false_fail: float = Field(description="Probability that a healthy model, of true score `score`, fails.")
    miss: float | None = Field(
        description="Probability that a model of true score `bad_score` passes; null when the "
        "request gave no `bad_score`."
    )
    run_deviation: float = Field(
        description="Standard deviation of a healthy model's measured score, a fraction."
    )
    suggested: float = Field(description="Highest threshold a healthy model fails at most 1 % of the time.")


class HistoryView(ResponseModel):
    """What earlier runs say about the threshold."""

    runs: int = Field(description="Number of earlier runs.")
    mean: float = Field(description="Mean score of the runs, in [0, 1].")
    deviation: float = Field(description="Standard deviation of their scores, a fraction.")
    failed: int = Field(description="Number of runs whose score is below the threshold.")
    false_fail: float = Field(description="Share of runs whose score is below the threshold.")
    false_fail_interval: Interval = Field(description="95 % interval of that share (Wilson).")
    suggested: float = Field(
        description="Threshold that the next run of a healthy model falls below with probability "
        "`false_fail_wanted`, in [0, 1]."
    )
    false_fail_wanted: float = Field(description="Probability of a false failure that `suggested` aims at.")


class PowerView(ResponseModel):
    """How many random examples it takes, and what each size can tell."""

    disagreement: float = Field(
        description="Share of examples that only one of the two models gets right: the request's, "
        "or the median of the matrix's pairs, but at least `difference`."
    )
    difference: float = Field(description="Difference between the two models' full scores, a fraction.")
    probability: float = Field(
        description="Probability with which a pair is to be ordered or decided correctly."
    )
    confidence: float = Field(description="Confidence of the gate's two-sided interval.")
    benchmark: int | None = Field(
        description="Number of examples of the full benchmark; null where it is not known, and "
        "taken as unlimited."
    )
    examples_to_order: int | None = Field(
        description="To order the two models correctly, ties counting half; null for less than one example "
        "of the benchmark."
    )
    examples_to_decide: int | None = Field(
        description="For a gate to fail a drop that large, or to pass one smaller than the margin; null for "
        "one at the margin. May be more than the benchmark has."
    )
    by_size: list[SizePowerView] = Field(description="What each size can tell, ascending.")
    group: GroupView | None = Field(
        description="How often the matrix's models disagree; null when the request gave no matrix."
    )
    near: NearMarginView | None = Field(
        description="Pairs of the matrix's models about as far apart; null when the request gave no matrix."
    )
    measured: list[MeasuredView] | None = Field(description="By the `/mdad` job named, best first.")
    threshold: ThresholdView | None = Field(
        description="Error rates of the threshold; null when the request gave none."
    )
    history: HistoryView | None = Field(
        description="What earlier runs say of the threshold; null when the request gave no `runs`."
    )
    pull_request_check: PlannedGateView | None = Field(description="Where `purpose` asks for it.")
    budget: AttemptsBudgetView | None = Field(None, description="Where the request has a `budget`.")
    scoring: ScoringView | None = Field(
        None, description="Null where scores are those of the matrix: means of the attempts with a score."
    )

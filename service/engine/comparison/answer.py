"""Everything one answer about a candidate and a baseline holds.

What `dataclasses.asdict` of the answer holds (fractions; nothing is NaN):

    {verdict: pass | fail | inconclusive, reason, preset, margin, confidence, power, truth,
     baseline_score, candidate_score,                    estimated from the examples both answered
     difference, standard_error, interval: [low, high], interval_method: score | t | exact | model | assisted,
     estimator: plain | regression | assisted | predicted,
     run_variance: {baseline, candidate, known_from: repeats | stated} | null (not known),
     n_common, n_asked, n_benchmark, coverage, least_coverage, effective_size | null (nothing is unknown),
     bounds: [low, high] | null (nothing is missing),    were all missing answers against, or for, it
     b, c,                                               only the baseline right; only the candidate
     disagreement,                                       share of examples that tell them apart
     mcnemar: {exact, mid_p} | null (graded scores),
     full_benchmark: {difference, interval, order_probability | null (neither is ahead)},
     gate: {false_alarm_rate, false_alarm_limit, smallest_detectable_drop | null, examples_needed | null,
            examples_needed_reason, examples_to_pass_if_equal | null, can_pass, can_fail,
            smallest_detectable_gain | null, false_pass_rate, false_pass_at, by_drop: [{drop, fail, passes}]},
     subtasks: [{subtask, n, n_benchmark, baseline_score, candidate_score, difference, interval,
                 verdict | null, dropped}] | null (the benchmark has none), subtask_margin | null,
     equivalence: {margin, level, p_not_worse, p_not_better, p, equivalent} | null (no margin),
     clusters: {count, standard_error_ignoring_them} | null,
     repeats: {baseline: {…}, candidate: {…}} | null,
     warnings: [sentence],
     flips: {lost: [index], won: [index]}}               into the examples asked
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from service.engine.comparison.equivalence import Equivalence
from service.engine.comparison.full_scores import EstimatorUsed
from service.engine.comparison.gate import Preset, Verdict
from service.engine.comparison.intervals import Interval
from service.engine.comparison.mcnemar import McNemar
from service.engine.comparison.operating_characteristics import OperatingCharacteristics
from service.engine.comparison.paired import Kind
from service.engine.comparison.repeats import RepeatSummary
from service.engine.comparison.sampling_design import Truth
from service.engine.comparison.subtask_differences import SubtaskDifference


@dataclass(frozen=True, slots=True)
class FullBenchmark:
    """The same runs on all examples of the benchmark."""

    difference: float
    interval: Interval
    order_probability: float | None


@dataclass(frozen=True, slots=True)
class Clusters:
    """How many clusters there are, and the standard error that ignores them."""

    count: int
    standard_error_ignoring_them: float


@dataclass(frozen=True, slots=True)
class Repeats:
    """What each model's runs say."""

    baseline: RepeatSummary
    candidate: RepeatSummary


@dataclass(frozen=True, slots=True)
class RunNoise:
    """Mean variance of one answer from one run to the next, of each model."""

    baseline: float
    candidate: float
    known_from: Literal["repeats", "stated"]


@dataclass(frozen=True, slots=True)
class Flips:
    """Examples that changed hands, as indices into the examples asked."""

    lost: tuple[int, ...]
    won: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer; the module's docstring says what each part is."""

    verdict: Verdict
    reason: str
    preset: Preset
    margin: float
    confidence: float
    power: float
    truth: Truth
    baseline_score: float
    candidate_score: float
    difference: float
    standard_error: float
    interval: Interval
    interval_method: Kind
    estimator: EstimatorUsed
    run_variance: RunNoise | None
    n_common: int
    n_asked: int
    n_benchmark: int
    coverage: float
    least_coverage: float
    bounds: Interval | None
    effective_size: float | None
    b: int
    c: int
    disagreement: float
    mcnemar: McNemar | None
    full_benchmark: FullBenchmark
    gate: OperatingCharacteristics
    subtasks: tuple[SubtaskDifference, ...] | None
    subtask_margin: float | None
    equivalence: Equivalence | None
    clusters: Clusters | None
    repeats: Repeats | None
    warnings: tuple[str, ...]
    flips: Flips

"""What `/compare`, `/power` and a selection's `/scores` answer."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from service.schemas.base import Fraction, Interval, ResponseModel
from service.schemas.gates import DropOutcomeView, MarginUsed, PlannedGateView, PresetUsed
from service.schemas.selections import MatrixRef, ScoringView

Verdict = Literal["pass", "fail", "inconclusive"]
RankInterval = list[int]
RandomExamples = Annotated[int, Field(description="Number of examples, drawn at random.")]


class McNemarView(ResponseModel):
    """McNemar's test on 0/1 scores; both p-values two-sided."""

    exact: float = Field(description="Exact p-value; 1 when the models differ on no example.")
    mid_p: float = Field(description="The one a verdict without a margin rests on.")


class FullBenchmarkView(ResponseModel):
    """The same runs on all examples of the benchmark."""

    difference: float = Field(
        description="Candidate − baseline on all examples, a fraction; estimated where not all were answered."
    )
    interval: Interval = Field(description="Two-sided interval of this difference at `confidence`.")
    order_probability: float | None = Field(
        description="That the order there is the one observed here; null where neither is ahead."
    )


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
    examples_needed_reason: str | None = Field(
        description="Why `examples_needed` is null; null when it is given."
    )
    examples_to_pass_if_equal: int | None = Field(
        description="Null without a margin: equal is then never shown."
    )
    can_pass: bool = Field(description="Whether some answers to this many examples would pass.")
    can_fail: bool = Field(description="Whether some answers to this many examples would fail.")


class EquivalenceView(ResponseModel):
    """Two one-sided tests: equal for all that matters, within the margin."""

    margin: float = Field(description="Differences smaller than this fraction count as none.")
    level: float = Field(description="Level of each one-sided test: 1 − `confidence`.")
    p_not_worse: float = Field(
        description="One-sided p-value of the test that rejects “worse by the margin or more”."
    )
    p_not_better: float = Field(
        description="One-sided p-value of the test that rejects “better by the margin or more”."
    )
    p: float = Field(description="The larger of the two p-values.")
    equivalent: bool = Field(description="Whether `p` is at most `level`.")


class ClustersView(ResponseModel):
    """Examples that belong together."""

    count: int = Field(description="Number of clusters among the examples both answered.")
    standard_error_ignoring_them: float = Field(
        description="Standard error of the difference if every example were independent, a fraction."
    )


class RunsView(ResponseModel):
    """What one model's repeated runs say."""

    runs: int = Field(description="Largest number of runs of any example.")
    always_right: int = Field(
        description="Number of examples with two runs or more that score 1 in every run."
    )
    always_wrong: int = Field(
        description="Number of examples with two runs or more that score 0 in every run."
    )
    mixed: int = Field(description="Number of all other examples with two runs or more.")
    run_scores: list[float] = Field(description="Mean score of each run over the examples it has, in [0, 1].")
    run_deviation: float | None = Field(
        description="Standard deviation of the score on these examples from one run to the next, a "
        "fraction; null when no example has two runs."
    )
    identical: bool = Field(
        description="Whether there are two runs or more and no answer differs between them."
    )


class RepeatsView(ResponseModel):
    """Both models' runs."""

    baseline: RunsView = Field(description="The baseline's runs.")
    candidate: RunsView = Field(description="The candidate's runs.")


class RunNoiseView(ResponseModel):
    """Mean variance of one answer from one run to the next."""

    baseline: float = Field(
        description="Variance for the baseline; the candidate's when only the candidate was repeated."
    )
    candidate: float = Field(
        description="Variance for the candidate; the baseline's when only the baseline was repeated."
    )
    known_from: Literal["repeats", "stated"] = Field(
        description="`repeats`: measured on repeated runs; `stated`: `run_variance` of the request."
    )


class SubtaskDifferenceView(ResponseModel):
    """Candidate − baseline on one subtask; all intervals hold together."""

    subtask: str = Field(description="Name of the subtask.")
    n: int = Field(description="Number of its examples that both models answered.")
    n_benchmark: int = Field(description="Number of its examples in the full benchmark.")
    baseline_score: float = Field(description="Baseline's mean score on the `n` examples, in [0, 1].")
    candidate_score: float = Field(description="Candidate's mean score on the `n` examples, in [0, 1].")
    difference: float = Field(description="Candidate − baseline, a fraction.")
    interval: Interval = Field(
        description="Two-sided interval of the difference; those of all subtasks hold together at "
        "`confidence`."
    )
    verdict: Verdict | None = Field(description="By `subtask_margin`; null without one.")
    dropped: bool = Field(description="Whether a drop is shown: the interval lies below zero.")


class FlipsView(ResponseModel):
    """Examples that changed hands, by id."""

    lost: list[str] = Field(description="Examples on which the baseline has the higher score.")
    won: list[str] = Field(description="Examples on which the candidate has the higher score.")


class ComparisonView(ResponseModel):
    """A candidate beside the baseline.

    `fail`: the interval of the difference lies below the threshold, −margin (`improvement`: +margin).
    `pass`: it lies above; with `regression` also when it holds it, as no drop is shown.
    `inconclusive`: these examples cannot tell, or too few were answered by both.
    """

    baseline: str = Field(description="Name of the baseline.")
    candidate: str = Field(description="Name of the candidate.")
    verdict: Verdict = Field(
        description="`pass`, `fail` or `inconclusive`; the worst of the average's and, with "
        "`subtask_margin`, the subtasks'."
    )
    reason: str = Field(description="Why the verdict is what it is, in one to three sentences.")
    preset: PresetUsed
    margin: MarginUsed
    confidence: float = Field(
        description="Confidence of the two-sided interval; with several candidates above the one "
        "asked for, so that all intervals hold together."
    )
    power: float = Field(
        description="Probability meant wherever a drop is called detectable or examples are called needed."
    )
    truth: Literal["population", "full_benchmark", "runs"] = Field(
        description="What the verdict is about: the models on a `population` of questions, these "
        "runs on the `full_benchmark`, or new `runs` on it."
    )
    baseline_score: float = Field(description="Baseline's estimated score on the full benchmark, in [0, 1].")
    candidate_score: float = Field(
        description="Candidate's estimated score on the full benchmark, in [0, 1]."
    )
    difference: float = Field(description="Candidate − baseline.")
    standard_error: float = Field(
        description="Standard error of the difference, a fraction; 0 when nothing is unknown."
    )
    interval: Interval = Field(
        description="Two-sided interval of the difference at `confidence`, in fractions."
    )
    interval_method: Literal["score", "t", "exact", "model", "assisted"] = Field(
        description="`score`: Tango's score interval; `t`: Student's t; `exact`: nothing is "
        "unknown; `model`: the predictor's error; `assisted`: the error of a sample "
        "corrected by predictions."
    )
    estimator: Literal["plain", "regression", "assisted", "predicted"] = Field(
        description="`plain`: the paired answers alone; `regression` and `assisted`: a sample corrects what "
        "baseline and source models predict; `predicted`: the source models' predictor."
    )
    run_variance: RunNoiseView | None = Field(description="Null where it is not known.")
    n_common: int = Field(description="Number of examples that both models answered.")
    n_asked: int = Field(description="Number of examples compared on: of the benchmark, or of the selection.")
    n_benchmark: int = Field(description="Number of examples of the full benchmark.")
    coverage: Fraction = Field(description="`n_common` divided by `n_asked`.")
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
    disagreement: Fraction = Field(
        description="Share of the examples both answered on which their scores differ."
    )
    mcnemar: McNemarView | None = Field(description="Null for graded scores.")
    full_benchmark: FullBenchmarkView = Field(
        description="The difference of the same runs on all examples of the benchmark."
    )
    gate: GateView = Field(
        description="Probabilities of the gate's outcomes at this size, and the drops it detects."
    )
    subtasks: list[SubtaskDifferenceView] | None = Field(description="Null where the benchmark has none.")
    subtask_margin: float | None = Field(
        description="Largest acceptable drop of any subtask, a fraction; null when the request gave none."
    )
    equivalence: EquivalenceView | None = Field(description="Null without a margin.")
    clusters: ClustersView | None = Field(
        description="Number of clusters and their effect; null when the request gave none."
    )
    repeats: RepeatsView | None = Field(
        description="Both models' repeated runs; null when no example was run more than once."
    )
    warnings: list[str] = Field(description="What to know before trusting the numbers.")
    flips: FlipsView = Field(description="Ids of the examples on which the scores differ.")


class RankedView(ResponseModel):
    """One model's place among those compared."""

    model: str = Field(description="Name of the model.")
    score: float = Field(description="Estimated score on the full benchmark, in [0, 1].")
    interval: Interval = Field(
        description="Interval of the score; those of all models hold together at `confidence`."
    )
    rank: int = Field(description="Place by score; 1 is best, and equal scores share a place.")
    rank_interval: RankInterval = Field(
        description="Best and worst rank; those of all models hold together at `confidence`."
    )
    win_rate: float = Field(
        description="Mean over the other models of (1 + difference) / 2: with 0/1 scores the share "
        "of examples it wins, ties counting half."
    )
    difference_from_best: float = Field(
        description="Score minus the best model's, a fraction; 0 for the best."
    )
    difference_from_best_interval: Interval = Field(
        description="Interval of that difference; all of them hold together at `confidence`."
    )
    coverage: float = Field(description="Share of the examples that this model answered.")


class RankingView(ResponseModel):
    """All of them among each other; everything said holds together at `confidence`."""

    confidence: float = Field(description="Confidence with which all statements hold together.")
    critical_value: float = Field(
        description="Standard errors that a difference must exceed to count as shown (Tukey)."
    )
    family: int = Field(description="Number of pairs compared at once.")
    separable_pairs: int = Field(description="Number of pairs whose order is shown.")
    separable_neighbours: int = Field(
        description="Number of pairs next to each other in rank whose order is shown."
    )
    models: list[RankedView] = Field(description="All models, baseline included, best first.")
    tie_groups: list[list[str]] = Field(
        description="Groups of models adjacent in rank where no pair's order is shown, best first; "
        "a model may be in several."
    )


class DriftView(ResponseModel):
    """Whether a selection still holds for the models that joined its matrix since."""

    selection_id: str = Field(description="Id of the selection.")
    revision_then: int = Field(description="The one it was chosen on.")
    revision_now: int = Field(description="The matrix's newest revision.")
    sentence: str = Field(description="What was found, in a few sentences.")
    reselect: bool = Field(description="Agreement, errors or their mean are worse than then, beyond doubt.")
    reasons: list[Literal["agreement", "error", "bias"]] = Field(
        default_factory=list, description="Which of these; empty when none."
    )
    new_models: int = Field(description="Number of models that joined the matrix since.")
    pairs: int = Field(description="Pairs with a new model and different full scores.")
    agreement: Fraction | None = Field(
        description="Share of `pairs` in their true order, ties counting half; null without such a pair."
    )
    agreement_interval: Interval | None = Field(description="From five new models on.")
    agreement_expected: Fraction | None = Field(description="Were its errors still as they were then.")
    deviation_then: float = Field(description="Root mean square error of its estimates.")
    deviation_now: float | None = Field(description="The same for the new models; null without any.")
    bias_now: float | None = Field(None, description="Mean of estimate − full score of the new models.")


class ModelAttemptsView(ResponseModel):
    """How the attempts of a model of the matrix ended, on the examples compared."""

    model: str = Field(description="Name of the model.")
    cells: int = Field(description="Examples with an attempt that counts: what its score is a mean over.")
    attempts: int = Field(description="Attempts that were made.")
    errors: int = Field(description="Of them, those that ended without a score.")
    share: Fraction = Field(description="`errors` divided by `attempts`.")
    least: int = Field(description="Fewest attempts that count at such an example.")
    most: int = Field(description="Most attempts that count at an example.")


class ComparedAttemptsView(ResponseModel):
    """What the scores compared are scores of."""

    score: str = Field(description="The score of an example from its attempts.")
    errors: Literal["zero", "missing", "refuse"] = Field(
        description="What attempts that ended without a score count as."
    )
    models: list[ModelAttemptsView] = Field(description="Models of the matrix that are compared, by name.")


class CompareView(ResponseModel):
    """The answer of `/compare`."""

    id: str | None = Field(
        description="Of the answer as kept: the same answer has the same id; null where it was not kept."
    )
    page: str | None = Field(description="Address of its page for people; null where it was not kept.")
    matrix: MatrixRef = Field(description="The matrix revision that was compared on.")
    selection_id: str | None = Field(
        description="The selection that was compared on; null for the full benchmark."
    )
    confidence_each: float = Field(description="Of each interval, so that all hold together.")
    comparisons: list[ComparisonView] = Field(description="One a candidate, in the order asked for.")
    verdict: Verdict = Field(description="`fail` when any fails, `pass` when all pass.")
    ranking: RankingView | None = Field(description="Null for a single candidate.")
    drift: DriftView | None = Field(
        description="Whether the selection still holds; null without one, or where no model joined since."
    )
    attempts: ComparedAttemptsView | None = Field(
        None,
        description="The denominators; null where each example has one attempt with a score, or no model of "
        "the matrix is compared.",
    )
    warnings: list[str] = Field(
        description="About errors of the runs and the answers sent; each comparison has its own."
    )


class StoredComparison(ResponseModel):
    """A comparison that is kept, in short."""

    id: str = Field(description="Id of the comparison.")
    created_at: datetime = Field(description="When it was last asked for.")
    matrix: MatrixRef = Field(description="The matrix revision that was compared on.")
    selection_id: str | None = Field(description="The selection that was compared on; null without one.")
    baseline: str = Field(description="Name of the baseline.")
    candidates: list[str] = Field(description="Names of the candidates.")
    verdict: Verdict = Field(description="`fail` when any fails, `pass` when all pass.")


class ComparisonPage(ResponseModel):
    """A page of comparisons."""

    items: list[StoredComparison] = Field(description="The comparisons of this page.")
    next_cursor: str | None = Field(
        description="Send it back as `cursor` for the next page; null on the last."
    )


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
    pairs: int = Field(description="Pairs of models these are the medians of; 0 where they were given.")
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


class ScoreView(ResponseModel):
    """What a model would score on the full benchmark, from its answers on the selection."""

    model: str = Field(description="Name of the model.")
    score: Fraction = Field(description="Estimated score on the full benchmark, in [0, 1].")
    interval: Interval = Field(description="Two-sided interval of the score at `confidence`.")
    standard_error: float = Field(
        description="Standard error of the score, a fraction; 0 when nothing is unknown."
    )
    basis: Literal["design", "model"] = Field(description="A sample needs no model; other selections do.")
    estimator: Literal["plain", "regression", "assisted", "predicted", "weighted"] = Field(
        description="`plain`: the sample's mean; `regression`, `assisted`: corrected by what the source "
        "models say of the other examples; `predicted`: their predictor; `weighted`: the selection's weights."
    )
    effective_size: float | None = Field(
        description="Random examples whose mean would tell as much; null when all is known."
    )
    answered: int = Field(description="Number of the selection's examples that the model answered.")
    asked: int = Field(description="Number of examples of the selection.")
    coverage: Fraction = Field(description="`answered` divided by `asked`.")
    bounds: Interval | None = Field(description="Were all missing answers wrong, or all right.")
    rank: int | None = Field(description="Among the matrix's models; 1 is best.")
    rank_interval: RankInterval | None = Field(
        description="Best and worst rank that the interval leaves possible; null where `rank` is."
    )
    indistinguishable: list[str] = Field(description="Models of the matrix within the interval.")
    warnings: list[str] = Field(description="What to know before relying on this score.")


class ScoresView(ResponseModel):
    """Full scores estimated from answers on a selection."""

    selection_id: str = Field(description="Id of the selection.")
    matrix: MatrixRef = Field(description="The matrix revision the selection was made on.")
    confidence: float = Field(description="Confidence of each model's interval.")
    estimator: str = Field(description="`weighted` for selections made for one of item response theory.")
    scores: list[ScoreView] = Field(description="One entry for each model.")
    drift: DriftView | None = Field(
        description="Whether the selection still holds; null where no model has joined the matrix since."
    )
    kept: bool = Field(description="Whether the answers were kept, so that `/compare` knows these models.")
    warnings: list[str] = Field(description="About the upload.")

"""What `POST /compare` and the drift of a selection answer."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from service.schemas.base import Fraction, Interval, ResponseModel
from service.schemas.gates import DropOutcomeView, MarginUsed, PresetUsed
from service.schemas.selections import MatrixRef

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

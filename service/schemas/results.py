"""What a `/mdad` job results in. The bytes are sent as stored; these models document them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.schemas.base import Fraction, Interval, ResponseModel
from service.schemas.selections import MatrixRef, SelectionResult

Truth = Literal["same_items", "new_items"]
Purpose = Literal["reproduce_benchmark", "new_questions"]
OpenInterval = list[float | None]


class CurvePoint(ResponseModel):
    """Agreement of the pairs whose full scores differ by about `difference`."""

    difference: Fraction = Field(description="Lower edge of a bin half a point wide.")
    agreement: Fraction = Field(description="A tie counts half; wrong with `paper_compat`.")
    agreement_strict: Fraction = Field(description="A tie counts as wrong.")
    pairs: int


class KendallTau(ResponseModel):
    """Kendall's tau-b between estimated and true scores, over trials."""

    mean: float | None
    sd: float | None
    reason: str | None = Field(None, description="Why there is none.")
    undefined_trials: int | None = Field(None, description="Trials left out: all estimates were equal.")


class EstimationError(ResponseModel):
    """Absolute difference of estimated and true scores, apart from ranking."""

    mean: float
    p90: float = Field(description="Its 90th percentile.")
    approximation: str | None = Field(None, description="How the exact formula was approximated, if it was.")


class GroupAgreement(ResponseModel):
    """How well a micro-benchmark orders the models of a group."""

    agreement: Fraction | None = Field(description="Share of pairs in their true order; a tie counts half.")
    agreement_interval: Interval | None = Field(description="95 %, over models and trials.")
    agreement_strict: Fraction | None = Field(description="The same, a tie counting as wrong.")
    tie_rate: Fraction | None = Field(description="Share of pairs left tied.")
    pairs: int = Field(description="Pairs compared, over all trials.")
    equal_pairs: int = Field(description="Pairs with equal full scores, which have no order; left out.")
    interval_reason: str | None = Field(None, description="Why an interval or an end of one is wanting.")


class AgreementView(GroupAgreement):
    """How well a micro-benchmark orders models, judged by one truth."""

    mdad: Fraction | None = Field(description="Minimum detectable accuracy difference by the rule in force.")
    interval: OpenInterval | None = Field(
        description="Of the MDAD, 95 %, with other models like these; spans the gap where it lies in one."
    )
    seed_interval: OpenInterval | None = Field(
        None, description="Of the MDAD, 95 %, for the same experiment with other seeds; no width by formula."
    )
    gap: OpenInterval | None = Field(
        None,
        description="The differences on both sides of an MDAD that no pair of models is near; it is then "
        "read off a curve across the gap.",
    )
    mdad_isotonic: Fraction | None = Field(description="From where the fitted agreement stays high enough.")
    mdad_paper: Fraction | None = Field(description="By the paper's rule: first crossing, ties wrong.")
    largest_difference: Fraction | None = Field(description="The largest difference among the pairs.")
    reason: str | None = Field(None, description="Why there is no MDAD, like `not_reached`.")
    curve: list[CurvePoint]
    kendall_tau: KendallTau | None = None
    estimation_error: EstimationError | None = None


class PairsSampled(ResponseModel):
    """Where there are too many pairs to look at all."""

    used: int
    possible: int
    added_error: float = Field(description="The most this adds to a standard error of agreement.")


class SizeResult(ResponseModel):
    """One size of micro-benchmark."""

    size: int
    trials: int | None = Field(
        None, description="Trials of this size; 0 by formula. Absent in results of earlier versions."
    )
    same_items: AgreementView | None = Field(description="Truth: the score on the examples chosen from.")
    new_items: AgreementView | None = Field(
        description="Truth: the score on examples held out from the choice."
    )
    reason: str | None = Field(None, description="Why the method could not work at this size.")
    approximation: str | None = Field(None, description="How the exact formula was approximated, if it was.")
    pairs_sampled: PairsSampled | None = None


class Stability(ResponseModel):
    """How alike two choices of the same size are."""

    size: int
    jaccard: Fraction = Field(description="Overlap of the sets that two fits on the same data choose.")


class NewQuestions(ResponseModel):
    """MDAD of a subset of this size for new questions, freed of the noise of those it is judged on."""

    size: int
    mdad: Fraction | None
    interval: OpenInterval | None = Field(description="95 %, with other models like these.")
    seed_interval: OpenInterval | None = Field(description="95 %, with other seeds.")


class CurveKey(ResponseModel):
    """One line of `methods`."""

    label: str
    source_models: int | None = Field(description="How many it learned from; null when it looks at none.")


class MethodResult(CurveKey):
    """One method, estimator and set of options, with one number of source models."""

    method: str
    estimator: str
    options: dict[str, Any]
    scored_by: Literal["scores", "confidences"]
    skipped: str | None = Field(None, description="Why this method could not work on these data.")
    same_as: str | None = Field(
        None, description="Label of the method that this one is by construction on this matrix; run once."
    )
    sizes: list[SizeResult]
    new_questions: list[NewQuestions] | None = Field(
        None,
        description="MDAD for questions no one has asked yet, by size; absent with the paper's protocol.",
    )
    stability: list[Stability] | None = None


class Gap(ResponseModel):
    """A difference with its 95 % interval, paired over trials and models."""

    difference: float | None
    interval: OpenInterval | None
    reason: str | None = Field(
        default=None, description="Why the difference, its interval or an end of it is null; else absent."
    )


class Other(CurveKey):
    """A line beside the best one: its number minus the best's."""

    agreement: Gap
    mdad: Gap
    estimation_error: Gap | None = Field(
        default=None,
        description="Of mean absolute errors of estimated scores; absent in results of earlier versions.",
    )


class Differences(ResponseModel):
    """At one size, the line with the highest agreement and how far the others are from it."""

    size: int
    truth: Truth
    best: CurveKey
    others: list[Other]


class ClosePair(ResponseModel):
    """Two models of yours."""

    models: list[str] = Field(min_length=2, max_length=2, description="The better one first.")
    difference: Fraction
    disagreement: Fraction = Field(description="Share of examples on which the two differ.")


class OwnPairs(ResponseModel):
    """How many pairs of the matrix's models lie closer than can be told apart."""

    threshold: Fraction
    total: int
    too_close: int
    examples: list[ClosePair] = Field(description="Some of them, neighbours in rank first.")


class RandomBeside(ResponseModel):
    """Exact random sampling of the same size from the full benchmark."""

    mdad: Fraction | None
    interval: OpenInterval | None
    seed_interval: OpenInterval | None = None
    agreement: Fraction | None
    agreement_interval: Interval | None


class BestTested(RandomBeside):
    """The lowest MDAD of all methods and sizes tested, on all trials."""

    method: str
    source_models: int | None
    size: int


class Alternative(ResponseModel):
    """The smallest size of one line that reaches the target."""

    method: str
    source_models: int | None
    size: int | None
    mdad: Fraction | None
    relied_on_size: int | None


class OtherPurpose(ResponseModel):
    """What the recommended subset tells apart for the purpose not asked for."""

    purpose: Purpose
    mdad: Fraction | None
    interval: OpenInterval | None = None
    seed_interval: OpenInterval | None = None
    reason: str | None = Field(None, description="Why there is no MDAD.")


class SizeForTarget(ResponseModel):
    """Smallest size of one line that keeps a target, as if the line were the only one."""

    method: str = Field(description="Label of the line.")
    source_models: int | None
    size: int | None = Field(description="Null where none smaller than the benchmark does.")
    measured: bool = Field(
        description="False: larger than any size measured; sampling alone would lower the MDAD so far."
    )


class Target(ResponseModel):
    """A target and the size it takes, by line."""

    target_mdad: Fraction
    note: str | None = Field(description="Like `1.5 × resolution`, the default target.")
    sizes: list[SizeForTarget]


class SelectRecommended(ResponseModel):
    """A request to `/select`, but for the matrix."""

    method: str
    estimator: str
    options: dict[str, Any]
    scored_by: Literal["scores", "confidences"] | None = Field(
        None, description="Absent in results older than the field."
    )
    size: int


class Recommendation(ResponseModel):
    """The smallest micro-benchmark that does what was asked, or why there is none."""

    status: Literal[
        "recommended", "target_missed", "use_full_benchmark", "not_reached", "not_enough_models"
    ] = Field(
        description="`target_missed`: no size asked for meets the target; `best_tested` says what is "
        "reached. `use_full_benchmark`: no smaller size does. `not_enough_models` is of earlier versions."
    )
    sentence: str
    target_mdad: Fraction = Field(description="What was asked for, or 1.5 times the resolution.")
    target_is_default: bool | None = Field(None, description="Whether the request named no target.")
    probability: Fraction
    truth: Truth
    purpose: Purpose | None = Field(None, description="Null with the paper's protocol.")
    resolution: Fraction | None = Field(
        None, description="What all examples of the full benchmark can tell apart on new questions."
    )
    method: str | None = Field(description="Label of the line.")
    source_models: int | None
    size: int | None = Field(
        description="Smallest size whose MDAD is within the target with probability 0.8, however many "
        "methods compete."
    )
    size_interval: list[int | None] | None = Field(
        None,
        description="The size that the same experiment with other seeds would find, 90 %; null for an end "
        "beyond the sizes measured.",
    )
    contenders: list[str] | None = Field(
        None,
        description="Methods not clearly behind the best at this size; the margin allows for all of them.",
    )
    select: SelectRecommended | None = Field(
        None, description="What to send to `POST /select`, beside `matrix_id`, to have the examples."
    )
    fraction: Fraction | None = Field(description="Of the full benchmark.")
    mdad: Fraction | None = Field(description="At this size, read off the curve of all sizes measured.")
    interval: OpenInterval | None = Field(description="95 %, with other models like these.")
    seed_interval: OpenInterval | None = Field(None, description="95 %, with other seeds.")
    agreement: Fraction | None = Field(description="At the nearest size measured.")
    agreement_interval: Interval | None
    estimation_error: EstimationError | None
    relied_on_size: int | None = Field(
        description="Smallest size whose MDAD interval ends within the target."
    )
    chosen_on: str | None = Field(None, description="The trials that chose the method.")
    reported_on: str | None = Field(None, description="The trials its numbers are from.")
    exact_random: RandomBeside | None
    best_tested: BestTested | None
    other_purpose: OtherPurpose | None = None
    more_models: int | None = Field(None, description="So many models more would halve the interval.")
    random_enough_from: int | None = Field(
        description="Size from which on no method is clearly above random; null where one is at the largest, "
        "and where nothing can be said: plain random sampling is not among the methods or alone, or target "
        "models are too few."
    )
    own_pairs: OwnPairs
    alternatives: list[Alternative]
    caveats: list[str]


class MdadData(ResponseModel):
    """What the experiment had to work with."""

    models: int
    examples: int
    source_models: int | list[int]
    target_models: int
    selection_examples: int
    heldout_examples: int
    constant_examples: int
    binary: bool
    estimand: Literal["micro"] = Field(description="A score is the mean over examples, not over subtasks.")
    pairs_sampled: PairsSampled | None = None


class GroupSize(ResponseModel):
    """One size, for a group."""

    size: int
    same_items: GroupAgreement | None = None
    new_items: GroupAgreement | None = None


class GroupLine(CurveKey):
    """One line, for a group."""

    sizes: list[GroupSize]


class Group(ResponseModel):
    """Which comparisons within a group of similar models each size preserves."""

    models: list[str]
    pairs: list[ClosePair]
    methods: list[GroupLine]
    exact_random: list[GroupSize]


class Reliability(ResponseModel):
    """How reliable micro-benchmarks are, of the whole benchmark or of one subtask."""

    data: MdadData
    methods: list[MethodResult]
    exact_random: list[SizeResult] = Field(description="Random sampling from the full benchmark, by formula.")
    differences: list[Differences]
    by_target: list[Target] | None = Field(
        None,
        description="Target → size by line: 1, 2, 3 and 5 points, and the target asked for or the default "
        "one with a smaller and a larger one beside it. Absent in results of earlier versions.",
    )
    recommendation: Recommendation
    group: Group | None = None


class SubtaskReliability(Reliability):
    """The same for one subtask on its own."""

    subtask: str


class SettingSize(ResponseModel):
    """One method and size for one kind of new models."""

    size: int = Field(description="Examples in the micro-benchmark.")
    mdad: Fraction | None = Field(description="Minimum detectable accuracy difference; null if not reached.")
    agreement: Fraction | None = Field(description="Share of pairs in their true order, ties half.")
    error: float = Field(description="Mean absolute error of estimated scores.")
    coverage: Fraction | None = Field(
        description="Share of full scores within the 90 % interval that `/scores` serves; null for a sample."
    )


class SettingMethod(ResponseModel):
    """One method for one kind of new models."""

    label: str = Field(description="As in `methods`.")
    sizes: list[SettingSize] = Field(description="Sizes it could be measured at.")


class SettingResult(ResponseModel):
    """How the methods do for one kind of new models."""

    setting: Literal["like", "better", "worse", "family", "later"] = Field(
        description="How the targets differ from the source models."
    )
    target_models: int = Field(description="Targets of a trial.")
    source_models: int = Field(description="Source models of a trial; near copies of targets left out.")
    trials: int = Field(description="Trials measured on.")
    reason: str | None = Field(description="Why it could not be measured.")
    methods: list[SettingMethod] = Field(description="One a method, in the order of `methods`.")


class MdadResult(Reliability):
    """How reliable micro-benchmarks of each method and size are, and which to take."""

    settings: dict[str, Any] = Field(description="The request with every default filled in.")
    matrix: MatrixRef
    subtasks: list[SubtaskReliability] | None = None
    target_settings: list[SettingResult] = Field(
        default_factory=list, description="The methods beside each other, by kind of new models."
    )
    warnings: list[str] = Field(
        default_factory=list, description="What to know before relying on scores of new models."
    )


JobResult = MdadResult | SelectionResult


class PartialAgreement(ResponseModel):
    """How well a micro-benchmark orders models so far."""

    agreement: Fraction | None = Field(description="Share of pairs in their true order.")
    mdad: Fraction | None = Field(description="Minimum detectable accuracy difference; null if not reached.")


class PartialSize(ResponseModel):
    """One size of a method so far."""

    size: int
    same_items: PartialAgreement
    new_items: PartialAgreement | None


class PartialMethod(ResponseModel):
    """One method so far."""

    label: str
    source_models: int | None
    sizes: list[PartialSize]


class PartialResult(ResponseModel):
    """What a running `/mdad` job has found so far."""

    trials_done: int
    trials: int
    methods: list[PartialMethod] = Field(description="Those that take trials; empty until some are done.")

"""What a `/mdad` job results in. The bytes are sent as stored; these models document them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from service.schemas.base import Fraction, Interval, ResponseModel
from service.schemas.gates import MethodGateView
from service.schemas.selections import MatrixRef, ScoringView, SelectionResult

Truth = Literal["same_items", "new_items"]
Setting = Literal["like", "better", "worse", "family", "later"]
Purpose = Literal["reproduce_benchmark", "new_questions", "pull_request_check"]
OpenInterval = list[float | None]

Size = Annotated[int, Field(description="Number of examples in the micro-benchmark.")]
Label = Annotated[str, Field(description="Label of the line, as in `methods`.")]
SourceModels = Annotated[
    int | None,
    Field(description="Number of models the method learned from; null when it learns from none."),
]
MethodName = Annotated[str, Field(description="The selection method.")]
EstimatorName = Annotated[str, Field(description="How answers on the examples become a full score.")]
AllOptions = Annotated[
    dict[str, Any], Field(description="The method's options, with every default filled in.")
]
ScoredBy = Annotated[
    Literal["scores", "confidences"],
    Field(description="What the estimator takes as answers: scores, or probabilities of the right answer."),
]
TruthUsed = Annotated[
    Truth,
    Field(
        description="What models are ordered by: scores on the examples chosen from (`same_items`), or on "
        "examples held out from the choice (`new_items`)."
    ),
]
Mdad = Annotated[
    Fraction | None,
    Field(
        description="Minimum Detectable Ability Difference (MDAD), a fraction; null where it is not reached."
    ),
]
MdadInterval = Annotated[
    OpenInterval | None,
    Field(
        description="95 % interval of the MDAD, with other models like these, in fractions; null without an "
        "MDAD, with fewer than 10 target models, or by the paper's rule."
    ),
]
SeedInterval = Annotated[
    OpenInterval | None,
    Field(
        description="95 % interval of the MDAD, for the same experiment with other seeds, in fractions; null "
        "where `interval` is."
    ),
]
Agreement = Annotated[
    Fraction | None,
    Field(description="Share of pairs in their true order; null without a pair that has an order."),
]
AgreementInterval = Annotated[
    Interval | None,
    Field(
        description="95 % interval of the agreement, over models and trials; null with fewer than 10 target "
        "models, or where the agreement is null."
    ),
]


class CurvePoint(ResponseModel):
    """Agreement of the pairs whose full scores differ by about `difference`."""

    difference: Fraction = Field(description="Lower edge of a bin half a point wide.")
    agreement: Fraction = Field(description="A tie counts half; wrong with `paper_compat`.")
    agreement_strict: Fraction = Field(description="A tie counts as wrong.")
    pairs: int = Field(description="Number of pairs in the bin, over all trials.")


class KendallTau(ResponseModel):
    """Kendall's tau-b between estimated and true scores, over trials."""

    mean: float | None = Field(description="Mean over trials, from −1 to 1; null with a `reason`.")
    sd: float | None = Field(description="Standard deviation over trials; null with a `reason`.")
    reason: str | None = Field(None, description="Why there is none.")
    undefined_trials: int | None = Field(None, description="Trials left out: all estimates were equal.")


class EstimationError(ResponseModel):
    """Absolute difference of estimated and true scores, apart from ranking."""

    mean: float = Field(description="Its mean over models and trials, a fraction.")
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
    interval_reason: str | None = Field(None, description="Why an interval, or one end of it, is null.")


class AgreementView(GroupAgreement):
    """How well a micro-benchmark orders models, judged by one truth."""

    mdad: Fraction | None = Field(
        description="Minimum Detectable Ability Difference (MDAD) by the rule in force, a fraction; null "
        "with a `reason`."
    )
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
    curve: list[CurvePoint] = Field(
        description="Agreement by true difference; empty without a pair that has an order."
    )
    kendall_tau: KendallTau | None = Field(
        None, description="Rank correlation of estimated and true scores; null where it was not computed."
    )
    estimation_error: EstimationError | None = Field(
        None, description="How far estimated scores are from true ones; null where it was not computed."
    )


class PairsSampled(ResponseModel):
    """Where there are too many pairs to look at all."""

    used: int = Field(description="Pairs used, over all trials.")
    possible: int = Field(description="Pairs there are, over all trials.")
    added_error: float = Field(description="The most this adds to a standard error of agreement.")


Sampled = Annotated[
    PairsSampled | None, Field(description="How many pairs were used; absent where all of them were.")
]


class SizeResult(ResponseModel):
    """One size of micro-benchmark."""

    size: Size
    trials: int | None = Field(
        None, description="Trials of this size; 0 by formula. Absent in results of earlier versions."
    )
    same_items: AgreementView | None = Field(description="Truth: the score on the examples chosen from.")
    new_items: AgreementView | None = Field(
        description="Truth: the score on examples held out from the choice."
    )
    reason: str | None = Field(None, description="Why the method could not work at this size.")
    approximation: str | None = Field(None, description="How the exact formula was approximated, if it was.")
    pairs_sampled: Sampled = None


class Stability(ResponseModel):
    """How much two choices of the same size overlap."""

    size: Size
    jaccard: Fraction = Field(description="Overlap of the sets that two fits on the same data choose.")


class NewQuestions(ResponseModel):
    """Minimum Detectable Ability Difference (MDAD) of a subset of this size for new questions."""

    size: Size
    mdad: Mdad
    interval: OpenInterval | None = Field(description="95 %, with other models like these.")
    seed_interval: OpenInterval | None = Field(description="95 %, with other seeds.")


class CurveKey(ResponseModel):
    """One line of `methods`."""

    label: Label
    source_models: int | None = Field(description="How many it learned from; null when it looks at none.")


class MethodResult(CurveKey):
    """One method, estimator and set of options, with one number of source models."""

    method: MethodName
    estimator: EstimatorName
    options: AllOptions
    scored_by: ScoredBy
    skipped: str | None = Field(None, description="Why this method could not work on these data.")
    same_as: str | None = Field(
        None, description="Label of the method that this one is by construction on this matrix; run once."
    )
    sizes: list[SizeResult] = Field(
        description="Results by size, ascending; empty when the method was skipped."
    )
    new_questions: list[NewQuestions] | None = Field(
        None,
        description="Minimum Detectable Ability Difference (MDAD) for new questions, by size; "
        "absent with the paper's protocol.",
    )
    stability: list[Stability] | None = Field(
        None, description="How much two choices overlap, by size; absent where it was not measured."
    )


class Gap(ResponseModel):
    """A difference with its 95 % interval, paired over trials and models."""

    difference: float | None = Field(
        description="This line's number minus the best one's, a fraction; null with a `reason`."
    )
    interval: OpenInterval | None = Field(
        description="95 % interval of the difference; null with a `reason`."
    )
    reason: str | None = Field(
        default=None, description="Why the difference, its interval or an end of it is null; else absent."
    )


class Other(CurveKey):
    """A line beside the best one: its number minus the best's."""

    agreement: Gap = Field(
        description="Of the share of pairs in their true order; below 0 where this line is worse."
    )
    mdad: Gap = Field(
        description="Of the Minimum Detectable Ability Difference (MDAD); above 0 where this line is worse."
    )
    estimation_error: Gap | None = Field(
        default=None,
        description="Of mean absolute errors of estimated scores; absent in results of earlier versions.",
    )


class Differences(ResponseModel):
    """At one size, the line with the highest agreement and how far the others are from it."""

    size: Size
    truth: TruthUsed
    best: CurveKey = Field(description="The line with the highest agreement.")
    others: list[Other] = Field(description="All other lines measured at this size.")


class ClosePair(ResponseModel):
    """Two models of yours."""

    models: list[str] = Field(min_length=2, max_length=2, description="The better one first.")
    difference: Fraction = Field(description="Difference of their full scores, a fraction.")
    disagreement: Fraction = Field(description="Share of examples on which the two differ.")


class OwnPairs(ResponseModel):
    """How many pairs of the matrix's models are too close for their order to be detected."""

    threshold: Fraction = Field(
        description="Pairs that differ by less than this fraction count as too close: the "
        "recommended subset's MDAD (Minimum Detectable Ability Difference), or the "
        "target without one."
    )
    total: int = Field(description="Number of pairs of the matrix's models.")
    too_close: int = Field(
        description="Number of pairs that differ by less than `threshold` on the full benchmark."
    )
    examples: list[ClosePair] = Field(description="Some of them, neighbours in rank first.")


class RandomBeside(ResponseModel):
    """Exact random sampling of the same size from the full benchmark."""

    mdad: Mdad
    interval: MdadInterval
    seed_interval: SeedInterval = None
    agreement: Agreement
    agreement_interval: AgreementInterval


class BestTested(RandomBeside):
    """The lowest Minimum Detectable Ability Difference (MDAD) of all methods and sizes tested."""

    method: Label
    source_models: SourceModels
    size: Size


class Alternative(ResponseModel):
    """The smallest size of one line that reaches the target."""

    method: Label
    source_models: SourceModels
    size: int | None = Field(
        description="Smallest size that reaches the target; null where no allowed size below the "
        "full benchmark does."
    )
    mdad: Fraction | None = Field(
        description="Minimum Detectable Ability Difference (MDAD) at this size, a fraction; null "
        "where `size` is."
    )
    relied_on_size: int | None = Field(
        description="Smallest size whose MDAD interval ends within the target; null where none "
        "does, or with fewer than 10 target models."
    )


class OtherPurpose(ResponseModel):
    """What the recommended subset tells apart for the purpose not asked for."""

    purpose: Purpose = Field(description="The purpose not asked for.")
    mdad: Fraction | None = Field(
        description="Minimum Detectable Ability Difference (MDAD) for that purpose, a fraction; "
        "null with a `reason`, or where it is not reached."
    )
    interval: MdadInterval = None
    seed_interval: SeedInterval = None
    reason: str | None = Field(None, description="Why there is no MDAD.")


class SizeForTarget(ResponseModel):
    """Smallest size of one line that keeps a target, as if the line were the only one."""

    method: str = Field(description="Label of the line.")
    source_models: SourceModels
    size: int | None = Field(description="Null where none smaller than the benchmark does.")
    measured: bool = Field(
        description="False: larger than any size measured, found by how much more random examples lower "
        "the Minimum Detectable Ability Difference (MDAD); or no size found."
    )


class Target(ResponseModel):
    """A target and the size it takes, by line."""

    target_mdad: Fraction = Field(
        description="The target: a Minimum Detectable Ability Difference (MDAD), as a fraction."
    )
    note: str | None = Field(description="Like `1.5 × resolution`, the default target.")
    sizes: list[SizeForTarget] = Field(description="One entry for each line.")


class SelectRecommended(ResponseModel):
    """A request to `/select`, but for the matrix."""

    method: MethodName
    estimator: EstimatorName
    options: AllOptions
    scored_by: Literal["scores", "confidences"] | None = Field(
        None, description="Absent in results older than the field."
    )
    size: Size


class SettingNeeds(ResponseModel):
    """What one kind of new models needs."""

    setting: Setting = Field(description="How the targets differ from the source models.")
    size: int | None = Field(
        description="Smallest size of the recommended method for this kind alone; null beyond those measured."
    )
    mdad: Fraction = Field(description="MDAD of this kind at the recommended size.")


class LikeAlone(ResponseModel):
    """A recommendation for models like the sources alone."""

    method: str = Field(description="Label of the line.")
    source_models: int | None = Field(description="Number of models it learned from; null for none.")
    size: int = Field(description="Number of examples.")


class Recommendation(ResponseModel):
    """The smallest micro-benchmark that does what was asked, or why there is none."""

    status: Literal[
        "recommended", "target_missed", "use_full_benchmark", "not_reached", "not_enough_models"
    ] = Field(
        description="`target_missed`: no size asked for meets the target; `best_tested` says what is "
        "reached. `use_full_benchmark`: no smaller size does. `not_enough_models` is of earlier versions."
    )
    sentence: str = Field(description="The recommendation in a few sentences; differences in points.")
    target_mdad: Fraction = Field(description="What was asked for, or 1.5 times the resolution.")
    target_is_default: bool | None = Field(None, description="Whether the request named no target.")
    probability: Fraction = Field(
        description="Probability with which two models that differ by the target must come out in "
        "their true order."
    )
    truth: TruthUsed
    purpose: Purpose | None = Field(None, description="Null with the paper's protocol.")
    resolution: Fraction | None = Field(
        None, description="What all examples of the full benchmark can tell apart on new questions."
    )
    method: str | None = Field(description="Label of the line.")
    source_models: int | None = Field(
        description="Number of models the method learned from; null when it learns from none, or "
        "without a recommended size."
    )
    size: int | None = Field(
        description="Smallest size whose Minimum Detectable Ability Difference (MDAD) is within the target "
        "with probability 0.8, however many methods compete; of a pull-request check the fewest examples "
        "that find the drop; null without a recommended size."
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
    decided_by: Setting | None = Field(
        None,
        description="The kind of new models whose MDAD at this size is the largest; numbers are theirs.",
    )
    by_setting: list[SettingNeeds] | None = Field(
        None, description="What each kind of new models asked for (`target_settings`) alone would need."
    )
    for_like_alone: LikeAlone | None = Field(
        None,
        description="About what would be recommended were new models like the sources; null where no other "
        "kind was asked for.",
    )
    select: SelectRecommended | None = Field(
        None, description="What to send to `POST /select`, beside `matrix_id`, to have the examples."
    )
    fraction: Fraction | None = Field(description="Of the full benchmark.")
    mdad: Fraction | None = Field(description="At this size, read off the curve of all sizes measured.")
    interval: OpenInterval | None = Field(description="95 %, with other models like these.")
    seed_interval: OpenInterval | None = Field(None, description="95 %, with other seeds.")
    agreement: Fraction | None = Field(description="At the nearest size measured.")
    agreement_interval: AgreementInterval
    estimation_error: EstimationError | None = Field(
        description="How far scores estimated from the subset are from full scores, at the nearest "
        "size measured; null without a recommended size."
    )
    relied_on_size: int | None = Field(
        description="Smallest size whose MDAD interval ends within the target."
    )
    chosen_on: str | None = Field(None, description="The trials that chose the method.")
    reported_on: str | None = Field(None, description="The trials its numbers are from.")
    exact_random: RandomBeside | None = Field(
        description="Random sampling at the recommended size, by formula; null without a "
        "recommended size, or where the formula's sizes do not include it."
    )
    best_tested: BestTested | None = Field(
        description="The lowest MDAD of all methods and sizes tested; null where none was measured."
    )
    other_purpose: OtherPurpose | None = Field(
        None,
        description="The same subset judged for the other purpose; null without a recommended size,"
        " or with the paper's protocol.",
    )
    more_models: int | None = Field(
        None, description="Number of further models that would halve the interval."
    )
    random_enough_from: int | None = Field(
        description="Size from which on no method is clearly above random; null where one is at the largest, "
        "and where nothing can be said: plain random sampling is not among the methods or alone, or target "
        "models are too few."
    )
    own_pairs: OwnPairs = Field(
        description="How many pairs of the matrix's models are too close for the subset to order."
    )
    alternatives: list[Alternative] = Field(
        description="The smallest size of each line that reaches the target, as if it were the only one."
    )
    caveats: list[str] = Field(
        description="What to know before following the recommendation, the most important first."
    )


class MdadData(ResponseModel):
    """What the experiment had to work with."""

    models: int = Field(description="Number of models in the matrix.")
    examples: int = Field(description="Number of examples.")
    source_models: int | list[int] = Field(
        description="Number of models the methods learn from in a trial; a list for a learning curve."
    )
    target_models: int = Field(description="Number of models the choice is judged on in a trial.")
    selection_examples: int = Field(description="Number of examples the micro-benchmark is chosen from.")
    heldout_examples: int = Field(description="Number of examples held out from the choice in a trial.")
    constant_examples: int = Field(description="Number of examples on which all models have the same score.")
    binary: bool = Field(description="Whether every score is 0 or 1.")
    estimand: Literal["micro"] = Field(description="A score is the mean over examples, not over subtasks.")
    pairs_sampled: Sampled = None


class GroupSize(ResponseModel):
    """One size, for a group."""

    size: Size
    same_items: GroupAgreement | None = Field(
        None, description="Judged by scores on the examples chosen from; null where that was not measured."
    )
    new_items: GroupAgreement | None = Field(
        None,
        description="Judged by scores on examples held out from the choice; null where none were held out.",
    )


class GroupLine(CurveKey):
    """One line, for a group."""

    sizes: list[GroupSize] = Field(description="Agreement within the group by size, ascending.")


class Group(ResponseModel):
    """Which comparisons within a group of similar models each size preserves."""

    models: list[str] = Field(description="Names of the group's models.")
    pairs: list[ClosePair] = Field(
        description="Pairs of the group's models, at most 200, neighbours in rank first."
    )
    methods: list[GroupLine] = Field(description="Agreement within the group for each line.")
    exact_random: list[GroupSize] = Field(
        description="The same for random sampling from the full benchmark, by formula."
    )


class Reliability(ResponseModel):
    """How reliable micro-benchmarks are, of the whole benchmark or of one subtask."""

    data: MdadData = Field(description="Numbers of models and examples of the experiment.")
    methods: list[MethodResult] = Field(
        description="One line for each method and number of source models, in the order of the request."
    )
    exact_random: list[SizeResult] = Field(description="Random sampling from the full benchmark, by formula.")
    differences: list[Differences] = Field(
        description="The lines beside each other at each size; sizes with fewer than two lines are left out."
    )
    by_target: list[Target] | None = Field(
        None,
        description="Target → size by line: 1, 2, 3 and 5 points, and the target asked for or the default "
        "one with a smaller and a larger one beside it. Absent in results of earlier versions.",
    )
    gates: list[MethodGateView] = Field(
        default_factory=list,
        description="What the default gate of `/compare` finds on random examples and on those of the method "
        "recommended; on those of every method for a pull-request check. It sees less than the MDAD says.",
    )
    recommendation: Recommendation = Field(description="Which micro-benchmark to take, or why none.")
    group: Group | None = Field(
        None, description="The models named in `group`; absent when the request names none."
    )


class SubtaskReliability(Reliability):
    """The same for one subtask on its own."""

    subtask: str = Field(description="Name of the subtask.")


class SettingSize(ResponseModel):
    """One method and size for one kind of new models."""

    size: int = Field(description="Examples in the micro-benchmark.")
    mdad: Mdad
    agreement: Fraction | None = Field(description="Share of pairs in their true order, ties half.")
    error: float | None = Field(
        description="Mean absolute error of estimated scores; null where only a formula is known."
    )
    coverage: Fraction | None = Field(
        description="Share of full scores within the 90 % interval that `/scores` serves; null for a sample."
    )


class SettingMethod(ResponseModel):
    """One method for one kind of new models."""

    label: str = Field(description="As in `methods`.")
    sizes: list[SettingSize] = Field(description="Sizes it could be measured at.")


class SettingResult(ResponseModel):
    """How the methods do for one kind of new models."""

    setting: Setting = Field(description="How the targets differ from the source models.")
    target_models: int = Field(description="Targets of a trial.")
    source_models: int = Field(description="Source models of a trial; near copies of targets left out.")
    trials: int = Field(description="Trials measured on.")
    reason: str | None = Field(description="Why it could not be measured.")
    methods: list[SettingMethod] = Field(description="One a method, in the order of `methods`.")


class MdadResult(Reliability):
    """How reliable micro-benchmarks of each method and size are, and which to take."""

    settings: dict[str, Any] = Field(description="The request with every default filled in.")
    matrix: MatrixRef = Field(description="The matrix revision the result was computed from.")
    scoring: ScoringView | None = Field(
        None, description="Null where scores are those of the matrix: means of the attempts with a score."
    )
    subtasks: list[SubtaskReliability] | None = Field(
        None, description="The same for each subtask on its own; absent unless `by_subtask` was asked for."
    )
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
    mdad: Mdad


class PartialSize(ResponseModel):
    """One size of a method so far."""

    size: Size
    same_items: PartialAgreement = Field(description="Judged by scores on the examples chosen from.")
    new_items: PartialAgreement | None = Field(
        description="Judged by scores on held-out examples; null where none are held out."
    )


class PartialMethod(ResponseModel):
    """One method so far."""

    label: Label
    source_models: SourceModels
    sizes: list[PartialSize] = Field(description="Results by size, ascending.")


class PartialResult(ResponseModel):
    """What a running `/mdad` job has found so far."""

    trials_done: int = Field(description="Number of trials finished.")
    trials: int = Field(description="Number of trials in all.")
    methods: list[PartialMethod] = Field(description="Those that take trials; empty until some are done.")

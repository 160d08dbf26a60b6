"""The recommended size: how it was found, what else would do, and what other targets would need."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.schemas.agreement import (
    Agreement,
    AgreementInterval,
    AllOptions,
    CurveKey,
    EstimationError,
    EstimatorName,
    Label,
    Mdad,
    MdadInterval,
    MethodName,
    OpenInterval,
    Purpose,
    SeedInterval,
    Setting,
    Size,
    SourceModels,
    TruthUsed,
)
from service.schemas.base import Fraction, ResponseModel


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

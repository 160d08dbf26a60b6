"""What a `/mdad` job results in. The bytes are sent as stored; these models document them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.schemas.agreement import (
    CurveKey,
    GroupAgreement,
    Label,
    Mdad,
    MethodResult,
    Sampled,
    Setting,
    Size,
    SizeResult,
    SourceModels,
)
from service.schemas.base import Fraction, ResponseModel
from service.schemas.gates import MethodGateView
from service.schemas.recommendation import ClosePair, Differences, Recommendation, Target
from service.schemas.selections import AttemptsBudgetView, MatrixRef, ScoringView, SelectionResult


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
    budget: AttemptsBudgetView | None = Field(None, description="Where the request has a `budget`.")
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

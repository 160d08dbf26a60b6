"""What was measured of each method at each size: agreement, MDAD, and how far they vary."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from service.schemas.base import Fraction, Interval, ResponseModel

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

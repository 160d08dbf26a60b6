"""What a gate will find, before anything is run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from service.schemas.base import ResponseModel

PresetUsed = Annotated[
    Literal["regression", "non_inferiority", "improvement"],
    Field(description="What the gate is for, as in the request."),
]
MarginUsed = Annotated[
    float,
    Field(description="Largest acceptable drop, a fraction; for `improvement` the gain to exceed."),
]


class DropOutcomeView(ResponseModel):
    """What a gate does with a model this much worse; what is left of 1 is inconclusive."""

    drop: float = Field(description="True drop of the candidate, a fraction.")
    fail: float = Field(description="Probability that the verdict is `fail`.")
    passes: float = Field(description="Probability that the verdict is `pass`.")


class PlannedSizeView(ResponseModel):
    """A gate on this many examples."""

    size: int = Field(description="Number of examples.")
    standard_error: float = Field(description="Of the difference from the one on the whole benchmark.")
    estimator: Literal["plain", "regression", "assisted", "predicted"] = Field(
        description="How differences are estimated, as in the answers of `/compare`."
    )
    false_fail_rate: float = Field(description="A candidate exactly at the margin fails.")
    false_pass_rate: float = Field(description="A candidate `false_pass_at` below passes.")
    false_pass_at: float = Field(
        description="A drop, negative for a gain: the margin; for `regression` 5 points more than it."
    )
    smallest_detectable_drop: float | None = Field(description="Fails with the probability asked for.")
    smallest_detectable_gain: float | None = Field(description="Of `improvement`: passes with it.")
    by_drop: list[DropOutcomeView] = Field(description="Probability of the outcomes by true drop.")


class PlannedGateView(ResponseModel):
    """The size at which a gate finds a drop, and what it does at each size."""

    drop: float = Field(description="True drop to be found, a fraction.")
    size: int | None = Field(description="Fewest examples that find it; null where only all show it.")
    preset: PresetUsed
    margin: MarginUsed
    confidence: float = Field(description="Confidence of the gate's two-sided interval.")
    power: float = Field(description="Probability with which the drop is found.")
    pairs: int = Field(description="Pairs of the matrix's models the errors were measured on.")
    by_size: list[PlannedSizeView] = Field(description="What the gate does at each size, ascending.")


class MethodGateView(PlannedGateView):
    """The default gate of `/compare` on the examples that one method chooses."""

    label: str = Field(description="As in `methods`.")
    source_models: int | None = Field(description="As in `methods`.")


class SelectionGateView(PlannedSizeView):
    """The default gate of `/compare` on the chosen examples."""

    preset: PresetUsed
    margin: MarginUsed
    confidence: float = Field(description="Confidence of the gate's two-sided interval.")
    power: float = Field(description="Probability that `smallest_detectable_drop` is found with.")
    pairs: int = Field(description="Pairs of the matrix's models it was measured on.")

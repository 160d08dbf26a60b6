"""What all request and response models share."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

Fraction = Annotated[float, Field(ge=0, le=1)]
Interval = Annotated[list[float], Field(min_length=2, max_length=2)]


class Ask(BaseModel):
    """A request body: unknown fields, coerced types and non-finite numbers are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True)


class Tell(BaseModel):
    """A response body."""

    model_config = ConfigDict(allow_inf_nan=False)


def one_of(offer: str) -> WrapValidator:
    """For unions: one sentence on what fits, in place of one error a member."""

    def check(value: object, handler: ValidatorFunctionWrapHandler) -> object:
        try:
            return handler(value)
        except ValidationError as exc:
            raise ValueError(f"Should be {offer}.") from exc

    return WrapValidator(check)

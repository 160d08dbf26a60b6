"""What all request and response models share."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

Fraction = Annotated[float, Field(ge=0, le=1)]
Interval = Annotated[list[float], Field(min_length=2, max_length=2)]


class RequestModel(BaseModel):
    """A request body: unknown fields, coerced types and non-finite numbers are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True)


class ResponseModel(BaseModel):
    """A response body."""

    model_config = ConfigDict(allow_inf_nan=False)


def named_or(spec: type[RequestModel], offer: str) -> Discriminator:
    """For unions of a name (tagged "name") and an object (tagged "spec")."""

    def kind(value: object) -> str | None:
        return "name" if isinstance(value, str) else "spec" if isinstance(value, dict | spec) else None

    return Discriminator(kind, custom_error_type="no_such_choice", custom_error_message=f"Should be {offer}")


def auto_or_list(offer: str) -> Discriminator:
    """For unions of the word "auto" (tagged so) and a list (tagged "list")."""

    def kind(value: object) -> str | None:
        return "auto" if value == "auto" else "list" if isinstance(value, list) else None

    return Discriminator(kind, custom_error_type="no_such_choice", custom_error_message=f"Should be {offer}")


def one_of(offer: str) -> WrapValidator:
    """For unions: one sentence on what fits, in place of one error a member."""

    def check(value: object, handler: ValidatorFunctionWrapHandler) -> object:
        try:
            return handler(value)
        except ValidationError as exc:
            raise ValueError(f"Should be {offer}.") from exc

    return WrapValidator(check)

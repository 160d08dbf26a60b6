"""Turns pydantic's validation errors into places and advice on how to fix them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

from service.core.errors import FieldError
from service.schemas.base import RequestModel

MESSAGES = {
    "missing": "This field is required.",
    "int_type": "Should be a whole number.",
    "int_from_float": "Should be a whole number.",
    "int_parsing": "Should be a whole number.",
    "float_type": "Should be a number.",
    "float_parsing": "Should be a number.",
    "bool_type": "Should be true or false.",
    "bool_parsing": "Should be true or false.",
    "string_type": "Should be text.",
    "list_type": "Should be a list, in [ ].",
    "dict_type": "Should be a JSON object.",
    "model_type": "Should be a JSON object.",
    "model_attributes_type": "Should be a JSON object.",
    "literal_error": "Should be {expected}.",
    "greater_than": "Should be above {gt}.",
    "greater_than_equal": "Should be at least {ge}.",
    "less_than": "Should be below {lt}.",
    "less_than_equal": "Should be at most {le}.",
    "too_short": "Should have at least {min_length} items, not {actual_length}.",
    "too_long": "Should have at most {max_length} items.",
    "string_too_short": "Should not be empty.",
    "string_too_long": "Should have at most {max_length} characters.",
}
"""Messages that replace pydantic's, which speak of inputs and validation."""

LONGEST = 50
"""Longer names are not misspelt fields."""


def faults_of(errors: Sequence[Any], body: object) -> tuple[FieldError, ...]:
    """One fault per validation error, in pydantic's order, without duplicates."""
    return tuple(dict.fromkeys(_fault(error, body) for error in errors))


def pointer(location: Sequence[str | int], body: object) -> str:
    """A JSON pointer into the body, or `query/…`, `path/…`, `header/…`.

    Pydantic puts the names of union members into its locations; steps that do not exist in the body are
    left out.
    """
    where, *steps = location
    if where != "body":
        return "/".join(str(step) for step in location)
    kept: list[str] = []
    at = body
    for i, step in enumerate(steps):
        last = i == len(steps) - 1
        if isinstance(step, int) and isinstance(at, list):
            at = at[step] if step < len(at) else None
        elif isinstance(at, Mapping) and (step in at or last):
            at = at.get(step)
        else:
            continue
        kept.append(str(step).replace("~", "~0").replace("/", "~1"))
    return "".join(f"/{step}" for step in kept)


def _fault(error: Mapping[str, Any], body: object) -> FieldError:
    return FieldError(pointer(error["loc"], body), str(error["type"]), _message(error))


def _message(error: Mapping[str, Any]) -> str:
    code, known = str(error["type"]), error.get("ctx", {})
    if code == "extra_forbidden":
        return f"There is no such field; {_how_to_fix(str(error['loc'][-1]))}"
    if code in MESSAGES:
        return MESSAGES[code].format(**known).replace("1 items", "1 item") + _percent_hint(error)
    return _sentence(str(error["msg"]).removeprefix("Value error, "))


def _how_to_fix(name: str) -> str:
    near = get_close_matches(name, _fields() - {name}, 1, 0.75) if len(name) <= LONGEST else []
    return f"do you mean {near[0]!r}?" if near else "check its spelling against /docs."


@cache
def _fields() -> frozenset[str]:
    """All field names of requests."""

    def below(kind: type[RequestModel]) -> Iterator[type[RequestModel]]:
        for each in kind.__subclasses__():
            yield each
            yield from below(each)

    return frozenset(name for kind in below(RequestModel) for name in kind.model_fields)


def _percent_hint(error: Mapping[str, Any]) -> str:
    """A hint if a percentage was sent where a fraction is expected."""
    given, most = error.get("input"), error.get("ctx", {}).get("le")
    if not isinstance(given, int | float) or most is None or not most <= 1 < given <= 100:
        return ""
    return f" It is a fraction: {given:g} % is {given / 100:g}."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else text + "."

"""Validation errors of pydantic, told as places and mends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from service.errors import Fault

MESSAGES = {
    "extra_forbidden": "There is no such field; check its spelling against /docs.",
    "missing": "This field is required.",
}


def faults_of(errors: Sequence[Any], body: object) -> tuple[Fault, ...]:
    """One fault a validation error, in the order pydantic found them, without repeats."""
    return tuple(dict.fromkeys(_fault(error, body) for error in errors))


def pointer(location: Sequence[str | int], body: object) -> str:
    """A JSON pointer into the body, or `query/…`, `path/…`, `header/…`.

    Pydantic puts the names of union members into its locations; what does not
    lead anywhere in the body sent is left out.
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


def _fault(error: Mapping[str, Any], body: object) -> Fault:
    code = str(error["type"])
    message = MESSAGES.get(code) or str(error["msg"]).removeprefix("Value error, ")
    return Fault(pointer(error["loc"], body), code, _sentence(message))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else text + "."

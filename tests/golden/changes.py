"""Stored answers beside those of now: what changed, in one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.golden.caller import Answer

RECORD = "record again with `make golden` and review the diff"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Numbers are equal that differ by no more than a share of the larger, or absolutely."""

    relative: float
    absolute: float

    def equal(self, one: float, other: float) -> bool:
        """Whether these are equal."""
        return bool(abs(one - other) <= max(self.absolute, self.relative * max(abs(one), abs(other))))


EXACT = Tolerance(1e-9, 1e-12)
"""Processors differ in the last bits, and sums pass them on."""

ROUNDED = Tolerance(1e-9, 1.01e-10)
"""Of numbers rounded to ten decimals, the last one may differ by 1."""

FITTED = Tolerance(1e-5, 1e-6)
"""Of numbers from a fit that ends before the last bits."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs; `words` where only a text or the shape of the answer does."""

    field: str
    was: str
    now: str
    words: bool


def complaint(
    group: str,
    stored: tuple[str, dict[str, Answer]],
    now: tuple[str, dict[str, Answer]],
    allowed: Tolerance = EXACT,
) -> str | None:
    """Why these are not the stored answers; None where they are.

    Parameters
    ----------
    group : str
    stored, now : (engine version, answers by name)
    allowed : Tolerance
    """
    (version, old), (current, new) = stored, now
    if not old:
        return f"tests/golden: nothing is stored for {group}; record it with `make golden`."
    if version != current:
        return (
            f"tests/golden/answers/{group}.json was recorded with ENGINE_VERSION {version!r} and this is "
            f"{current!r}: {RECORD}."
        )
    found = list(changes(old, new, allowed))
    if not found:
        return None
    numbers = [change for change in found if not change.words]
    first, others = (numbers or found)[0], len(found) - 1
    answer, _, field = first.field.removeprefix("/").partition("/")
    and_more = f" (and {others} more)" if others else ""
    todo = (
        f"while ENGINE_VERSION is still {version!r}; if this is meant, raise ENGINE_VERSION, {RECORD}, and "
        "note the change in the changelog"
        if numbers
        else f"a text or the shape of an answer only; if this is meant, {RECORD}, and raise ENGINE_VERSION "
        "if it is stored with a job's result"
    )
    return (
        f"tests/golden/answers/{group}.json: answer {answer!r}, field /{field} was {first.was} and is "
        f"{first.now}{and_more}, {todo}."
    )


def changes(old: Any, new: Any, allowed: Tolerance = EXACT, field: str = "") -> Iterator[Change]:
    """Every field that differs, in the order of the stored answer."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key in old and key in new:
                yield from changes(old[key], new[key], allowed, f"{field}/{key}")
            else:
                yield Change(f"{field}/{key}", _shown(old, key), _shown(new, key), words=True)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (was, now) in enumerate(zip(old, new, strict=True)):
            yield from changes(was, now, allowed, f"{field}/{at}")
    elif not _same(old, new, allowed):
        yield Change(field, _clipped(old), _clipped(new), words=_prose(old) and _prose(new))


def _same(old: Any, new: Any, allowed: Tolerance) -> bool:
    numbers = [
        value for value in (old, new) if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if len(numbers) == 2 and any(isinstance(value, float) for value in numbers):
        return allowed.equal(old, new)
    return type(old) is type(new) and old == new


def _prose(value: Any) -> bool:
    """Whether this is a sentence, rather than a choice or a status."""
    return isinstance(value, str) and " " in value


def _shown(value: dict[str, Any], key: str) -> str:
    return _clipped(value[key]) if key in value else "absent"


def _clipped(value: Any, longest: int = 120) -> str:
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}…"

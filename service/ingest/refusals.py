"""Builds refusals that name the place and how to fix it, in one style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from service.core.errors import FieldError, InvalidUpload

SHOWN = 5


def refuse(detail: str, code: str, places: Iterable[tuple[str, str]] = ()) -> InvalidUpload:
    """The problem to raise: what is wrong, how to fix it, and the (pointer, message) of each place."""
    return InvalidUpload(
        detail, [FieldError(p, code, m) for p, m in places] or [FieldError("", code, detail)]
    )


def counted(n: int, noun: str) -> str:
    """A number and its noun in the singular or plural: "1 cell", "2 cells"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def quoted(name: str, width: int = 80) -> str:
    """A name for a message: quoted, escaped and shortened."""
    text = repr(name)
    return text if len(text) <= width else text[: width - 2] + "…'"


def listed(names: Sequence[str], shown: int = SHOWN) -> str:
    """The first few names, and the number of the others."""
    head = ", ".join(quoted(name) for name in names[:shown])
    return head if len(names) <= shown else f"{head} and {len(names) - shown} more"

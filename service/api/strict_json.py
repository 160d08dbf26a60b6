"""Parses JSON strictly: refuses with its place what other parsers accept silently."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from service.core.errors import FieldError, InvalidRequest

NUL_MEND = "Text cannot contain the character U+0000; remove it."


class _Flaw:
    """Marks an invalid value in the tree until its place is known."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message


class _RepeatedKey(dict[str, Any]):
    """An object with a repeated key."""

    key: str


def parse(raw: bytes) -> object:
    """Parse a JSON document.

    Raises
    ------
    InvalidRequest
        It is not UTF-8 or not JSON, or holds a repeated key, NaN or Infinity, a number beyond the range
        of a double, U+0000 or half a surrogate pair.
    """
    tree = _decode(_text(raw))
    for pointer, value in _walk(tree):
        flaw = _flaw(value)
        if flaw is not None:
            raise _refusal(pointer, flaw.code, flaw.message)
    return tree


def text_flaw(text: str) -> tuple[str, str] | None:
    """Why the database cannot store this text, as (code, message); None if it can."""
    if "\x00" in text:
        return "nul_character", NUL_MEND
    try:
        text.encode()
    except UnicodeEncodeError:
        return "lone_surrogate", "Half a surrogate pair is not a character; send the character itself."
    return None


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        message = f"The byte at offset {exc.start} is not UTF-8; send the document in UTF-8."
        raise _refusal("", "invalid_utf8", message) from exc


def _decode(text: str) -> object:
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except json.JSONDecodeError as exc:
        message = f"Not JSON at line {exc.lineno}, column {exc.colno}: {exc.msg}."
        raise _refusal("", "invalid_json", message) from exc
    except RecursionError:
        raise _refusal("", "too_deep", "The document is nested too deeply; send a flatter one.") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    doubled = _RepeatedKey(plain)
    doubled.key = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return doubled


def _constant(name: str) -> _Flaw:
    return _Flaw("non_finite", f"{name} is not a JSON number; leave the field out or send a finite number.")


def _float(digits: str) -> float | _Flaw:
    value = float(digits)
    if math.isfinite(value):
        return value
    return _Flaw("out_of_range", f"{digits} is too large; send a number that fits into a double.")


def _int(digits: str) -> int | _Flaw:
    if len(digits.lstrip("-")) > 19:
        return _Flaw(
            "out_of_range",
            f"An integer of {len(digits)} digits is too large; send a number that fits into a double.",
        )
    return int(digits)


def _flaw(value: object) -> _Flaw | None:
    if isinstance(value, _Flaw):
        return value
    if isinstance(value, _RepeatedKey):
        return _Flaw("duplicate_key", f"The key {value.key!r} occurs twice in this object; keep one.")
    if isinstance(value, str) and (found := text_flaw(value)):
        return _Flaw(*found)
    if isinstance(value, dict):
        return next((_Flaw(*found) for key in value if (found := text_flaw(key))), None)
    return None


def _walk(tree: object) -> Iterator[tuple[str, object]]:
    """Every value with its JSON pointer, parents first; uses a stack because documents may be deep."""
    stack = [("", tree)]
    while stack:
        pointer, value = stack.pop()
        yield pointer, value
        if isinstance(value, dict):
            stack.extend((f"{pointer}/{_escaped(k)}", v) for k, v in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend((f"{pointer}/{i}", v) for i, v in reversed(list(enumerate(value))))


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _refusal(pointer: str, code: str, message: str) -> InvalidRequest:
    place = f"{pointer}: " if pointer else ""
    return InvalidRequest(f"{place}{message}", [FieldError(pointer, code, message)])

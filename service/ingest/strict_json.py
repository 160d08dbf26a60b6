"""Strict JSON: refuses NaN, repeated keys and invalid UTF-8, each with its place."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping

import orjson

from service.core.errors import InvalidUpload
from service.ingest.refusals import quoted, refuse

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def loads(data: bytes, name: str) -> object:
    """Parse a whole document.

    Parameters
    ----------
    data : bytes
    name : str
        Name of the document in a refusal.

    Raises
    ------
    InvalidUpload
        It is not JSON, or an object has a repeated key.
    """
    try:
        value = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise broken(data, name, error) from None
    check_keys(data, value, name)
    return value


def check_keys(data: bytes, value: object, name: str) -> None:
    """Refuse a parsed document if an object in it has a repeated key."""
    without_strings = _STRING.sub(b"", data)
    keys = len(value) if isinstance(value, dict) and without_strings.count(b"{") == 1 else _keys(value)
    if without_strings.count(b":") != keys:
        raise _twice(data, name)


def _keys(value: object) -> int:
    """Total number of keys of all objects in the value."""
    total, pending = 0, [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            total += len(item)
            pending.extend(v for v in item.values() if isinstance(v, dict | list))
        elif isinstance(item, list) and not {dict, list}.isdisjoint(map(type, item)):
            pending.extend(v for v in item if isinstance(v, dict | list))
    return total


def _twice(data: bytes, name: str) -> InvalidUpload:
    """The key that occurs twice, found by a slower parse that sees every pair."""
    again: list[str] = []

    def pairs(items: list[tuple[str, object]]) -> Mapping[str, object]:
        found = dict(items)
        if len(found) < len(items):
            counts = Counter(key for key, _ in items)
            again.extend(key for key, count in counts.items() if count > 1)
        return found

    try:
        json.loads(data, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        again.clear()
    key = quoted(again[0]) if again else "a key"
    return refuse(
        f"{name}: {key} occurs twice in one object; keep one of them", "duplicate_key", [(key, "duplicate")]
    )


def broken(data: bytes, name: str, error: orjson.JSONDecodeError) -> InvalidUpload:
    """The problem of bytes that do not parse, with their line and column."""
    place = f"line {error.lineno}, column {error.colno}"
    after = data[max(0, error.pos - 9) : error.pos + 9]
    if re.search(rb"NaN|Infinity", after):
        detail = f"{name}, {place}: NaN and Infinity are not valid JSON; write null for a missing score"
        return refuse(detail, "nan", [(place, "NaN or Infinity")])
    return refuse(
        f"{name}, {place}: this is not valid JSON: {error.msg}; correct the file or send it again",
        "json",
        [(place, error.msg)],
    )


def dumps(value: object) -> str:
    """A parsed value as JSON text, for messages and for reading words."""
    return orjson.dumps(value).decode()

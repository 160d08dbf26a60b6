"""Options that name examples: by id in a request, by position where a method chooses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

LISTS = ("include", "exclude")
BY_ID = frozenset({*LISTS, "costs"})
"""Options whose value names examples."""

ONE_CHOICE = BY_ID | {"budget"}
"""Options that suit one choice from all examples, not the trials of an experiment."""


def positioned(options: Mapping[str, Any], examples: Sequence[str]) -> dict[str, Any]:
    """The options with positions in place of ids.

    Parameters
    ----------
    options : mapping
        As in a request: `include` and `exclude` list ids, `costs` gives every id a number
        (further ids are not looked at: a policy on missing cells may have dropped them).
    examples : sequence of str
        Ids in the order of the matrix.

    Raises
    ------
    ValueError
        An id that is not there, or an example without a cost; the text names it.
    """
    if not any(options.get(name) for name in BY_ID):
        return dict(options)
    at = {example: position for position, example in enumerate(examples)}
    found = dict(options)
    for name in LISTS:
        if options.get(name) is not None:
            found[name] = [_position(name, value, at) for value in _listed(name, options[name])]
            if len(set(found[name])) < len(found[name]):
                (twice, _), *_ = Counter(options[name]).most_common(1)
                raise ValueError(f"{name} names {twice!r} more than once")
    if both := sorted(set(found.get("include") or ()) & set(found.get("exclude") or ())):
        raise ValueError(f"example {examples[both[0]]!r} is in include and in exclude")
    if options.get("costs") is not None:
        found["costs"] = _costs(options["costs"], examples)
    return found


def _listed(name: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is a list of example ids")
    return value


def _position(name: str, value: object, at: Mapping[str, int]) -> int:
    if not isinstance(value, str):
        raise ValueError(f"{name} lists ids as text, not {value!r}")
    if value not in at:
        raise ValueError(f"{name} names {value!r}, and the matrix has no such example")
    return at[value]


def _costs(value: object, examples: Sequence[str]) -> list[Any]:
    if not isinstance(value, Mapping):
        raise ValueError("costs is an object of example ids and numbers")
    if lacking := [example for example in examples if example not in value]:
        raise ValueError(f"costs lacks {len(lacking)} of {len(examples)} examples, {lacking[0]!r} first")
    return [value[example] for example in examples]

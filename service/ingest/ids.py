"""Checks ids of models and examples: distinct, in composed form (NFC), of characters that can be seen."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import partial

from service.ingest.options import Limits
from service.ingest.refusals import quoted, refuse

Place = Callable[[int], str]


def checked_ids(raw: Sequence[object], kind: str, place: Place, limits: Limits) -> list[str]:
    """The ids as strings, after checking each.

    Parameters
    ----------
    raw : sequence
        Strings or whole numbers, as the file has them.
    kind : "model" or "example"
    place : callable
        Describes the place of a position in `raw`, like "row 3".

    Raises
    ------
    InvalidUpload
        An id is empty, too long, of another type, not composed, holds a character that cannot be seen,
        or occurs twice.
    """
    ids = [v if isinstance(v, str) else _text(v, kind, place(i)) for i, v in enumerate(raw)]
    if not _all_plain(ids, limits):
        for i, name in enumerate(ids):
            check(name, kind, partial(place, i), limits)
    if len(set(ids)) < len(ids):
        raise _twice(raw, ids, kind, place)
    return ids


def check(name: str, kind: str, place: str | Callable[[], str], limits: Limits) -> None:
    """Refuse an id that is empty, too long, not composed, or holds a character that cannot be seen.

    Parameters
    ----------
    place : str or callable
        Its place; called only when the id is refused.
    """
    if _plain(name, limits):
        return
    place = place if isinstance(place, str) else place()
    if not name or name.isspace():
        raise refuse(
            f"{place}: the {kind} has no name; give every {kind} a name", "empty_id", [(place, "empty")]
        )
    if len(name) > limits.id_length:
        detail = f"{place}: the {kind} id is {len(name)} characters long; the limit is {limits.id_length}"
        raise refuse(detail, "long_id", [(place, quoted(name))])
    bad = None if name.isprintable() else next(filter(_unseen, name), None)
    if bad:
        detail = f"{place}: the {kind} id {quoted(name)} holds the character U+{ord(bad):04X}; remove it"
        raise refuse(detail, "control_character", [(place, quoted(name))])
    if not unicodedata.is_normalized("NFC", name):
        detail = (
            f"{place}: the {kind} id {quoted(name)} is not in Unicode's composed form (NFC), so an id that "
            "looks the same would be another one; send it composed"
        )
        raise refuse(detail, "not_composed", [(place, quoted(name))])


def _unseen(character: str) -> bool:
    """Whether it is a control, format or line-separator character, or half of a surrogate pair."""
    return character not in "\t\n\r" and unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _plain(name: str, limits: Limits) -> bool:
    """Whether the id needs no closer check, which is true of most ids."""
    return name.isascii() and name.isprintable() and not name.isspace() and 0 < len(name) <= limits.id_length


def _all_plain(names: Sequence[str], limits: Limits) -> bool:
    """`_plain` for all ids at once, which is faster than a call for each."""
    longest = max(map(len, names), default=0)
    together = "".join(names)
    plain = together.isascii() and together.isprintable()
    return plain and longest <= limits.id_length and all(map(str.strip, names))


def _text(value: object, kind: str, place: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    detail = f"{place}: the {kind} id {value!r} is neither text nor a whole number; write it as text"
    raise refuse(detail, "id_type", [(place, repr(value))])


def _twice(raw: Sequence[object], ids: Sequence[str], kind: str, place: Place) -> Exception:
    first: dict[str, int] = {}
    for i, name in enumerate(ids):
        j = first.setdefault(name, i)
        if j != i:
            break
    same = type(raw[i]) is type(raw[j])
    how = "occurs twice" if same else "occurs twice once ids are text (as a number and as a string)"
    detail = f"{kind} {quoted(name)} {how}: {place(j)} and {place(i)}; give each {kind} its own id"
    return refuse(detail, f"duplicate_{kind}", [(place(j), quoted(name)), (place(i), quoted(name))])

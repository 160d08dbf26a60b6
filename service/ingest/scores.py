"""Converts raw values to scores in [0, 1] and names every invalid cell.

The scores of a file are all numbers, all true/false, or all words that the caller maps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from service.core.errors import InvalidUpload
from service.engine.data.matrix import Scores
from service.ingest.options import Options, Scale
from service.ingest.refusals import SHOWN, counted, quoted, refuse
from service.ingest.upload import SCORED, UNSCORED

EMPTY = ("", "NA", "null")
"""The only texts that mean a missing score."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUTH = {"true": 1.0, "false": 0.0}


class Cells(NamedTuple):
    """Scores of a grid, and the state of each cell (None when all are scored)."""

    values: Scores
    states: NDArray[np.uint8] | None


class Where(NamedTuple):
    """Describes a cell of an array: its place in the file, its model and its example.

    `hint` is added to the refusal of a cell.
    """

    place: Callable[[int, int], str]
    model: Callable[[int, int], str]
    example: Callable[[int, int], str]
    hint: str = ""

    def cell(self, i: int, j: int) -> tuple[str, str]:
        """The cell's place, and a phrase that names its model and example."""
        return self.place(i, j), f"model {quoted(self.model(i, j))}, example {quoted(self.example(i, j))}"


def from_numbers(
    values: NDArray[np.generic], missing: NDArray[np.bool_] | None, options: Options, where: Where
) -> Cells:
    """Scores from a numeric or boolean array.

    Parameters
    ----------
    values : ndarray, shape (M, N)
    missing : ndarray of bool, shape (M, N), optional
        Cells without a value; `values` is ignored there.

    Raises
    ------
    InvalidUpload
        A cell is not finite or, after `options.scale`, outside [0, 1].
    """
    if options.mapping and values.dtype.kind != "b":
        words, codes = np.unique(values, return_inverse=True)
        texts = [str(int(w)) if math.isfinite(w) and w == int(w) else repr(w) for w in words.tolist()]
        return from_words(texts, codes.reshape(values.shape), missing, options, where)
    scores = _scaled(values, options.scale)
    bad = _bad_cells(scores, missing)
    if bad is not None and bad.any():
        raise _outside(values, bad, missing, options.scale, where)
    states = (
        None if missing is None or not missing.any() else np.where(missing, UNSCORED, SCORED).astype(np.uint8)
    )
    return Cells(scores, states)


def _bad_cells(scores: Scores, missing: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Cells whose score is not in [0, 1]; None, without an array of them, where all are."""
    if not scores.size or (scores.min() >= 0 and scores.max() <= 1):
        return None
    bad = ~((scores >= 0) & (scores <= 1))
    return bad if missing is None else bad & ~missing


def from_words(
    words: Sequence[str],
    codes: NDArray[np.integer],
    missing: NDArray[np.bool_] | None,
    options: Options,
    where: Where,
) -> Cells:
    """Scores from text: `codes`, shape (M, N), index into the distinct `words`.

    Raises
    ------
    InvalidUpload
        A word is not a score; the message names the first such cells and the mapping to send.
    """
    parsed = _parse(words, options)
    bad = np.array([isinstance(p, str) for p in parsed], dtype=bool)[codes]
    if missing is not None:
        bad &= ~missing
    if bad.any():
        raise _no_score(words, codes, bad, where)
    raw = np.array([np.nan if p is None or isinstance(p, str) else p for p in parsed])
    empty = np.array([p is None for p in parsed], dtype=bool)[codes]
    plain = Options(scale=options.scale)
    return from_numbers(raw[codes], empty if missing is None else empty | missing, plain, where)


def is_score(word: str, options: Options) -> bool:
    """Whether the word is a score or, by the mapping, a missing score."""
    return word in options.mapping or bool(_NUMBER.fullmatch(word)) or word.lower() in _TRUTH


def is_number(word: str) -> bool:
    """Whether the word is a finite decimal number."""
    return bool(_NUMBER.fullmatch(word))


def text(value: object) -> str | None:
    """A JSON value as the text that a table would hold; None for null."""
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value).decode()


def in_range(word: str) -> bool:
    """Whether the word is a number from 0 to 1, true, false or empty."""
    if word in EMPTY or word.lower() in _TRUTH:
        return True
    return bool(_NUMBER.fullmatch(word)) and 0 <= float(word) <= 1


def _scaled(values: NDArray[np.generic], scale: Scale | None) -> Scores:
    if scale is None and values.dtype.kind == "b":
        return values.astype(np.uint8)
    if scale is None and values.dtype == np.uint8:
        return values.astype(np.uint8, copy=False)
    numbers = values.astype(np.float64)
    return numbers if scale is None else (numbers - scale.worst) / (scale.best - scale.worst)


def _parse(words: Sequence[str], options: Options) -> list[float | str | None]:
    """The value of each word: a number, None for missing, or the word itself if it is not a score."""
    truth = not any(_NUMBER.fullmatch(w) for w in words)
    parsed: list[float | str | None] = []
    for word in words:
        if word in options.mapping:
            parsed.append(options.mapping[word])
        elif word in EMPTY:
            parsed.append(None)
        elif _NUMBER.fullmatch(word):
            parsed.append(float(word))
        else:
            parsed.append(_TRUTH.get(word.lower(), word) if truth else word)
    return parsed


def _no_score(
    words: Sequence[str], codes: NDArray[np.integer], bad: NDArray[np.bool_], where: Where
) -> InvalidUpload:
    cells = np.argwhere(bad)
    places = []
    for i, j in cells[:SHOWN].tolist():
        place, whose = where.cell(i, j)
        places.append((place, f"{quoted(words[codes[i, j]])} is not a score ({whose})"))
    unknown = [words[k] for k in np.unique(codes[bad]).tolist()]
    detail = (
        f"{places[0][0]}: {places[0][1]}; scores are numbers from 0 to 1, empty, NA or null. "
        f"{counted(len(cells), 'cell')} like this. To read it as a score, send "
        f"mapping={suggest_mapping(unknown)}"
    )
    return refuse(detail, "not_a_score", places)


def suggest_mapping(unknown: Sequence[str]) -> str:
    """A mapping to suggest for these words, the likeliest first."""
    good = {"yes", "y", "true", "correct", "c", "pass", "passed", "right", "p"}
    blank = {"nan", "n/a", "none", "-", "?", "missing", "error"}
    shown = [w for w in unknown if "," not in w][:4]
    return (
        ",".join(f"{w}:{'missing' if w.lower() in blank else int(w.lower() in good)}" for w in shown)
        or "word:score"
    )


def _outside(
    values: NDArray[np.generic],
    bad: NDArray[np.bool_],
    missing: NDArray[np.bool_] | None,
    scale: Scale | None,
    where: Where,
) -> InvalidUpload:
    cells = np.argwhere(bad)
    places = []
    for i, j in cells[:SHOWN].tolist():
        place, whose = where.cell(i, j)
        places.append((place, f"score {values[i, j]} ({whose})"))
    advice = _how_to_fix(values if missing is None else values[~missing], values[bad], scale)
    detail = (
        f"{places[0][0]}: {places[0][1]} is not between 0 and 1{'' if scale is None else ' after scaling'}. "
        f"{counted(len(cells), 'cell')} like this. {advice}{where.hint}"
    )
    return refuse(detail, "score_out_of_range", places)


def _how_to_fix(there: NDArray[np.generic], bad: NDArray[np.generic], scale: Scale | None) -> str:
    values, unknown = there.astype(np.float64), np.unique(bad.astype(np.float64))
    if not np.isfinite(unknown).all():
        return "Leave the cell empty where there is no score"
    if scale is not None:
        return "Send the scale that holds every value"
    low, high = float(values.min()), float(values.max())
    if low >= 1 and high <= 2:
        return "If these run from 1 to 2, send scale=1..2"
    if len(unknown) == 1 and unknown[0] in (-1, 8, 9, 99, 255, 999):
        return f"If {unknown[0]:g} marks a missing score, send mapping={unknown[0]:g}:missing"
    if low >= 0 and high <= 100:
        return f"If these are percentages, send scale=percent; if points, scale=0..{high:g}"
    return "If this is another scale, send scale=worst..best, like 0..10"

"""The caller's options for an upload, and the limits of this service."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar

from service.core.errors import FieldError, InvalidRequest

Orientation = Literal["models_as_rows", "models_as_columns"]
Missing = Literal["keep", "reject", "zero"]
Word = TypeVar("Word", bound=str)


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps raw values from `worst` to `best` onto 0 to 1; worst > best when higher is worse."""

    worst: float
    best: float


@dataclass(frozen=True, slots=True)
class Options:
    """The caller's options; by default nothing is guessed.

    Attributes
    ----------
    format : str, optional
        Name of the reader to use instead of recognising the bytes.
    orientation : "models_as_rows" or "models_as_columns", optional
        What the rows of a wide table or of a bare array are.
    metric, filter : tuple of str
        In order of preference: each task uses the first one that it has.
    subtask : str, optional
        In a table, the column that names each example's subtask; in logs of several tasks, the task or
        group to keep.
    missing : "keep", "reject" or "zero"
        How to treat an empty cell: as missing, as an error, or as a wrong answer.
    model : str, optional
        Name of the model if the file holds none, or of the one model to keep.
    ignore : tuple of str
        Columns of a table that hold neither ids nor scores.
    frequency : str, optional
        Column with the number of models that each row of a table stands for.
    ids : "given" or "row_number"
        "row_number" names examples without ids by their row.
    unmatched : "refuse" or "keep"
        What to do with a model that ran different examples than the others.
    scale : Scale, optional
        How raw values become fractions.
    mapping : mapping of str to float or None
        Score of each word; None marks a missing score.
    """

    format: str | None = None
    orientation: Orientation | None = None
    metric: tuple[str, ...] = ()
    filter: tuple[str, ...] = ()
    subtask: str | None = None
    missing: Missing = "keep"
    model: str | None = None
    ignore: tuple[str, ...] = ()
    frequency: str | None = None
    ids: Literal["given", "row_number"] = "given"
    unmatched: Literal["refuse", "keep"] = "refuse"
    scale: Scale | None = None
    mapping: Mapping[str, float | None] = field(default_factory=dict)

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> Options:
        """Parse options from query or form fields; lists are comma-separated.

        Raises
        ------
        InvalidRequest
            A field or its value is unknown; every such field is named.
        """
        values: dict[str, Any] = {}
        faults: list[FieldError] = []
        for name, text in texts.items():
            try:
                values[name] = _parser(name)(text)
            except ValueError as error:
                faults.append(FieldError(f"/{name}", "invalid_option", str(error)))
        if faults:
            raise InvalidRequest("; ".join(f.message for f in faults), faults)
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on an upload, after decompression."""

    bytes: int = 2 << 30
    files: int = 50_000
    models: int = 20_000
    examples: int = 200_000
    cells: int = 100_000_000
    record: int = 64 << 20
    document: int = 256 << 20
    id_length: int = 1_000


def _parser(name: str) -> Callable[[str], Any]:
    if name not in _PARSERS:
        known = ", ".join(f.name for f in fields(Options))
        raise ValueError(f"there is no option {name!r}; the options are {known}")
    return _PARSERS[name]


def _one_of(*words: Word) -> Callable[[str], Word]:
    def parse(text: str) -> Word:
        for word in words:
            if text == word:
                return word
        raise ValueError(f"{text!r} is not one of {', '.join(words)}")

    return parse


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _scale(text: str) -> Scale:
    if text == "percent":
        return Scale(0, 100)
    ends = text.split("..")
    try:
        worst, best = (float(end) for end in ends)
    except ValueError:
        raise ValueError(
            f"scale {text!r} is neither 'percent' nor 'worst..best', like 1..2 or 10..0"
        ) from None
    if not (math.isfinite(worst) and math.isfinite(best)) or worst == best:
        raise ValueError(f"scale {text!r} needs two different finite ends")
    return Scale(worst, best)


def _mapping(text: str) -> dict[str, float | None]:
    scores: dict[str, float | None] = {}
    for pair in _list(text):
        word, colon, value = pair.rpartition(":")
        try:
            scores[word] = None if value == "missing" else float(value)
        except ValueError:
            colon = ""
        score = scores.get(word)
        if not colon or (score is not None and not math.isfinite(score)):
            raise ValueError(
                f"mapping {pair!r} is not 'word:score' or 'word:missing', like yes:1,no:0,-1:missing"
            )
    return scores


_PARSERS: dict[str, Callable[[str], Any]] = {
    "format": str,
    "orientation": _one_of("models_as_rows", "models_as_columns"),
    "metric": _list,
    "filter": _list,
    "subtask": str,
    "missing": _one_of("keep", "reject", "zero"),
    "model": str,
    "ignore": _list,
    "frequency": str,
    "ids": _one_of("given", "row_number"),
    "unmatched": _one_of("refuse", "keep"),
    "scale": _scale,
    "mapping": _mapping,
}

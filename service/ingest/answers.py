"""Converts values in logs to numbers, and collects answers one by one into a block."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np

from service.ingest import scores
from service.ingest.options import Options
from service.ingest.records import Block, Floats
from service.ingest.upload import ERRORED, NOT_RUN, SCORED, UNSCORED

__all__ = ["ERRORED", "NOT_RUN", "SCORED", "UNSCORED", "Answers", "is_scalar", "number", "right_choice"]

_BLANK = frozenset({"", "na", "n/a", "nan", "none", "null"})


def is_scalar(value: object) -> bool:
    """Whether a metric's value could be one example's score."""
    if isinstance(value, str):
        return scores.is_number(value) or value.lower() in ("true", "false", "nan")
    return value is None or isinstance(value, float | int)


def number(value: object, options: Options) -> float:
    """A log's value as a number: NaN for a missing value, infinity for anything that is not a number.

    Infinity is outside every range of scores, so the cell is refused with its place.
    """
    if isinstance(value, str):
        if value in options.mapping:
            mapped = options.mapping[value]
            return math.nan if mapped is None else mapped
        lower = value.strip().lower()
        if lower in _BLANK:
            return math.nan
        if lower in ("true", "false"):
            return float(lower == "true")
        return float(value) if scores.is_number(value) else math.inf
    if value is None:
        return math.nan
    return float(value) if isinstance(value, bool | int | float) else math.inf


def right_choice(logprobs: Sequence[float], right: Sequence[int]) -> float:
    """Probability of the right choices, from the log-probabilities of all choices; NaN if undefined."""
    top = max(logprobs, default=math.nan)
    if not math.isfinite(top) or not right or any(not 0 <= k < len(logprobs) for k in right):
        return math.nan
    weights = [math.exp(value - top) for value in logprobs]
    return sum(weights[k] for k in set(right)) / sum(weights)


class Answers:
    """Collects answers and builds a block of them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.hashes: list[str] = []
        self.native: list[str] = []
        self.subtasks: list[str] = []
        self._values = array("d")
        self._states = array("B")
        self._rows = array("q")
        self._repeats = array("q")
        self._confidences = array("d")

    def __len__(self) -> int:
        return len(self.names)

    def add(
        self,
        name: str,
        value: float,
        row: int,
        *,
        state: int | None = None,
        repeat: int = 0,
        confidence: float = math.nan,
    ) -> None:
        """Add one answer; by default it counts as scored unless its value is NaN."""
        self.names.append(name)
        self._values.append(value)
        self._states.append((UNSCORED if value != value else SCORED) if state is None else state)
        self._rows.append(row)
        self._repeats.append(repeat)
        self._confidences.append(confidence)

    def extend(
        self, names: Sequence[str], values: array[float], rows: array[int], confidences: Floats
    ) -> None:
        """Add one first answer per name; NaN counts as unscored."""
        scores = np.array(values)
        self.names.extend(names)
        self._values.extend(values)
        self._states.frombytes(np.where(np.isnan(scores), UNSCORED, SCORED).astype(np.uint8).tobytes())
        self._rows.extend(rows)
        self._repeats.frombytes(bytes(8 * len(names)))
        self._confidences.frombytes(confidences.tobytes())

    def block(self, model: str, source: str, *, task: str = "", unit: str = "record") -> Block:
        """A block of all answers added so far."""
        rows = np.array(self._rows, dtype=np.int64)
        repeats = np.array(self._repeats, dtype=np.int64)
        confidences = np.array(self._confidences)
        return Block(
            model=model,
            source=source,
            names=self.names,
            values=np.array(self._values),
            place=lambda i: f"{source}, {unit} {rows[i]}",
            states=np.array(self._states, dtype=np.uint8),
            repeats=repeats if repeats.any() else None,
            subtasks=self.subtasks or task or None,
            hashes=self.hashes if len(self.hashes) == len(self.names) else None,
            confidences=None if np.isnan(confidences).all() else confidences,
            task=task,
            native=self.native or None,
        )

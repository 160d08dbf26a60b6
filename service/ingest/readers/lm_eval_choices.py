"""Computes the probability of the right choice in lm-eval's multiple-choice records."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service.ingest import documents
from service.ingest.documents import Record
from service.ingest.records import Floats


class Choices:
    """Log-probabilities of all choices of many records, concatenated.

    A multiple-choice record has one [log-probability, is greedy] per choice in `filtered_resps`, as
    numbers or, since 0.4.3, as text. Only numbers are stored, so that the garbage collector has few
    objects to visit.
    """

    def __init__(self) -> None:
        self._values = array("d")
        self._ends = array("q")
        self._right = array("q")

    def add(self, record: Record) -> None:
        """Add one record, of multiple choice or not."""
        responses = record.get("filtered_resps")
        right = -1
        if type(responses) is list and len(responses) > 1 and type(responses[0]) is list:
            try:
                logprobs = [float(logprob) for logprob, _ in responses]
            except (TypeError, ValueError, OverflowError):
                logprobs = []
            right = _right(record, logprobs)
            if 0 <= right < len(logprobs):
                self._values.extend(logprobs)
        self._ends.append(len(self._values))
        self._right.append(right)

    def confidences(self) -> Floats:
        """Probability of each record's right choice; NaN where it has no choices."""
        values, ends = np.array(self._values), np.array(self._ends, dtype=np.int64)
        counts = np.diff(ends, prepend=0)
        right = np.array(self._right, dtype=np.int64)
        found = np.full(len(ends), np.nan)
        for count in np.unique(counts[counts > 0]).tolist():
            rows = np.flatnonzero(counts == count)
            found[rows] = _softmax(values[ends[rows, None] - count + np.arange(count)], right[rows])
        return found


def _softmax(logprobs: Floats, right: NDArray[np.int64]) -> Floats:
    top = logprobs.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        weights = np.exp(logprobs - top)
    share = weights[np.arange(len(weights)), right] / weights.sum(axis=1)
    return np.where(np.isfinite(top[:, 0]), share, np.nan)


def _right(record: Record, logprobs: Sequence[float]) -> int:
    """Index of the right choice: from the target, from its text, or from what acc implies; −1 if unknown."""
    target = record.get("target", record.get("truth"))
    if type(target) is not str:
        target = str(target)
    if target.isdecimal() and target.isascii() and len(target) < 4:
        return int(target)
    target = target.strip()
    texts = _continuations(record.get("arguments"))
    same = [k for k, text in enumerate(texts) if text == target]
    if len(same) == 1 and len(texts) == len(logprobs):
        return same[0]
    acc = record.get("acc")
    best = max(range(len(logprobs)), key=logprobs.__getitem__, default=-1)
    if acc == 1:
        return best
    return 1 - best if acc == 0 and len(logprobs) == 2 else -1


def _continuations(arguments: object) -> list[str]:
    if isinstance(arguments, dict):
        arguments = [list(documents.mapping(value).values()) for value in arguments.values()]
    pairs = documents.sequence(arguments)
    return [str(pair[1]).strip() for pair in pairs if isinstance(pair, list) and len(pair) > 1]

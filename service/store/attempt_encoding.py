"""Encodes the attempts of one model as bytes: numbers and outcomes as they are, 0/1 scores as bits."""

from __future__ import annotations

import numpy as np

from service.engine.data.attempts import ModelAttempts

_ORDERED, _BINARY = 1, 2


def raw(attempts: ModelAttempts) -> bytes:
    """The bytes, not compressed: flags, number of attempts at each example, outcomes, scores."""
    binary = attempts.values.dtype == np.uint8
    scores = np.packbits(attempts.values != 0) if binary else attempts.values.astype("<f8")
    return b"".join(
        (
            bytes([_ORDERED * attempts.ordered + _BINARY * binary]),
            attempts.counts.astype("<u2").tobytes(),
            attempts.outcomes.tobytes(),
            scores.tobytes(),
        )
    )


def from_raw(data: bytes, n_examples: int) -> ModelAttempts:
    """Undo `raw`; for bytes this service wrote."""
    counts = np.frombuffer(data, "<u2", n_examples, offset=1).astype(np.uint16)
    total, start = int(counts.sum()), 1 + 2 * n_examples
    outcomes = np.frombuffer(data, np.uint8, total, offset=start)
    rest = memoryview(data)[start + total :]
    if data[0] & _BINARY:
        return ModelAttempts(
            counts,
            np.unpackbits(np.frombuffer(rest, np.uint8), count=total),
            outcomes,
            ordered=bool(data[0] & _ORDERED),
        )
    return ModelAttempts(
        counts, np.frombuffer(rest, "<f8").astype(np.float64), outcomes, ordered=bool(data[0] & _ORDERED)
    )

"""What trials produce: estimated and true scores of targets, as arrays and as bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True, eq=False)
class Estimates:
    """Scores of R trials on U units (the benchmark, or it and each subtask).

    Attributes
    ----------
    sizes : tuple of int
    labels : tuple of str
        Of the methods that ran.
    targets : ndarray of int32, shape (R, T)
        Rows of the matrix, ascending in each trial.
    same, new : ndarray of float64, shape (U, R, T)
        Sums of the targets' scores over the selection part and over the held-out
        part; whole numbers where scores are 0/1.
    scores : ndarray of float64, shape (U, E, S, R, T)
        Estimated score by entry (method × number of sources) and size; NaN where
        the entry was skipped or the size does not fit the unit.
    overlap : ndarray of float64, shape (U, E, S, R)
        Jaccard index of the chosen set with that of a refit; NaN where not refitted.
    covered : ndarray of float64, shape (E, S, R)
        Share of the targets whose full score lies in the 90 % interval that `/scores` serves; NaN
        where it was not looked at.
    skipped : dict
        (unit, entry, size position) → why the method could not work.
    """

    sizes: tuple[int, ...]
    labels: tuple[str, ...]
    targets: NDArray[np.int32]
    same: NDArray[np.float64]
    new: NDArray[np.float64]
    scores: NDArray[np.float64]
    overlap: NDArray[np.float64]
    covered: NDArray[np.float64]
    skipped: dict[tuple[int, int, int], str] = field(default_factory=dict)

    @classmethod
    def empty(
        cls, units: int, entries: int, sizes: tuple[int, ...], labels: tuple[str, ...], shape: tuple[int, int]
    ) -> Estimates:
        """Room for the results of R trials with T targets, nothing in it."""
        trials, targets = shape
        return cls(
            sizes,
            labels,
            targets=np.zeros((trials, targets), dtype=np.int32),
            same=np.zeros((units, trials, targets)),
            new=np.zeros((units, trials, targets)),
            scores=np.full((units, entries, len(sizes), trials, targets), np.nan),
            overlap=np.full((units, entries, len(sizes), trials), np.nan),
            covered=np.full((entries, len(sizes), trials), np.nan),
        )

    def to_bytes(self) -> bytes:
        """An NPZ without pickled objects; equal estimates give equal bytes."""
        buffer = io.BytesIO()
        reasons = json.dumps([[*key, reason] for key, reason in sorted(self.skipped.items())])
        np.savez(
            buffer,
            sizes=np.array(self.sizes, dtype=np.int64),
            labels=np.frombuffer(json.dumps(self.labels).encode(), dtype=np.uint8),
            targets=self.targets,
            same=self.same,
            new=self.new,
            scores=self.scores,
            overlap=self.overlap,
            covered=self.covered,
            skipped=np.frombuffer(reasons.encode(), dtype=np.uint8),
        )
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, blob: bytes) -> Estimates:
        """Read what `to_bytes` wrote."""
        with np.load(io.BytesIO(blob), allow_pickle=False) as arrays:
            reasons = json.loads(arrays["skipped"].tobytes())
            return cls(
                sizes=tuple(arrays["sizes"].tolist()),
                labels=tuple(json.loads(arrays["labels"].tobytes())),
                targets=arrays["targets"],
                same=arrays["same"],
                new=arrays["new"],
                scores=arrays["scores"],
                overlap=arrays["overlap"],
                covered=arrays["covered"],
                skipped={(unit, entry, size): reason for unit, entry, size, reason in reasons},
            )

    @classmethod
    def joined(cls, parts: Sequence[Estimates]) -> Estimates:
        """The trials of several parts with the same sizes and methods, in the order of the parts."""
        skipped: dict[tuple[int, int, int], str] = {}
        for part in reversed(parts):
            skipped.update(part.skipped)
        return cls(
            sizes=parts[0].sizes,
            labels=parts[0].labels,
            targets=np.concatenate([p.targets for p in parts]),
            same=np.concatenate([p.same for p in parts], axis=1),
            new=np.concatenate([p.new for p in parts], axis=1),
            scores=np.concatenate([p.scores for p in parts], axis=3),
            overlap=np.concatenate([p.overlap for p in parts], axis=3),
            covered=np.concatenate([p.covered for p in parts], axis=2),
            skipped=skipped,
        )

"""A first look at a matrix: what in it may mislead whoever draws conclusions from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from service.engine.matrix import Matrix
from service.ingest.faults import listed, quoted

FALSE_ALARMS = 0.05
"""Share of the examples called mislabelled that may be so by chance alone (Benjamini–Hochberg)."""

COVERAGE = 0.5
_FEWEST_MODELS = 8
_BLOCK = 1_000
_FLAT = 1e-11
"""Variances below this share of the second moment are rounding."""


def warnings(matrix: Matrix, hashes: Sequence[str | None] | None) -> list[str]:
    """Everything worth telling, one sentence each."""
    return [
        *_constant(matrix),
        *_identical(matrix),
        *_mislabelled(matrix),
        *_repeated(matrix, hashes),
        *_coverage(matrix),
    ]


def _constant(matrix: Matrix) -> Iterator[str]:
    constant = np.flatnonzero(matrix.constant) if len(matrix.models) > 1 else np.zeros(0, dtype=int)
    if constant.size:
        shown = listed([matrix.examples[j] for j in constant.tolist()], 3)
        yield (
            f"examples with one and the same score for all models: {constant.size} of {len(matrix.examples)} "
            f"({shown}); they tell no two models apart"
        )


def _identical(matrix: Matrix) -> Iterator[str]:
    gone = np.zeros((len(matrix.models), 0)) if matrix.missing is None else matrix.missing
    groups: dict[bytes, list[str]] = {}
    for i, model in enumerate(matrix.models):
        groups.setdefault(matrix.scores[i].tobytes() + gone[i].tobytes(), []).append(model)
    same = [group for group in groups.values() if len(group) > 1]
    if same:
        count = sum(len(group) - 1 for group in same)
        shown = "; ".join(" = ".join(quoted(name) for name in group[:3]) for group in same[:3])
        yield f"models with exactly the scores of another: {count} ({shown}); are they different models?"


def item_rest(matrix: Matrix) -> NDArray[np.float64]:
    """Correlation over models of each example's score with the mean of the model's others.

    Returns
    -------
    ndarray, shape (N,)
        NaN where it is undefined: an example or the rest constant over the models it was asked.
    """
    scores, width = matrix.scores, len(matrix.examples)
    there = None if matrix.missing is None else ~matrix.missing
    asked = np.full(len(scores), width) if there is None else there.sum(axis=1)
    others = np.maximum(asked - 1, 1)
    # The rest of cell (i, j) is a_i - b_i x_ij, so that every sum over models is a product.
    b = np.where(asked > 1, 1 / others, 0.0)
    a = b * matrix.sums
    found = np.empty(width)
    for start in range(0, width, _BLOCK):
        block = slice(start, start + _BLOCK)
        x = scores[:, block].astype(np.float64)
        p = None if there is None else there[:, block].astype(np.float64)
        found[block] = _correlations(x, x if matrix.binary else x * x, p, a, b)
    return found


def _correlations(
    x: NDArray[np.float64],
    xx: NDArray[np.float64],
    p: NDArray[np.float64] | None,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Column by column, of x with a - b x over the models where p is 1; x is 0 where p is."""
    one = np.ones_like(a)
    whole = np.stack([one, a, a * a])
    n, pa, paa = whole.sum(axis=1) if p is None else whole @ p
    sx, xa, xb, xab, *squares = np.stack([one, a, b, a * b, *([b * b] if xx is x else [])]) @ x
    sxx, xxb, xxbb = (sx, xb, *squares) if xx is x else np.stack([one, b, b * b]) @ xx
    sy, sxy, syy = pa - xb, xa - xxb, paa - 2 * xab + xxbb
    vx, vy = n * sxx - sx * sx, n * syy - sy * sy
    sound = (vx > _FLAT * n * sxx) & (vy > _FLAT * n * syy)
    size = np.sqrt(np.where(sound, vx * vy, 1.0))
    return np.where(sound, (n * sxy - sx * sy) / size, np.nan)


def _mislabelled(matrix: Matrix) -> Iterator[str]:
    if len(matrix.models) < _FEWEST_MODELS or len(matrix.examples) < 2:
        return
    correlation = item_rest(matrix)
    n = np.full(len(correlation), len(matrix.models))
    if matrix.missing is not None:
        n = (~matrix.missing).sum(axis=0)
    usable = np.isfinite(correlation) & (n > 2)
    r = np.clip(correlation[usable], -1 + 1e-12, 1 - 1e-12)
    against, freedom = r < 0, n[usable] - 2
    p = np.ones(len(r))  # of the others it is above one half, and never below a threshold
    p[against] = stats.t.cdf((r * np.sqrt(freedom / (1 - r**2)))[against], freedom[against])
    order = np.argsort(p)
    passing = np.flatnonzero(p[order] <= FALSE_ALARMS * np.arange(1, len(p) + 1) / max(len(p), 1))
    if passing.size:
        flagged = np.flatnonzero(usable)[order[: passing[-1] + 1]]
        shown = listed([matrix.examples[j] for j in flagged.tolist()])
        yield (
            f"examples that go against the rest: {flagged.size} (negative item–rest correlation: {shown}); "
            "better models fail them, so their labels may be wrong"
        )


def _repeated(matrix: Matrix, hashes: Sequence[str | None] | None) -> Iterator[str]:
    known = [h for h in hashes or () if h is not None]
    again = len(known) - len(set(known))
    if again:
        yield f"examples with the content of another under another id: {again} of {len(matrix.examples)}"


def _coverage(matrix: Matrix) -> Iterator[str]:
    if matrix.missing is None:
        return
    share = 1 - matrix.missing.mean(axis=1)
    low = [matrix.models[i] for i in np.flatnonzero(share < COVERAGE).tolist()]
    if low:
        yield (
            f"models with scores on less than half of the examples: {listed(low)}; "
            "comparisons with them rest on what they share"
        )

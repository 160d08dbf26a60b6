"""What is left unknown, one answer after another, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import DTypeLike

from service.engine.prediction.covariance import Covariance
from service.engine.prediction.posterior import Posteriors


def removed(c: Covariance, seen: list[int], j: int) -> float:
    """Share of the full score's variance given `seen` that the answer to j removes."""
    factor = c.factor.astype(np.float64)
    sigma = factor @ factor.T + np.diag(c.noise)

    def left(chosen: list[int]) -> float:
        full = sigma.mean(axis=1)
        known = full[chosen] @ np.linalg.solve(sigma[np.ix_(chosen, chosen)], full[chosen])
        return float(full.mean() - known)

    return 1 - left([*seen, j]) / left(seen)


@pytest.mark.parametrize("rank", [3, 40], ids=["kept by factors", "kept by examples"])
@pytest.mark.parametrize(("dtype", "within"), [(np.float64, 1e-8), (np.float32, 1e-4)])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1 << 20), together=st.integers(1, 4))
def test_worth_is_the_share_of_variance_an_answer_removes(
    rank: int, dtype: DTypeLike, within: float, seed: int, together: int
) -> None:
    rng = np.random.default_rng(seed)
    factor = (rng.normal(size=(15, rank)) / np.sqrt(rank)).astype(dtype)
    known = Covariance(np.full(15, 0.5), factor, rng.uniform(0.05, 1, 15), 0.5)
    other = Covariance(np.full(15, 0.5), factor[:, :2], rng.uniform(0.05, 1, 15), 0.5)
    order, posteriors = rng.permutation(15).tolist(), Posteriors([known, other])
    for at in range(0, 12, together):
        seen, rest = order[:at], order[at:]
        for c, worth in zip((known, other), posteriors.worth(), strict=True):
            expected = [removed(c, seen, j) for j in rest]
            assert worth[rest] == pytest.approx(expected, rel=within, abs=within)
        posteriors.take(np.array(rest[:together]))

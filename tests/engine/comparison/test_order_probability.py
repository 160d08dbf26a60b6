import gzip

import numpy as np
import pytest
from scipy import special

from service.engine.comparison.order_probability import (
    normal_order_probability,
    order_probability,
    prior_from_pairs,
)


def brute_force(gain, loss, n, total, prior):
    """Both Beta–binomial steps summed one outcome at a time."""
    left, told, found = total - n, gain + loss, 0.0
    for unseen in range(left + 1):
        log = special.betaln(unseen + told + 0.5, left - unseen + n - told + 0.5)
        log -= special.betaln(told + 0.5, n - told + 0.5)
        chance = special.comb(left, unseen) * np.exp(log)
        for won in range(unseen + 1):
            log = special.betaln(won + gain + prior, unseen - won + loss + prior)
            split = special.comb(unseen, won) * np.exp(log - special.betaln(gain + prior, loss + prior))
            lead = gain + won - (loss + unseen - won)
            found += chance * split * (1.0 if lead > 0 else 0.5 if lead == 0 else 0.0)
    return found


@pytest.mark.parametrize(
    ("gain", "loss", "n", "total", "prior"),
    [
        (5, 2, 10, 30, 0.5),
        (3, 3, 10, 40, 0.5),
        (1, 0, 5, 25, 4.0),
        (12, 4, 30, 60, 26.0),
        (0, 0, 10, 20, 0.5),
    ],
)
def test_it_is_the_double_sum(gain, loss, n, total, prior):
    found = order_probability(gain, loss, n, total, prior)
    assert found == pytest.approx(brute_force(gain, loss, n, total, prior), abs=3e-3)
    assert order_probability(loss, gain, n, total, prior) == found


def test_laws():
    assert order_probability(7, 3, 50, 50) == 1.0
    assert order_probability(3, 3, 50, 50) == 0.5
    assert order_probability(3, 3, 25, 50) == pytest.approx(0.5)
    surer = [order_probability(10, 5, n, 100) for n in (30, 60, 90, 99)]
    assert surer == sorted(surer)
    assert order_probability(10, 5, 99, 100) == 1.0


def test_no_example_left_that_could_turn_it():
    assert order_probability(6, 0, 95, 100) == pytest.approx(1.0)


def test_the_prior_is_found_again_from_pairs_drawn_with_it():
    rng = np.random.default_rng(0)
    told = rng.integers(50, 200, 20_000)
    gains = rng.binomial(told, rng.beta(20, 20, 20_000))
    assert prior_from_pairs(gains, told - gains) == pytest.approx(20, rel=0.05)


def test_without_discordant_examples_nothing_is_learnt():
    assert prior_from_pairs(np.zeros(5, dtype=int), np.zeros(5, dtype=int)) == 0.5


def test_the_normal_one_shrinks_towards_not_knowing():
    assert normal_order_probability(0.0, 0.1, None) == 0.5
    assert normal_order_probability(-0.1, 0.1, None) == pytest.approx(special.ndtr(1))
    assert normal_order_probability(0.1, 0.1, 0.1) == pytest.approx(special.ndtr(0.5**0.5))
    assert normal_order_probability(0.1, 0.0, None) == 1.0


@pytest.mark.shared
def test_on_gpqa_what_it_says_comes_true(shared):
    """Known pairs give the prior; said and seen are within 3 points in each band."""
    with gzip.open(shared / "data/gpqa/correctness.csv.gz", "rt") as lines:
        scores = np.loadtxt(lines, delimiter=",", skiprows=1, usecols=range(1, 449), dtype=np.int64)
    ahead = scores @ (1 - scores).T
    known = np.triu_indices(210, 1)
    prior = prior_from_pairs(ahead[known], ahead.T[known])
    rng, said, seen = np.random.default_rng(1), [], []
    while len(said) < 500:
        first, second = 210 + rng.choice(210, 2, replace=False)
        drawn = rng.choice(448, 100, replace=False)
        gain = int((scores[first, drawn] > scores[second, drawn]).sum())
        loss = int((scores[first, drawn] < scores[second, drawn]).sum())
        gap = ahead[first, second] - ahead[second, first]
        if gap and gain != loss:
            said.append(order_probability(gain, loss, 100, 448, prior))
            seen.append((gap > 0) == (gain > loss))
    said, seen = np.array(said), np.array(seen)
    for low, high in ((0.5, 0.75), (0.75, 0.9), (0.9, 1.01)):
        band = (said >= low) & (said < high)
        error = np.sqrt(0.25 / band.sum())
        assert abs(said[band].mean() - seen[band].mean()) < 0.03 + 2 * error

"""Pairs of models: enumeration, sampling, bins from whole numbers, discordant counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.engine.data.pairs import Truth, choose_pairs, discordant, signs, unrank


@pytest.mark.parametrize("models", [2, 3, 7, 50])
def test_places_number_the_upper_triangle_row_by_row(models: int) -> None:
    first, second = unrank(np.arange(models * (models - 1) // 2), models)
    rows, columns = np.triu_indices(models, 1)
    assert (first == rows).all()
    assert (second == columns).all()


@given(st.integers(2, 100_000), st.data())
def test_places_in_a_large_triangle(models: int, data: st.DataObject) -> None:
    code = data.draw(st.integers(0, models * (models - 1) // 2 - 1))
    first, second = (int(side[0]) for side in unrank(np.array([code]), models))
    assert 0 <= first < second < models
    assert first * (2 * models - 1 - first) // 2 + second - first - 1 == code


def test_all_pairs_of_every_trial() -> None:
    pairs = choose_pairs(5, 3, 1000, np.random.default_rng(0))
    assert len(pairs.first) == pairs.possible == 30
    assert not pairs.sampled
    assert np.bincount(pairs.trial).tolist() == [10, 10, 10]


def test_too_many_pairs_are_sampled_distinct_and_equally_by_trial() -> None:
    pairs = choose_pairs(1000, 4, 2000, np.random.default_rng(0))
    assert pairs.sampled
    assert pairs.possible == 4 * 499_500
    assert np.bincount(pairs.trial).tolist() == [500] * 4
    for trial in range(4):
        here = pairs.trial == trial
        assert len({*zip(pairs.first[here].tolist(), pairs.second[here].tolist(), strict=True)}) == 500


def test_bins_of_counts_are_exact() -> None:
    # floor(0.145 · 200) is 28 in floating point; so it is at 29, 57, 58 and 113 … 116 half points.
    halves = np.arange(201)
    truth = Truth.of(halves.astype(float), 200, counts=True)
    assert truth.bin.tolist() == halves.tolist()
    assert Truth.of(np.array([145.0]), 1000, counts=True).bin[0] == 29
    assert Truth.of(np.array([144.0]), 1000, counts=True).bin[0] == 28


def test_bins_of_graded_scores_survive_rounding() -> None:
    halves = np.arange(201)
    truth = Truth.of(halves * 0.005 * 40, 40, counts=False)
    assert truth.bin.tolist() == halves.tolist()


def test_equal_models_have_no_order() -> None:
    truth = Truth.of(np.array([0.0, 1e-14, -3.0, 2.0]), 10, counts=False)
    assert truth.sign.tolist() == [0, 0, -1, 1]
    assert truth.largest == 0.3


def test_estimates_tie_within_rounding_only() -> None:
    assert signs(np.array([1e-13, -1e-13, 1e-11, -1e-11, 0.0])).tolist() == [0, 0, 1, -1, 0]


@pytest.mark.parametrize("examples", [1, 7, 8, 64, 65, 200])
def test_discordant_examples_are_counted(examples: int) -> None:
    rng = np.random.default_rng(examples)
    scores = rng.integers(0, 2, size=(6, examples)).astype(np.uint8)
    first, second = np.triu_indices(6, 1)
    better, worse = discordant(scores, first, second)
    for at, (i, j) in enumerate(zip(first, second, strict=True)):
        only = sorted([int((scores[i] > scores[j]).sum()), int((scores[j] > scores[i]).sum())])
        assert [worse[at], better[at]] == only

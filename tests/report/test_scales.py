"""Scales meet their ends; ticks are round; labels keep apart."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.report.scales import Scale, ceiling, spread, ticks


def test_a_logarithmic_scale_spaces_ratios_evenly() -> None:
    scale = Scale(1, 100, 0, 200, logarithmic=True)
    assert [scale(v) for v in (1, 10, 100)] == pytest.approx([0, 100, 200])


def test_values_beyond_the_ends_are_drawn_at_the_ends() -> None:
    scale = Scale(0, 1, 50, 10)
    assert (scale(-1), scale(0.5), scale(2)) == (50, 30, 10)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.31, 0.98, [0.4, 0.6, 0.8]),
        (0, 0.05, [0, 0.01, 0.02, 0.03, 0.04, 0.05]),
        (3, 3, [3]),
    ],
)
def test_ticks_are_round_and_within(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(("value", "top"), [(0.083, 0.1), (0.1, 0.1), (0.11, 0.125), (37, 40), (0, 1)])
def test_ceilings_are_round(value: float, top: float) -> None:
    assert ceiling(value) == pytest.approx(top)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30), st.floats(0.5, 30))
def test_labels_keep_their_order_and_their_distance(wanted: list[float], gap: float) -> None:
    places = spread(wanted, gap, 0, 100)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    in_order = [places[at] for at in order]
    least = min(gap, 100 / max(len(wanted) - 1, 1))
    assert all(b - a >= least - 1e-6 for a, b in itertools.pairwise(in_order))
    assert -1e-6 <= min(places) <= max(places) <= 100 + 1e-6

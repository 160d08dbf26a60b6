"""Colours that can be seen on both backgrounds, and looks that need no colour (WCAG 2.2)."""

from __future__ import annotations

import pytest

from service.report.theme import COLOURS, DARK, LIGHT, look

SERIES = [f"s{at}" for at in range(COLOURS)]
TEXT = ["ink", "soft", "accent", "good", "bad", "warn"]


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_has_a_contrast_of_at_least_four_and_a_half(palette: dict[str, str]) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    low = {(n, b) for n in TEXT for b in ("paper", "wash") if contrast(palette[n], palette[b]) < 4.5}
    assert low == set()


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_lines_have_a_contrast_of_at_least_three(palette: dict[str, str]) -> None:
    assert {name for name in SERIES if contrast(palette[name], palette["paper"]) < 3} == set()


def test_as_many_methods_as_a_request_may_name_differ_without_colour() -> None:
    assert len({(look(at).mark, look(at).dash) for at in range(50)}) == 50

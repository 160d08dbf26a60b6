"""The page on optimal_design is of these variants, and each of them works."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.methods_table.judge import agreement
from benchmarks.methods_table.variants import VARIANTS
from tests.engine.selection.sources import simulated, source

PAGE = Path(__file__).parents[2] / "docs" / "methods.md"


def test_the_page_has_a_row_for_every_variant():
    rows = [line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text().splitlines()]
    assert [row for row in rows if row in VARIANTS] == list(VARIANTS)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_chooses_and_estimates(name):
    scores = simulated(60, 120, seed=1, dimensions=1)
    fitted = VARIANTS[name](source(scores[:30]), np.random.default_rng(0))
    answers = scores[30:].astype(np.float64)

    chosen = fitted.choose(40)
    estimates = fitted.estimate(chosen, answers[:, chosen])

    assert len(set(chosen.tolist())) == 40
    assert agreement(answers.mean(axis=1), estimates) > 0.7


def test_agreement_gives_half_for_a_tie_and_leaves_equal_truths_out():
    assert agreement(np.array([0.1, 0.2, 0.2]), np.array([0.5, 0.5, 0.7])) == pytest.approx(0.75)

"""Groups of near copies: found where they are, and not where scores explain the agreement."""

from __future__ import annotations

import numpy as np

from service.engine.prediction.near_copies import copy_groups, representatives
from tests.engine.prediction.populations import answers_of


def test_copies_with_a_few_cells_changed_are_one_group() -> None:
    models = answers_of(np.linspace(-1, 1, 6), 300, seed=1)
    copies = np.repeat(models, 7, axis=0)
    changed = np.random.default_rng(1).random(copies.shape) < 0.03

    groups = copy_groups(np.where(changed, 1 - copies, copies))

    np.testing.assert_array_equal(groups, np.repeat(np.arange(6), 7))


def test_models_that_only_have_equal_scores_are_not_copies() -> None:
    scores = answers_of(np.zeros(30), 300, seed=2)

    assert len(set(copy_groups(scores).tolist())) == 30


def test_models_that_fail_everything_are_not_copies_of_each_other() -> None:
    scores = answers_of(np.linspace(-1, 1, 20), 200, seed=3)
    scores[:5] = 0

    assert len(set(copy_groups(scores).tolist())) == 20


def test_a_group_is_represented_by_one_of_its_models() -> None:
    scores = answers_of(np.linspace(-1, 1, 10), 200, seed=4)
    scores[3] = scores[7] = scores[9]

    kept = representatives(scores)

    assert len(kept) == 8
    assert len({3, 7, 9} & set(kept.tolist())) == 1

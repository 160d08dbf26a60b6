"""The bundled sample is small, spread out, and what its script makes."""

import numpy as np
import pytest

from service.engine.data.matrix import Matrix
from tools.make_sample import OUTPUT, Digits, answer, models


@pytest.fixture(scope="module")
def sample():
    with np.load(OUTPUT, allow_pickle=False) as arrays:
        return dict(arrays)


def test_shapes_fit_and_the_file_is_small(sample):
    m, n = sample["scores"].shape

    assert m >= 80
    assert n >= 1000
    assert sample["models"].shape == (m,)
    assert sample["confidences"].shape == (m, n)
    assert sample["embeddings"].shape == (n, 64)
    assert sample["subtasks"].shape == sample["examples"].shape == (n,)
    assert OUTPUT.stat().st_size < 1_000_000


def test_it_is_a_matrix_with_everything(sample):
    matrix = Matrix.build(
        sample["models"],
        sample["examples"],
        sample["scores"],
        subtasks=sample["subtasks"],
        confidences=sample["confidences"],
        embeddings=sample["embeddings"],
    )

    assert matrix.binary
    assert matrix.missing_cells == 0
    assert matrix.subtasks == tuple(f"digit-{d}" for d in range(10))
    assert matrix.confidences.min() >= 0
    assert matrix.confidences.max() <= 1


def test_models_spread_from_poor_to_near_the_top_with_many_close_pairs(sample):
    accuracy = sample["scores"].mean(axis=1)
    gaps = np.abs(np.subtract.outer(accuracy, accuracy))[np.triu_indices(len(accuracy), 1)]

    assert accuracy.min() < 0.5
    assert accuracy.max() > 0.97
    assert (gaps < 0.02).mean() > 0.1
    assert len(np.unique(sample["scores"], axis=0)) == len(accuracy)


def test_subtasks_are_the_digits_and_embeddings_their_pixels(sample):
    digits = Digits.load()

    assert sample["subtasks"].tolist() == [f"digit-{d}" for d in digits.labels]
    assert np.array_equal(sample["embeddings"], digits.asked)


@pytest.mark.parametrize("name", ["knn-k3-train200", "lda-train597", "tree-depth3-train300"])
def test_rows_are_what_the_script_makes(sample, name):
    chosen, digits = models(), Digits.load()

    correct, confidence = answer(*chosen[name], digits)

    row = list(chosen).index(name)
    assert sample["models"].tolist() == list(chosen)
    assert np.array_equal(sample["scores"][row], correct)
    np.testing.assert_allclose(sample["confidences"][row], confidence, atol=1e-3)

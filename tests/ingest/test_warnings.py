"""The first look at a matrix, against values counted by hand and brute force."""

from __future__ import annotations

import numpy as np

from service.engine.data.matrix import Matrix
from service.ingest import warnings


def build(scores: object, missing: object = None) -> Matrix:
    array = np.asarray(scores, dtype=float)
    return Matrix.build(
        [f"m{i:03}" for i in range(array.shape[0])],
        [f"q{j:03}" for j in range(array.shape[1])],
        array,
        missing=None if missing is None else np.asarray(missing, dtype=bool),
    )


def spread(
    rng: np.random.Generator, models: int = 40, examples: int = 60
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    ability = np.linspace(-2, 2, models)[:, None]
    return (rng.random((models, examples)) < 1 / (1 + np.exp(-2 * ability))).astype(float)


def test_clean_data_says_nothing() -> None:
    assert warnings.warnings(build(spread(np.random.default_rng(1))), None) == []


def test_constant_examples() -> None:
    scores = spread(np.random.default_rng(1))
    scores[:, 3], scores[:, 5] = 1, 0
    (text,) = warnings.warnings(build(scores), None)
    assert text.startswith("examples with the same score for all models: 2 of 60 ('q003', 'q005')")
    assert warnings.warnings(build(scores[:1]), None) == []


def test_identical_models() -> None:
    scores = spread(np.random.default_rng(1))
    scores[7] = scores[2]
    scores[9] = scores[2]
    (text,) = warnings.warnings(build(scores), None)
    assert text.startswith("models with exactly the scores of another: 2 ('m002' = 'm007' = 'm009')")


def test_mislabelled_examples() -> None:
    scores = spread(np.random.default_rng(1))
    scores[:, 11] = 1 - scores[:, 11]
    (text,) = warnings.warnings(build(scores), None)
    assert text.startswith("examples with a negative item–rest correlation: 1 ('q011')")


def test_noise_is_not_called_mislabelled() -> None:
    alarms = sum(
        bool(warnings.warnings(build(np.random.default_rng(s).integers(0, 2, (50, 200))), None))
        for s in range(40)
    )
    assert alarms <= 6


def test_coverage_and_repeated_content() -> None:
    scores = spread(np.random.default_rng(1))
    missing = np.zeros(scores.shape, dtype=bool)
    missing[4, :31] = True
    missing[5, :30] = True
    texts = warnings.warnings(build(scores, missing), ["h"] * 3 + [f"h{i}" for i in range(57)])
    assert "examples with the same content as another example, under a different id: 2 of 60" in texts
    assert any("less than half of the examples: 'm004';" in text for text in texts)

import numpy as np
import pytest

from service.engine.numerics import svd


@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (7, 7)])
@pytest.mark.parametrize("lanczos", [False, True])
def test_the_leading_part_is_that_of_the_full_decomposition(
    shape: tuple[int, int], lanczos: bool, monkeypatch: pytest.MonkeyPatch
):
    if lanczos:
        monkeypatch.setattr(svd, "_SMALL_SIDE", 1)
    matrix = np.random.default_rng(0).normal(size=shape)
    left, values, right = svd.leading_triplets(matrix, 3)
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    assert values == pytest.approx(s[:3])
    assert (left * values) @ right.T == pytest.approx((u[:, :3] * s[:3]) @ vt[:3])


def test_vectors_without_a_value_are_zero():
    matrix = np.outer(np.arange(1.0, 6), np.ones(3))
    left, values, _ = svd.leading_triplets(matrix, 3)
    assert values == pytest.approx([np.linalg.norm(matrix), 0, 0])
    assert (left[:, 1:] == 0).all()

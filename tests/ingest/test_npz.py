"""NPZ archives: the arrays, and what is never unpickled or allocated."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from service.core.errors import InvalidUpload, TooLarge
from service.ingest import Limits
from tests.ingest.helpers import load, npz, refused

MODELS = np.array(["b", "a"])
EXAMPLES = np.array(["q2", "q1", "q3"])
SCORES = np.array([[1, 0, 1], [0, 0, 1]], dtype=np.uint8)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float32, np.float64])
def test_dtypes_and_layouts(dtype: type) -> None:
    for scores in (SCORES.astype(dtype), np.asfortranarray(SCORES.astype(dtype))):
        matrix = load(npz(models=MODELS, examples=EXAMPLES, scores=scores)).matrix
        assert matrix.scores.tolist() == [[0, 0, 1], [0, 1, 1]]
        assert matrix.binary


def test_everything_beside_the_scores() -> None:
    matrix = load(
        npz(
            models=MODELS,
            examples=EXAMPLES,
            scores=np.array([[1, np.nan, 1], [0, 0, 1]]),
            subtasks=np.array(["y", "x", "y"]),
            confidences=np.array([[0.5, np.nan, 0.5], [0, 0.25, 1]], dtype=np.float32),
            embeddings=np.arange(6.0).reshape(3, 2),
        )
    ).matrix
    assert matrix.missing_cells == 1
    assert matrix.subtasks == ("x", "y")
    assert matrix.confidences is not None
    assert matrix.confidences.tolist() == [[0.25, 0, 1], [0, 0.5, 0.5]]
    assert matrix.embeddings is not None
    assert matrix.embeddings.tolist() == [[2, 3], [0, 1], [4, 5]]


def test_other_names_for_the_arrays_and_bytes_for_ids() -> None:
    data = npz(models=np.array([b"b", b"a"]), items=np.array([2, 1, 3]), responses=SCORES)
    assert load(data).matrix.examples == ("1", "2", "3")


@pytest.mark.parametrize(
    ("arrays", "needles"),
    [
        ({"scores": SCORES.astype(object)}, ["never unpickles"]),
        ({"models": MODELS.astype(object)}, ["never unpickles"]),
        ({"scores": SCORES.T}, ["(3, 2)", "transpose it"]),
        ({"scores": SCORES[:1]}, ["shape (1, 3)"]),
        ({"scores": SCORES.astype(np.complex64)}, ["dtype complex64"]),
        ({"scores": SCORES * 255}, ["scores[0, 0]: score 255", "mapping=255:missing"]),
        ({"scores": np.full((2, 3), np.inf)}, ["score inf"]),
        ({"models": np.array(["a", "a"])}, ["model 'a' occurs twice", "models[0] and models[1]"]),
        ({"models": np.array([1.0, 2.0])}, ["whole numbers"]),
        ({"models": np.array([b"\xff", b"a"])}, ["not UTF-8"]),
        ({"colour": SCORES}, ["'colour'"]),
    ],
)
def test_refusals(arrays: dict[str, object], needles: list[str]) -> None:
    data = npz(**{"models": MODELS, "examples": EXAMPLES, "scores": SCORES, **arrays})
    refused(data, *needles, kind=InvalidUpload)


def test_missing_array_and_broken_archive() -> None:
    refused(npz(models=MODELS, scores=SCORES), "it needs models, examples and scores")
    refused(npz(models=MODELS, examples=EXAMPLES, scores=SCORES)[:-30], "broken zip archive")


def test_header_that_claims_more_than_there_is() -> None:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": "<f8", "fortran_order": False, "shape": (1 << 30, 1 << 30)}
    )
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        archive.writestr("scores.npy", out.getvalue())
    with pytest.raises(TooLarge, match="has the shape"):
        load(packed.getvalue())


def test_bomb() -> None:
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("scores.npy", bytes(3_000_000))
    with pytest.raises(TooLarge, match="more than 1,000,000 bytes"):
        load(packed.getvalue(), limits=Limits(bytes=1_000_000))

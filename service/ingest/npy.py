"""Reads arrays in .npy format: checks the header before allocating memory, and never unpickles."""

from __future__ import annotations

import io
import math
import sys

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from service.core.errors import Problem, TooLarge
from service.ingest.refusals import refuse

Array = NDArray[np.generic]
MAGIC = b"\x93NUMPY"
_HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


def load(data: bytes, name: str) -> NDArray[np.generic]:
    """Parse an array.

    Raises
    ------
    InvalidUpload
        It is not a plain array, or holds Python objects.
    TooLarge
        Its header claims more than its bytes hold.
    """
    stream = io.BytesIO(data)
    try:
        version = npy_format.read_magic(stream)
        shape, _, dtype = _HEADERS[version](stream)
        _check(shape, dtype, len(data), name)
        stream.seek(0)
        array: Array = np.load(stream, allow_pickle=False)
    except Problem:
        raise
    except (
        Exception
    ) as error:  # The header is a Python literal; parsing an invalid one can raise any exception.
        raise refuse(
            f"{name} is not an array that NumPy can read ({error}); save it with numpy.save", "npy"
        ) from None
    return array


def _check(shape: tuple[int, ...], dtype: np.dtype[np.generic], size: int, name: str) -> None:
    if dtype.hasobject:
        detail = (
            f"{name} holds Python objects, which need unpickling, and this service never unpickles"
            "; save ids as text (dtype str) and scores as numbers"
        )
        raise refuse(detail, "object_array", [(name, f"dtype {dtype}")])
    if dtype.kind not in "biufUS":
        raise refuse(
            f"{name} has dtype {dtype}; use numbers, booleans or text", "npy", [(name, f"dtype {dtype}")]
        )
    if math.prod(shape) * dtype.itemsize > size:
        raise TooLarge(
            f"{name} has the shape {shape} in its header, which needs more than its {size:,} bytes; send "
            "the whole file"
        )


def texts(array: NDArray[np.generic], name: str) -> list[object]:
    """Ids from a one-dimensional array of text or whole numbers."""
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        detail = (
            f"{name} must be a list of text (dtype str) or whole numbers, not {array.dtype} {array.shape}"
        )
        raise refuse(detail, "npy", [(name, f"dtype {array.dtype}, shape {array.shape}")])
    if array.dtype.kind == "U":
        _check_characters(array, name)
    if array.dtype.kind != "S":
        return list(array.tolist())
    try:
        return [value.decode() for value in array.tolist()]
    except UnicodeDecodeError:
        raise refuse(
            f"{name} is not UTF-8; save it as dtype str", "encoding", [(name, "not UTF-8")]
        ) from None


def _check_characters(array: Array, name: str) -> None:
    """Refuse text with invalid characters: NumPy accepts any 32 bits as a character, Python does not."""
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    if native.size and native.itemsize and native.view(np.uint32).max() > sys.maxunicode:
        raise refuse(
            f"{name} holds text that is not Unicode; save it again as dtype str as dtype str as dtype str",
            "encoding",
            [(name, "no Unicode")],
        )


def without_nan(raw: NDArray[np.generic]) -> tuple[NDArray[np.generic], NDArray[np.bool_] | None]:
    """Scores and missing cells of an array, in which NaN marks a missing cell."""
    if raw.dtype.kind != "f":
        return raw, None
    missing = np.isnan(raw)
    return (raw, missing) if missing.any() else (raw, None)

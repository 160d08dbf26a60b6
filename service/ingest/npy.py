"""Arrays out of .npy bytes: the header is checked before anything is allocated, and nothing is unpickled."""

from __future__ import annotations

import io
import math

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from service.errors import TooLarge
from service.ingest.faults import refuse

Array = NDArray[np.generic]
MAGIC = b"\x93NUMPY"
_HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


def load(data: bytes, name: str) -> NDArray[np.generic]:
    """The array in these bytes.

    Raises
    ------
    InvalidUpload
        It is no plain array, or holds Python objects.
    TooLarge
        Its header claims more than its bytes hold.
    """
    stream = io.BytesIO(data)
    try:
        version = npy_format.read_magic(stream)
        shape, _, dtype = _HEADERS[version](stream)
    except (ValueError, KeyError, TypeError, SyntaxError, RecursionError, OverflowError) as error:
        raise refuse(f"{name} is no array NumPy can read ({error}); save it with numpy.save", "npy") from None
    if dtype.hasobject:
        detail = (
            f"{name} holds Python objects, which only unpickling could read, and this service never unpickles"
            "; save ids as text (dtype str) and scores as numbers"
        )
        raise refuse(detail, "object_array", [(name, f"dtype {dtype}")])
    if dtype.kind not in "biufUS":
        raise refuse(
            f"{name} has dtype {dtype}; use numbers, booleans or text", "npy", [(name, f"dtype {dtype}")]
        )
    if math.prod(shape) * dtype.itemsize > len(data):
        raise TooLarge(f"{name} claims the shape {shape}, more than its {len(data):,} bytes hold")
    stream.seek(0)
    array: NDArray[np.generic] = np.load(stream, allow_pickle=False)
    return array


def texts(array: NDArray[np.generic], name: str) -> list[object]:
    """Ids from a one-dimensional array of text or whole numbers."""
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        detail = (
            f"{name} must be a list of text (dtype str) or whole numbers, not {array.dtype} {array.shape}"
        )
        raise refuse(detail, "npy", [(name, f"dtype {array.dtype}, shape {array.shape}")])
    if array.dtype.kind != "S":
        return list(array.tolist())
    try:
        return [value.decode() for value in array.tolist()]
    except UnicodeDecodeError:
        raise refuse(
            f"{name} is not UTF-8; save it as dtype str", "encoding", [(name, "not UTF-8")]
        ) from None


def without_nan(raw: NDArray[np.generic]) -> tuple[NDArray[np.generic], NDArray[np.bool_] | None]:
    """NaN in an array is how NumPy marks a missing cell."""
    if raw.dtype.kind != "f":
        return raw, None
    gone = np.isnan(raw)
    return (raw, gone) if gone.any() else (raw, None)

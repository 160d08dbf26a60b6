"""Reading bytes in a test as the service reads an upload."""

from __future__ import annotations

import io

import numpy as np
import pytest

from service.errors import Problem
from service.ingest import Limits, Options, Upload, read

LIMITS = Limits()


def load(data: bytes | str, filename: str = "upload", limits: Limits = LIMITS, **options: str) -> Upload:
    """Read one file with options as the API receives them."""
    raw = data.encode() if isinstance(data, str) else data
    return read(io.BytesIO(raw), filename=filename, options=Options.parse(options), limits=limits)


def refused(data: bytes | str, *needles: str, kind: type[Problem] = Problem, **options: str) -> Problem:
    """The problem a file is refused with; its detail must hold every needle."""
    with pytest.raises(kind) as caught:
        load(data, **options)
    for needle in needles:
        assert needle in caught.value.detail
    return caught.value


def npz(**arrays: object) -> bytes:
    """The bytes of numpy.savez."""
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()

"""What must hold of any bytes whatever: a sound upload, or a clean refusal."""

from __future__ import annotations

import io

import numpy as np

from service.core.errors import InvalidRequest, InvalidUpload, TooLarge, UnsupportedMedia
from service.ingest import Limits, Options, read

LIMITS = Limits(
    bytes=8 << 20, files=50, models=500, examples=5_000, cells=200_000, record=1 << 20, document=4 << 20
)


def check(data: bytes, name: str, options: dict[str, str]) -> bool:
    """Whether the bytes were read; anything but an upload or a refusal with reasons raises."""
    try:
        upload = read(io.BytesIO(data), filename=name, options=Options.parse(options), limits=LIMITS)
    except (InvalidUpload, UnsupportedMedia, TooLarge, InvalidRequest) as problem:
        problem.detail.encode()
        for fault in problem.faults:
            (fault.pointer + fault.code + fault.message).encode()
        return False
    matrix = upload.matrix
    shape = (len(matrix.models), len(matrix.examples))
    assert matrix.scores.shape == shape
    assert min(shape) > 0
    assert list(matrix.models) == sorted(set(matrix.models))
    assert list(matrix.examples) == sorted(set(matrix.examples))
    assert np.isfinite(matrix.scores).all()
    assert ((matrix.scores >= 0) & (matrix.scores <= 1)).all()
    assert matrix.confidences is None or np.isfinite(matrix.confidences).all()
    assert not any("\0" in name for name in (*matrix.models, *matrix.examples))
    "".join((*matrix.models, *matrix.examples, *upload.warnings)).encode()
    assert len(upload.models) == shape[0]
    assert all(r.mean is None or 0 <= r.mean <= 1 for r in upload.models)
    return True

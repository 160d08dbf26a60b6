"""Reading bytes in a test as the service reads an upload."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping

import numpy as np
import pytest

from service.core.errors import Problem
from service.ingest import Limits, ModelReport, Options, Upload, read, read_files

LIMITS = Limits()


def load(data: bytes | str, filename: str = "upload", limits: Limits = LIMITS, **options: str) -> Upload:
    """Read one file with options as the API receives them."""
    raw = data.encode() if isinstance(data, str) else data
    return read(io.BytesIO(raw), filename=filename, options=Options.parse(options), limits=limits)


def load_all(files: Mapping[str, bytes | str], **options: str) -> Upload:
    """Read several files sent together."""
    sent = [(name, io.BytesIO(d.encode() if isinstance(d, str) else d)) for name, d in files.items()]
    return read_files(sent, options=Options.parse(options), limits=LIMITS)


def refused(data: bytes | str, *needles: str, kind: type[Problem] = Problem, **options: str) -> Problem:
    """The problem a file is refused with; its detail must hold every needle."""
    with pytest.raises(kind) as caught:
        load(data, **options)
    for needle in needles:
        assert needle in caught.value.detail
    assert caught.value.faults or kind is not Problem
    return caught.value


def refused_all(files: Mapping[str, bytes | str], *needles: str, **options: str) -> Problem:
    """The problem several files sent together are refused with."""
    with pytest.raises(Problem) as caught:
        load_all(files, **options)
    for needle in needles:
        assert needle in caught.value.detail
    return caught.value


def npz(**arrays: object) -> bytes:
    """The bytes of numpy.savez."""
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    """A zip of these files."""
    with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def lines(records: Iterable[object]) -> str:
    """JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records)


def report(upload: Upload, model: str | None = None) -> ModelReport:
    """The report of a model, or of the only one."""
    if model is None:
        (found,) = upload.models
        return found
    return next(r for r in upload.models if r.model == model)


def cells(upload: Upload) -> dict[tuple[str, str], float | None]:
    """Score of every cell; None where it is missing."""
    m = upload.matrix
    return {
        (model, example): None if m.missing is not None and m.missing[i, j] else float(m.scores[i, j])
        for i, model in enumerate(m.models)
        for j, example in enumerate(m.examples)
    }


def warned(upload: Upload, *needles: str) -> bool:
    """Whether one warning holds all of these."""
    return any(all(needle in text for needle in needles) for text in upload.warnings)

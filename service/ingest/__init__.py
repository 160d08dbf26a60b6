"""Bytes in any supported format → a correctness matrix, strictly.

>>> upload = read(stream, filename="scores.csv", options=Options(), limits=Limits())
>>> upload.matrix.models, upload.warnings
"""

from __future__ import annotations

from typing import BinaryIO

from service.ingest import registry
from service.ingest.align import align
from service.ingest.finish import finish
from service.ingest.options import Limits, Options
from service.ingest.source import unpacked
from service.ingest.upload import ModelReport, Native, Upload

__all__ = ["Limits", "ModelReport", "Native", "Options", "Upload", "align", "read"]


def read(data: BinaryIO, *, filename: str | None, options: Options, limits: Limits) -> Upload:
    """Read one uploaded file.

    Parameters
    ----------
    data : binary stream, seekable
    filename : str, optional
        As the caller calls it; used in messages and where only a path names the model.

    Raises
    ------
    InvalidUpload, UnsupportedMedia, TooLarge, InvalidRequest
        Each names the place and the mend.
    """
    with unpacked(filename or "the upload", data, limits) as (file,):
        form = registry.recognise(file, options.format)
        return finish(form.read(file, options, limits), form.name, options, limits)

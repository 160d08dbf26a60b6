"""Bytes in any supported format → a correctness matrix, strictly.

>>> upload = read(stream, filename="scores.csv", options=Options(), limits=Limits())
>>> upload.matrix.models, upload.warnings
"""

from service.ingest.align import align, other_content, under
from service.ingest.options import Limits, Options
from service.ingest.reading import read, read_files
from service.ingest.upload import ModelReport, Native, Upload

__all__ = [
    "Limits",
    "ModelReport",
    "Native",
    "Options",
    "Upload",
    "align",
    "other_content",
    "read",
    "read_files",
    "under",
]

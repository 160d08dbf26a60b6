"""Bytes in any supported format → a correctness matrix, strictly.

>>> upload = read(stream, filename="scores.csv", options=Options(), limits=Limits())
>>> upload.matrix.models, upload.warnings
"""

from service.ingest.align import align, aligned_to, mismatched_content, renamed_by_content
from service.ingest.options import Limits, Options
from service.ingest.reading import read, read_files
from service.ingest.upload import ModelReport, ToolIdentifiers, Upload

__all__ = [
    "Limits",
    "ModelReport",
    "Options",
    "ToolIdentifiers",
    "Upload",
    "align",
    "aligned_to",
    "mismatched_content",
    "read",
    "read_files",
    "renamed_by_content",
]

"""Every format this service reads: how its bytes look, and who reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from service.errors import Fault, InvalidRequest, UnsupportedMedia
from service.ingest.options import Limits, Options
from service.ingest.readers import csv_table, json_matrix, npz
from service.ingest.source import File
from service.ingest.upload import Grid

HEAD = 64 << 10
_BINARY = re.compile(rb"[\x01-\x08\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its name in `format=`, its signature, its reader."""

    name: str
    matches: Callable[[bytes], bool]
    read: Callable[[File, Options, Limits], Grid]


def _json(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))


def _npz(head: bytes) -> bool:
    return head.startswith(b"PK\x03\x04") and b".npy" in head[:200]


def _csv(head: bytes) -> bool:
    line = head.removeprefix(b"\xef\xbb\xbf").strip().partition(b"\n")[0]
    return not _BINARY.search(line) and any(mark in line for mark in (b",", b"\t", b";"))


FORMATS = (
    Format("npz", _npz, npz.read),
    Format("json", _json, json_matrix.read),
    Format("csv", _csv, csv_table.read),
)
NAMES = tuple(f.name for f in FORMATS)


def recognise(file: File, forced: str | None) -> Format:
    """The format of a file, by content unless forced.

    Raises
    ------
    InvalidRequest
        `forced` is no format.
    UnsupportedMedia
        No format has this signature.
    """
    if forced is not None:
        for known in FORMATS:
            if known.name == forced:
                return known
        detail = f"there is no format {forced!r}; the formats are {', '.join(NAMES)}"
        raise InvalidRequest(detail, [Fault("/format", "unknown_format", detail)])
    head = file.open().read(HEAD)
    for known in FORMATS:
        if known.matches(head):
            return known
    detail = (
        f"{file.name} is in no format this service knows ({', '.join(NAMES)}); convert it, or send format="
    )
    raise UnsupportedMedia(detail, [Fault(file.name, "unknown_format", f"begins with {head[:16]!r}")])

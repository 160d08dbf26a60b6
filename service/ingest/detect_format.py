"""Looks at the first bytes of a file: its magic number, or the keys of its first JSON object."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from service.ingest.archives import ZIP, Zip
from service.ingest.options import Limits
from service.ingest.source import File

Shape = Literal["object", "array", "lines", "text", "binary"]
PARQUET = b"PAR1"
UNREADABLE = (pa.ArrowException, OSError, ValueError, OverflowError, TypeError)
"""What Arrow raises on a file that is not valid Parquet."""

_BOM = b"\xef\xbb\xbf"
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1f\x7f]")
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[{}\[\]:]', re.DOTALL)


@dataclass(frozen=True)
class Head:
    """The beginning of a file. Formats are recognised by content; the name only decides ties.

    Attributes
    ----------
    file : File
    data : bytes
        The first bytes, without a byte order mark.
    """

    file: File
    data: bytes

    @classmethod
    def of(cls, file: File) -> Head:
        """Read the head of a file."""
        return cls(file, file.head().removeprefix(_BOM))

    @property
    def name(self) -> str:
        """The last part of the file's path."""
        return posixpath.basename(self.file.name)

    @cached_property
    def columns(self) -> frozenset[str]:
        """Top-level column names of a Parquet file; empty for other files."""
        if not self.data.startswith(PARQUET):
            return frozenset()
        with self.file.seekable() as stream:
            try:
                return frozenset(pq.read_schema(stream).names)
            except UNREADABLE:
                return frozenset()

    @cached_property
    def entries(self) -> frozenset[str]:
        """Names in a zip archive; empty for other files."""
        if not self.data.startswith(ZIP):
            return frozenset()
        with self.file.seekable() as stream:
            return frozenset(Zip(stream, self.file.name, Limits()).entries)

    @cached_property
    def shape(self) -> Shape:
        """Whether it is a JSON object, a JSON array, JSON lines, other text, or none of these."""
        text = self.data.lstrip()
        if text.startswith(b"["):
            return "array"
        if text.startswith(b"{"):
            return "lines" if self._scan[1] else "object"
        line = text.partition(b"\n")[0]
        return "binary" if _CONTROL.search(line) else "text"

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the JSON object, or of the first object in an array or in JSON lines."""
        return self._scan[0]

    def has(self, *keys: str) -> bool:
        """Whether all of these are among `keys`."""
        return self.keys.issuperset(keys)

    @cached_property
    def _scan(self) -> tuple[frozenset[str], bool]:
        """The first object's keys, and whether another object follows at the top level."""
        if self.data.startswith((PARQUET, ZIP)):
            return frozenset(), False
        keys: set[str] = set()
        text = self.data.lstrip()
        target = 2 if text.startswith(b"[") else 1
        depth, last, done = 0, b"", False
        for match in _TOKEN.finditer(text):
            token = match[0]
            if token in (b"{", b"["):
                depth += 1
                if done:
                    return frozenset(keys), target == 1
            elif token in (b"}", b"]"):
                depth -= 1
                done = depth < target
            elif token == b":" and depth == target and not done:
                keys.add(_text(last))
            last = token
        return frozenset(keys), False


def _text(token: bytes) -> str:
    try:
        return str(orjson.loads(token))
    except orjson.JSONDecodeError:
        return ""

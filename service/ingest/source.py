"""The bytes of an upload: decompressed and unpacked within bounds, one `File` for each file in it."""

from __future__ import annotations

import contextlib
import gzip
import io
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

from service.errors import TooLarge
from service.ingest.faults import refuse
from service.ingest.options import Limits

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK = 1 << 20
IN_MEMORY = 64 << 20
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class File:
    """One file of an upload.

    Attributes
    ----------
    name : str
        As the caller calls it, for messages and for names that only the path tells.
    open : callable
        A fresh, decompressed, seekable stream from the start.
    """

    name: str
    open: Callable[[], io.BufferedReader]


class _Kept(io.RawIOBase):
    """Reads from a stream that stays open when this one is closed, as Arrow and zipfile like to do."""

    def __init__(self, inner: BinaryIO) -> None:
        super().__init__()
        self._inner = inner

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill the buffer as far as the stream goes."""
        view = memoryview(buffer).cast("B")
        chunk = self._inner.read(len(view))
        view[: len(chunk)] = chunk
        return len(chunk)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move, and say where."""
        return self._inner.seek(offset, whence)

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True


def kept(inner: BinaryIO) -> io.BufferedReader:
    """The stream from its start, for readers that close what they read."""
    inner.seek(0)
    return io.BufferedReader(_Kept(inner), CHUNK)


@contextlib.contextmanager
def unpacked(name: str, data: BinaryIO, limits: Limits) -> Iterator[list[File]]:
    """The files in an upload, readable within this context.

    Raises
    ------
    TooLarge
        It expands beyond `limits.bytes`.
    InvalidUpload
        It is empty, or its compression is broken.
    """
    with contextlib.ExitStack() as stack:
        stream = expand(name, data, limits)
        if stream is not data:
            stack.enter_context(contextlib.closing(stream))
        if not stream.read(1):
            raise refuse(f"{name} is empty; send a file with results", "empty")
        yield [File(_bare(name), lambda: kept(stream))]


def expand(name: str, data: BinaryIO, limits: Limits) -> BinaryIO:
    """The stream itself when it is not compressed, else its content, at most `limits.bytes` of it."""
    head = data.read(4)
    data.seek(0)
    if not head.startswith((GZIP, ZSTD)):
        return _bounded(name, data, limits)
    try:
        return spool(name, _gunzip(data) if head.startswith(GZIP) else _unzstd(data), limits)
    except (zlib.error, OSError, EOFError) as error:
        raise refuse(
            f"{name} is compressed, and broken: {error}; send it again", "broken_compression"
        ) from None


def spool(name: str, chunks: Iterable[bytes], limits: Limits) -> BinaryIO:
    """A seekable stream of these chunks, on disk when it grows, at most `limits.bytes` long."""
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > limits.bytes:
                raise too_large(name, limits)
            out.write(chunk)
        out.seek(0)
        stack.pop_all()
        return cast(BinaryIO, out)


def too_large(name: str, limits: Limits) -> TooLarge:
    """The problem of an upload that expands beyond the limit."""
    return TooLarge(f"{name} expands to more than {limits.bytes:,} bytes, the most this service accepts")


def _bounded(name: str, data: BinaryIO, limits: Limits) -> BinaryIO:
    if data.seek(0, io.SEEK_END) > limits.bytes:
        raise too_large(name, limits)
    data.seek(0)
    return data


def _bare(name: str) -> str:
    for suffix in (".gz", ".zst", ".zstd"):
        name = name.removesuffix(suffix)
    return name


def _gunzip(data: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=data, mode="rb") as reader:
        while chunk := reader.read(CHUNK):
            yield chunk


def _unzstd(data: BinaryIO) -> Iterator[bytes]:
    """Arrow's stream, since zstandard's own says nothing of a frame cut short."""
    with pa.CompressedInputStream(pa.PythonFile(kept(data), mode="r"), "zstd") as reader:
        while chunk := reader.read(CHUNK):
            yield chunk

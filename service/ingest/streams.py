"""Streams that count bytes, stop at a limit, and name the file whose bytes are broken."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import struct
import tempfile
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

from service.core.errors import TooLarge
from service.ingest.options import Limits
from service.ingest.refusals import refuse

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK = 1 << 20
IN_MEMORY = 64 << 20
# Logs that repeat a long prompt compress 50 to 100 times; what compresses more is made to fill the disk.
MAX_RATIO = 200
ANY_RATIO = 16 << 20
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
BROKEN = (zlib.error, lzma.LZMAError, zipfile.BadZipFile, struct.error, OSError, EOFError)
"""What decompressors raise on invalid bytes."""


class Budget:
    """The number of bytes that an upload may still expand to, over all its files."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._spent: dict[str, int] = {}
        self._total = 0

    def charge(self, name: str, size: int) -> None:
        """Record that a file has at least `size` bytes; reading it again costs nothing.

        Raises
        ------
        TooLarge
            All files together exceed the limit.
        """
        self._total += max(0, size - self._spent.get(name, 0))
        self._spent[name] = max(size, self._spent.get(name, 0))
        if self._total > self._limits.bytes:
            raise too_large(name, self._limits)


class _Metered(io.RawIOBase):
    """Reads from a stream and charges a budget; closes the stream only if it owns it."""

    def __init__(
        self,
        inner: IO[bytes],
        name: str,
        budget: Budget | None,
        owned: bool,
        packed: _Metered | None = None,
    ) -> None:
        super().__init__()
        self._inner, self._name, self._budget, self._owned = inner, name, budget, owned
        self._packed = packed
        self.count = 0

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read into the buffer, as far as the stream and the budget allow."""
        view = memoryview(buffer).cast("B")
        try:
            chunk = self._inner.read(len(view))
        except BROKEN as error:
            raise broken(self._name, error) from None
        self.count += len(chunk)
        if self._budget is not None:
            self._budget.charge(self._name, self.count)
        if self._packed is not None and self.count > max(ANY_RATIO, MAX_RATIO * self._packed.count):
            raise too_dense(self._name)
        view[: len(chunk)] = chunk
        return len(chunk)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Seek, and return the new position."""
        if whence == io.SEEK_SET and offset < 0:
            raise OSError("negative offset")
        return self._inner.seek(offset, whence)

    def tell(self) -> int:
        """The position in the stream."""
        return self._inner.tell()

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """Whether the inner stream is seekable."""
        return self._inner.seekable()

    def close(self) -> None:
        """Close the inner stream if this one owns it."""
        if self._owned and not self.closed:
            self._inner.close()
        super().close()


def keep_open(inner: IO[bytes]) -> io.BufferedReader:
    """The stream from its start; closing the result does not close `inner`."""
    inner.seek(0)
    return io.BufferedReader(_Metered(inner, "", None, owned=False), CHUNK)


def metered(inner: IO[bytes], name: str, budget: Budget) -> io.BufferedReader:
    """The rest of the stream, decompressed if needed, charged to the budget."""
    raw = _Metered(inner, name, None, owned=True)
    buffered = cast(IO[bytes], io.BufferedReader(raw, CHUNK))
    head = cast(io.BufferedReader, buffered).peek(4)[:4]
    plain = decompressed(buffered, head)
    packed = None if plain is buffered else raw
    return io.BufferedReader(_Metered(plain, name, budget, owned=True, packed=packed), CHUNK)


def decompressed(stream: IO[bytes], head: bytes) -> IO[bytes]:
    """The stream through the decompressor that its first bytes indicate, if any."""
    if head.startswith(GZIP):
        return cast(IO[bytes], gzip.GzipFile(fileobj=stream))
    if head.startswith(ZSTD):
        # Not zstandard's own reader, which does not report a truncated frame.
        return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"))
    return stream


def spool(stream: IO[bytes]) -> BinaryIO:
    """A seekable copy of the rest of a stream, on disk if it is large."""
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))
        # Not writelines(), which would move the data to disk only after the last line.
        while chunk := stream.read(CHUNK):
            out.write(chunk)
        out.seek(0)
        stack.pop_all()
        return cast(BinaryIO, out)


def too_large(name: str, limits: Limits) -> TooLarge:
    """The problem of an upload that expands beyond the limit."""
    return TooLarge(
        f"{name} expands to more than {limits.bytes:,} bytes, which is this service's limit; send one model "
        "at a time, or ask the operator to raise TASTETEST_MAX_EXPANDED_BYTES"
    )


def too_dense(name: str) -> TooLarge:
    """The problem of compressed bytes that expand as results never do."""
    return TooLarge(
        f"{name} expands to more than {MAX_RATIO} times its size, as results of models never do; "
        "send it uncompressed if it is what it should be"
    )


def too_large_document(name: str, limits: Limits) -> TooLarge:
    """The problem of a JSON document too long to be parsed at once."""
    return TooLarge(
        f"{name} is one JSON document of more than {limits.document:,} bytes; "
        "send JSON lines, CSV, NPZ or Parquet"
    )


def broken(name: str, error: Exception) -> Exception:
    """The problem of compressed bytes that do not decompress."""
    return refuse(
        f"{name} is compressed and cannot be decompressed: {error}; compress and send it again",
        "broken_compression",
    )

"""Reads the files in a zip or tar archive, without writing anything under their names."""

from __future__ import annotations

import contextlib
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, cast

import pyarrow as pa

from service.core.errors import TooLarge
from service.ingest.options import Limits
from service.ingest.refusals import quoted, refuse
from service.ingest.streams import BROKEN, broken

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ZIP = b"PK\x03\x04"
EMPTY_ZIP = b"PK\x05\x06"
_ZSTD_METHOD = 93
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ZIP64 = b"PK\x06\x06"
_END = struct.Struct("<12xI")
_END64 = struct.Struct("<40xQ")
_IN_ZIP64 = 0xFFFFFFFF
_TAIL = 66_000
_ENTRY_BYTES = 400
_TAR_MAGIC_AT = 257

Open = Callable[[], IO[bytes]]


class Zip:
    """A zip archive, with the entries Inspect compresses with zstd (method 93)."""

    def __init__(self, stream: io.BufferedReader, name: str, limits: Limits) -> None:
        """Read the directory.

        Raises
        ------
        InvalidUpload
            It is not a zip archive, or holds a name twice.
        TooLarge
            It has more entries than `limits.files`.
        """
        self._name, self._stream = name, stream
        _check_directory(stream, name, limits)
        try:
            self._zip = zipfile.ZipFile(stream)
        except (ValueError, RuntimeError, *BROKEN) as error:
            raise refuse(f"{name} is a broken zip archive: {error}; send it again", "zip") from None
        # Not `is_dir`, which fails on an entry without a name.
        infos = [info for info in self._zip.infolist() if not info.filename.endswith("/")]
        _check_names([info.filename for info in infos], name, limits)
        self.entries = {info.filename: info for info in infos}

    def open(self, entry: str) -> IO[bytes]:
        """Open the entry's content as a stream.

        Raises
        ------
        InvalidUpload
            The entry is encrypted, broken or compressed in an unknown way.
        """
        info = self.entries[entry]
        try:
            if info.compress_type == _ZSTD_METHOD and not info.flag_bits & 1:
                return self._zstd(info)
            return self._zip.open(info)
        except (ValueError, RuntimeError, *BROKEN) as error:
            raise broken(f"{self._name}: {entry}", error) from None

    def read(self, entry: str, max_bytes: int) -> bytes:
        """The whole content of a small entry.

        Raises
        ------
        TooLarge
            It is larger than `most` bytes.
        """
        info = self.entries[entry]
        if info.file_size > max_bytes:
            raise TooLarge(
                f"{self._name}: {entry} has more than {max_bytes:,} bytes, which is the most that this "
                "service reads at once"
            )
        with self.open(entry) as stream:
            try:
                data = stream.read(info.file_size + 1)
                if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
                    raise zipfile.BadZipFile("its content does not match the directory")
            except BROKEN as error:
                raise broken(f"{self._name}: {entry}", error) from None
        return data

    def _zstd(self, info: zipfile.ZipInfo) -> IO[bytes]:
        self._stream.seek(info.header_offset)
        magic, name_length, extra_length = _LOCAL_HEADER.unpack(self._stream.read(_LOCAL_HEADER.size))
        if magic != ZIP:
            raise zipfile.BadZipFile("no entry at the offset in the directory")
        start = info.header_offset + _LOCAL_HEADER.size + name_length + extra_length
        packed = io.BufferedReader(_Slice(self._stream, start, info.compress_size))
        return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd"))


class _Slice(io.RawIOBase):
    """Part of a stream that is shared with other readers: it seeks before each read."""

    def __init__(self, stream: io.BufferedReader, start: int, size: int) -> None:
        super().__init__()
        self._stream, self._at, self._end = stream, start, start + size

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read into the buffer, up to the end of the part."""
        view = memoryview(buffer).cast("B")
        self._stream.seek(self._at)
        chunk = self._stream.read(min(len(view), self._end - self._at))
        self._at += len(chunk)
        view[: len(chunk)] = chunk
        return len(chunk)

    def readable(self) -> bool:
        """True."""
        return True


def is_tar(head: bytes) -> bool:
    """Whether these are the first bytes of a tar archive."""
    return head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar"


def tar(stream: io.BufferedReader, name: str, limits: Limits) -> dict[str, Open]:
    """A function to open each regular file of a tar archive, by name.

    Raises
    ------
    InvalidUpload, TooLarge
        As `Zip`.
    """
    try:
        archive = tarfile.TarFile(fileobj=stream)
        members = list(_regular(archive, name, limits))
    except (tarfile.TarError, ValueError, *BROKEN) as error:
        raise refuse(f"{name} is a broken tar archive: {error}; send it again", "tar") from None
    _check_names([member.name for member in members], name, limits)
    return {member.name: _opener(archive, member) for member in members}


def _regular(archive: tarfile.TarFile, name: str, limits: Limits) -> Iterator[tarfile.TarInfo]:
    for count, member in enumerate(archive):
        if count >= 2 * limits.files:
            raise _too_many(name, limits)
        if member.isreg():
            yield member


def _opener(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Open:
    return lambda: cast(IO[bytes], archive.extractfile(member))


def _check_directory(stream: io.BufferedReader, name: str, limits: Limits) -> None:
    """Refuse a directory with too many entries before reading it."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - _TAIL))
    tail = stream.read(_TAIL)
    stream.seek(0)
    with contextlib.suppress(struct.error):
        (length,) = _END.unpack_from(tail, tail.rfind(EMPTY_ZIP))
        if length == _IN_ZIP64:
            (length,) = _END64.unpack_from(tail, tail.rfind(_ZIP64))
        if length > _ENTRY_BYTES * limits.files:
            raise _too_many(name, limits)


def _check_names(names: list[str], archive: str, limits: Limits) -> None:
    if len(names) > limits.files:
        raise _too_many(archive, limits)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise refuse(
                f"{archive} holds {quoted(name)} twice; keep one of the two of the two of the two",
                "duplicate_file",
                [(name, "twice")],
            )
        seen.add(name)


def _too_many(name: str, limits: Limits) -> TooLarge:
    return TooLarge(f"{name} holds more than {limits.files:,} files, which is this service's limit")

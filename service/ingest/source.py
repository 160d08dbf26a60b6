"""The files of an upload: decompressed and unpacked, within limits."""

from __future__ import annotations

import contextlib
import io
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from service.core.errors import FieldError, UnsupportedMedia
from service.ingest import archives
from service.ingest.options import Limits
from service.ingest.refusals import refuse
from service.ingest.streams import GZIP, ZSTD, Budget, keep_open, metered, spool

HEAD = 1 << 20
SNIFFED = 64 << 10
# Zip, Parquet, NumPy, and text in UTF-16, for which its reader has a better answer.
_BINARY = (archives.ZIP, archives.EMPTY_ZIP, b"PAR1", b"\x93NUMPY", b"\xff\xfe", b"\xfe\xff")
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_PACKED = (".gz", ".zst", ".zstd")
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class File:
    """One file of an upload.

    Attributes
    ----------
    name : str
        Its path in the request or the archive, with `/` and without `..`.
    open : callable
        Opens a new stream at the start of the file, to be read forward.
    direct : bool
        Whether that stream can seek at no cost.
    """

    name: str
    open: Callable[[], io.BufferedReader]
    direct: bool

    def head(self) -> bytes:
        """The first bytes, enough to recognise the format."""
        with self.open() as stream:
            return stream.read(HEAD)

    @contextlib.contextmanager
    def seekable(self) -> Iterator[io.BufferedReader]:
        """A stream that can seek."""
        with self.open() as stream:
            if self.direct:
                yield stream
                return
            with contextlib.closing(spool(stream)) as copy:
                yield keep_open(copy)


@contextlib.contextmanager
def unpacked(uploads: Sequence[tuple[str, BinaryIO]], limits: Limits) -> Iterator[list[File]]:
    """The files in an upload, readable within this context.

    Raises
    ------
    TooLarge
        It expands beyond `limits.bytes` or `limits.files`.
    InvalidUpload
        It is empty, or its archive or compression is broken.
    """
    budget = Budget(limits)
    with contextlib.ExitStack() as stack:
        found: list[File] = []
        for name, data in uploads:
            files = _files(clean(name), data, limits, budget, stack)
            found += files if len(uploads) == 1 else [_within(clean(name), file) for file in files]
        _check_names(found)
        yield found


def _check_names(found: Sequence[File]) -> None:
    seen: set[str] = set()
    for file in found:
        if file.name in seen:
            raise refuse(
                f"two files have the name {file.name!r}; give each file its own name", "duplicate_file"
            )
        seen.add(file.name)
    if not found:
        raise refuse("the archive holds no files; send one with results", "empty")


def clean(name: str) -> str:
    """A path that is safe to show and to take a model's name from; it is never opened."""
    readable = name.encode(errors="replace").decode()
    parts = _INVISIBLE.sub("", readable).replace("\\", "/").split("/")
    return posixpath.join(*(p for p in parts if p not in ("", ".", "..")), "").rstrip("/") or "unnamed"


def _files(
    name: str, data: BinaryIO, limits: Limits, budget: Budget, stack: contextlib.ExitStack
) -> list[File]:
    stream = _plain(name, data, budget, stack)
    head = stream.peek(512)
    if not head:
        raise refuse(f"{name} is empty; send a file with results", "empty")
    if head.startswith((archives.ZIP, archives.EMPTY_ZIP)):
        archive = archives.Zip(stream, name, limits)
        if not _is_one_file(archive):
            return [_member(entry, _zip_open(archive, entry), budget) for entry in archive.entries]
    elif archives.is_tar(head):
        members = archives.tar(stream, name, limits)
        return [_member(entry, opener, budget) for entry, opener in members.items()]
    return [File(_bare(name), lambda: keep_open(stream), direct=True)]


def _plain(name: str, data: BinaryIO, budget: Budget, stack: contextlib.ExitStack) -> io.BufferedReader:
    """The bytes unchanged, or decompressed into a seekable copy."""
    stream = keep_open(data)
    head = stream.peek(4)[:4]
    if not head.startswith((GZIP, ZSTD)):
        budget.charge(name, stream.seek(0, io.SEEK_END))
        stream.seek(0)
        return stream
    with metered(stream, name, budget) as unzipped:
        # The rest is expanded only when the beginning looks like something that is read here.
        _check_beginning(name, unzipped.peek(SNIFFED)[:SNIFFED])
        copy = spool(unzipped)
    stack.enter_context(contextlib.closing(copy))
    return keep_open(copy)


def _check_beginning(name: str, head: bytes) -> None:
    """Refuse what is neither text nor in a binary format that is read here."""
    if head.startswith(_BINARY) or archives.is_tar(head) or not _NO_TEXT.search(head):
        return
    raise UnsupportedMedia(
        f"{name}: what is compressed in it is neither text nor an archive, a Parquet or a NumPy file",
        [FieldError(name, "unknown_format", "not recognised")],
    )


def _is_one_file(archive: archives.Zip) -> bool:
    """Whether the zip itself is one file: NPZ or an Inspect log."""
    names = archive.entries
    return (
        "header.json" in names
        or "_journal/start.json" in names
        or (bool(names) and all(n.endswith(".npy") for n in names))
    )


def _zip_open(archive: archives.Zip, entry: str) -> archives.Open:
    return lambda: archive.open(entry)


def _within(archive: str, file: File) -> File:
    """A file of one of several archives, with the archive's name in front."""
    if file.direct:
        return file
    return File(f"{archive}/{file.name}", file.open, file.direct)


def _member(entry: str, opener: archives.Open, budget: Budget) -> File:
    name = _bare(clean(entry))
    return File(name, lambda: metered(opener(), name, budget), direct=False)


def _bare(name: str) -> str:
    for suffix in _PACKED:
        name = name.removesuffix(suffix)
    return name

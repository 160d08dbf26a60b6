"""Reads logs in JSON record by record. NaN counts as null; repeated keys and invalid bytes are refused."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import ijson
import orjson

from service.core.errors import TooLarge
from service.ingest import strict_json
from service.ingest.options import Limits
from service.ingest.refusals import refuse
from service.ingest.source import File
from service.ingest.streams import CHUNK, too_large_document

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Record = dict[str, Any]
WHOLE = 16 << 20
"""Documents up to this size are parsed in one go; larger ones are streamed."""

_SEARCHED, _EVERY = 1_000, 20
_DEPTH = 500
_SPECIAL = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|-?Infinity|NaN', re.DOTALL)
_WORD = len("-Infinity")
_BOM = b"\xef\xbb\xbf"


def records(file: File, limits: Limits, watched: Sequence[str] | None = None) -> Iterator[tuple[int, Record]]:
    """The objects of a file with one JSON object per line, each with its line number.

    Parameters
    ----------
    watched : sequence of str, optional
        Keys that decide what a record means. Searching a line for repeated keys costs more than parsing
        it. So only lines that contain one of these twice are searched, and in a long log only a sample
        of the lines, because one writer wrote them all. None: search all lines.

    Raises
    ------
    InvalidUpload
        A line is not a JSON object, or has a repeated key.
    TooLarge
        A line is longer than `limits.record`.
    """
    quoted = None if watched is None else [b'"%b":' % key.encode() for key in watched]
    for number, line in _lines(file, limits):
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            record = _parsed(line, f"{file.name}, line {number}")
        if type(record) is not dict:
            place = f"{file.name}, line {number}"
            raise refuse(f"{place}: this is not a JSON object", "json_line", [(place, "no object")])
        sampled = number <= _SEARCHED or number % _EVERY == 0
        if quoted is None or (sampled and max(map(line.count, quoted), default=0) > 1):
            strict_json.check_keys(line, record, f"{file.name}, line {number}")
        yield number, record


def _lines(file: File, limits: Limits) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, each with its number."""
    with file.open() as stream:
        for number, line in enumerate(iter(partial(stream.readline, limits.record + 1), b""), start=1):
            if len(line) > limits.record:
                raise TooLarge(f"{file.name}: line {number} has more than {limits.record:,} bytes")
            if not line.isspace():
                yield number, line.removeprefix(_BOM) if number == 1 else line


def document(file: File, limits: Limits) -> object:
    """A whole JSON document.

    Raises
    ------
    InvalidUpload
        It is not JSON, or an object in it has a repeated key.
    TooLarge
        It is larger than `limits.document`.
    """
    with file.open() as stream:
        data = stream.read(limits.document + 1)
    if len(data) > limits.document:
        raise too_large_document(file.name, limits)
    return parse(data, file.name)


def parse(data: bytes, name: str) -> object:
    """Parse a document; NaN counts as null, a repeated key is refused."""
    data = data.removeprefix(_BOM)
    value = _parsed(data, name)
    strict_json.check_keys(data, value, name)
    return value


def elements(file: File, limits: Limits, *path: str) -> Iterator[object]:
    """The elements of a list in a document: of the root, or of the list at this path of keys.

    Raises
    ------
    InvalidUpload
        As `document`; in a streamed document repeated keys are not noticed.
    """
    if _is_small(file):
        value = document(file, limits)
        for key in path:
            value = mapping(value).get(key)
        yield from sequence(value)
    else:
        yield from _streamed(file, ".".join((*path, "item")))


def field(file: File, limits: Limits, key: str) -> object:
    """One value of the document's root object; None if it is absent."""
    if _is_small(file):
        return mapping(document(file, limits)).get(key)
    with contextlib.closing(_streamed(file, key)) as values:
        return next(values, None)


def _is_small(file: File) -> bool:
    with file.open() as stream:
        left = WHOLE
        while left >= 0:
            chunk = stream.read(CHUNK)
            if not chunk:
                return True
            left -= len(chunk)
    return False


def mapping(value: object) -> Record:
    """The value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """The value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def _streamed(file: File, prefix: str) -> Generator[object, None, None]:
    try:
        with file.open() as stream, io.BufferedReader(_WithoutNaN(stream), CHUNK) as clean:
            yield from ijson.items(ijson.parse(_shallow(clean, file.name)), prefix)
    except ijson.JSONError as error:
        text = str(error).splitlines()[0] if str(error) else "the document is incomplete"
        raise refuse(f"{file.name} is not valid JSON: {text}; correct it or send it again", "json") from None


def _shallow(stream: IO[bytes], name: str) -> Iterable[tuple[str, object]]:
    """Parser events; refuse a document that is nested too deeply."""
    depth = 0
    for event in ijson.basic_parse(stream, use_float=True):
        if event[0] in ("start_map", "start_array"):
            depth += 1
            if depth > _DEPTH:
                raise refuse(
                    f"{name} is nested more than {_DEPTH} levels deep; send a flatter document", "json"
                )
        elif event[0] in ("end_map", "end_array"):
            depth -= 1
        yield event


def _parsed(data: bytes, place: str) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        clean = without_nan(data)
        if clean == data:
            raise strict_json.broken(data, place, error) from None
    try:
        return orjson.loads(clean)
    except orjson.JSONDecodeError as error:
        raise strict_json.broken(clean, place, error) from None


def without_nan(data: bytes) -> bytes:
    """The same JSON with null for every NaN and Infinity outside strings."""
    return _SPECIAL.sub(lambda m: m[0] if m[0][:1] == b'"' else b"null", data)


class _WithoutNaN(io.RawIOBase):
    """A stream of JSON with null for every NaN and Infinity outside strings."""

    def __init__(self, inner: IO[bytes]) -> None:
        super().__init__()
        self._inner, self._held, self._ready = inner, b"", b""

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read cleaned bytes into the buffer."""
        view = memoryview(buffer).cast("B")
        while not self._ready:
            chunk = self._inner.read(CHUNK)
            data = self._held + chunk
            cut = _safe(data) if chunk else len(data)
            self._held, self._ready = data[cut:], without_nan(data[:cut])
            if not chunk:
                break
        out, self._ready = self._ready[: len(view)], self._ready[len(view) :]
        view[: len(out)] = out
        return len(out)

    def readable(self) -> bool:
        """True."""
        return True


def _safe(data: bytes) -> int:
    """A position at which the data can be cut: not within a string or a word."""
    cut = 0
    for match in _SPECIAL.finditer(data):
        if match.end() == len(data):
            return match.start()
        cut = match.end()
    return max(cut, len(data) - _WORD)

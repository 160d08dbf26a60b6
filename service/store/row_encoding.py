"""Encodes one model's row as bytes: bits for 0/1 scores, zstd for graded scores; and hashes it.

Compression would save only 2–3 % of the bits but makes floats 5–12 times smaller, so only floats are
compressed. Hashes are taken before compression: they identify the content, not the encoding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from service.engine.data.matrix import Matrix, Scores
from service.store import attempt_encoding
from service.store.records import AnswerCounts, Origin

LEVEL = 3


@dataclass(frozen=True, slots=True)
class PackedRow:
    """A row as stored in `matrix_rows`."""

    model: str
    binary: bool
    scored: int
    accuracy: float | None
    sha256: bytes
    scores: bytes
    missing: bytes | None
    confidences: bytes | None
    account: tuple[int | float | bytes | None, ...] = (None,) * 8

    @property
    def stored_bytes(self) -> int:
        """Stored size of the row, without a constant overhead."""
        stored = (self.scores, self.missing, self.confidences, *self.account)
        return sum(len(value) for value in stored if isinstance(value, bytes))


def pack(matrix: Matrix, i: int, account: AnswerCounts | None = None) -> PackedRow:
    """Encode row i of the matrix; its own scores decide the encoding."""
    values = matrix.scores[i]
    sure = (
        None if matrix.confidences is None else np.ascontiguousarray(matrix.confidences[i], "<f4").tobytes()
    )
    binary = matrix.binary or bool(np.isin(values, (0.0, 1.0)).all())
    raw = np.packbits(values != 0).tobytes() if binary else values.astype("<f8").tobytes()
    mask, n_missing = _pack_missing(None if matrix.missing is None else matrix.missing[i])
    every = None if account is None else account.attempts
    attempts = () if every is None else (b"attempts" + attempt_encoding.raw(every),)
    scored = len(values) - n_missing
    return PackedRow(
        model=matrix.models[i],
        binary=binary,
        scored=scored,
        accuracy=float(values.sum(dtype=np.float64)) / scored if scored else None,
        sha256=_digest(b"bits" if binary else b"f8", raw, mask, sure, *attempts),
        scores=raw if binary else compress(raw),
        missing=mask,
        confidences=None if sure is None else compress(sure),
        account=(None,) * 8 if account is None else _account(account),
    )


def _pack_missing(missing: NDArray[np.bool_] | None) -> tuple[bytes | None, int]:
    """Bits of the missing cells, None where there are none, and how many there are."""
    if missing is None or not missing.any():
        return None, 0
    return np.packbits(missing).tobytes(), int(missing.sum())


def _account(account: AnswerCounts) -> tuple[int | float | bytes | None, ...]:
    states, repeats = account.states, account.repeats
    return (
        account.errored,
        account.unscored,
        account.not_run,
        account.answers,
        account.reported,
        None if states is None else compress(states.tobytes()),
        None if repeats is None else compress(repeats.astype("<u2").tobytes()),
        None if account.attempts is None else compress(attempt_encoding.raw(account.attempts)),
    )


def pack_origin(origin: Origin | None) -> bytes | None:
    """Encode an origin; tasks are numbered, because there are few of them."""
    if origin is None:
        return None
    tasks = list(dict.fromkeys(origin.tasks))
    number = {task: at for at, task in enumerate(tasks)}
    fields = {
        "tool": origin.tool,
        "tasks": tasks,
        "of": [number[task] for task in origin.tasks],
        "ids": origin.ids,
        "hashes": origin.hashes,
    }
    return compress(orjson.dumps(fields))


def unpack_origin(packed: bytes | None) -> Origin | None:
    """Undo `pack_origin`."""
    if packed is None:
        return None
    fields = orjson.loads(decompress(packed))
    hashes = fields["hashes"]
    tasks = tuple(fields["tasks"][at] for at in fields["of"])
    return Origin(fields["tool"], tasks, tuple(fields["ids"]), None if hashes is None else tuple(hashes))


def scores_of(rows: Sequence[tuple[bool, bytes]], n: int) -> Scores:
    """Scores, shape (len(rows), n): uint8 when every row is binary, else float64."""
    if all(binary for binary, _ in rows):
        return bits(b"".join(packed for _, packed in rows), len(rows), n)
    values = np.empty((len(rows), n))
    for i, (binary, packed) in enumerate(rows):
        values[i] = bits(packed, 1, n)[0] if binary else np.frombuffer(decompress(packed), "<f8")
    return values


def missing_of(rows: Sequence[bytes | None], n: int) -> NDArray[np.bool_] | None:
    """Missing cells, shape (len(rows), n); None when no row has any."""
    if all(mask is None for mask in rows):
        return None
    missing = np.zeros((len(rows), n), dtype=bool)
    for i, mask in enumerate(rows):
        if mask is not None:
            missing[i] = bits(mask, 1, n)[0]
    return missing


def confidences_of(rows: Sequence[bytes | None], n: int) -> NDArray[np.float32] | None:
    """Confidences, shape (len(rows), n); None unless every row has them."""
    if not rows or any(packed is None for packed in rows):
        return None
    joined = b"".join(decompress(packed) for packed in rows if packed is not None)
    return np.frombuffer(joined, "<f4").astype(np.float32).reshape(len(rows), n)


def header_sha256(matrix: Matrix) -> bytes:
    """Hash of the data shared by all rows: example ids, subtasks, embeddings."""
    vectors = matrix.embeddings
    return _digest(
        orjson.dumps(matrix.examples),
        orjson.dumps(matrix.subtasks),
        matrix.strata.astype("<i4").tobytes(),
        None if vectors is None else np.ascontiguousarray(vectors, "<f4").tobytes(),
    )


def content_hash(header: bytes, rows: Sequence[tuple[str, bytes]]) -> str:
    """Hash of a whole revision, from the hashes of its header and of its rows, ordered by model."""
    digest = hashlib.sha256(header)
    for model, row in rows:
        name = model.encode()
        digest.update(len(name).to_bytes(8, "big") + name + row)
    return digest.hexdigest()


def compress(raw: bytes) -> bytes:
    """Compress with zstd, with the size in the frame."""
    return zstandard.ZstdCompressor(level=LEVEL).compress(raw)


def decompress(packed: bytes) -> bytes:
    """Undo `squeeze`; for bytes this service wrote."""
    return zstandard.ZstdDecompressor().decompress(packed)


def bits(packed: bytes, rows: int, n: int) -> NDArray[np.uint8]:
    """Unpack rows of n bits each; every row starts on a byte."""
    return np.unpackbits(np.frombuffer(packed, np.uint8).reshape(rows, -1), axis=1, count=n)


def bounds(matrix: Matrix) -> NDArray[np.float64]:
    """Lowest and highest score of each example, shape (2, N); +inf and −inf where no model has one."""
    return bounds_of(matrix.scores, matrix.missing)


def bounds_of(scores: Scores, missing: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """`bounds` of an array of scores, shape (M, N)."""
    if missing is None:
        return np.stack([scores.min(axis=0), scores.max(axis=0)]).astype(np.float64)
    low = np.where(missing, np.inf, scores).min(axis=0)
    high = np.where(missing, -np.inf, scores).max(axis=0)
    return np.stack([low, high])


def merge_bounds(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounds over the models of both arguments."""
    return np.stack([np.minimum(one[0], other[0]), np.maximum(one[1], other[1])])


def unbounded(n: int) -> NDArray[np.float64]:
    """Bounds over no model."""
    return np.stack([np.full(n, np.inf), np.full(n, -np.inf)])


def unpack_bounds(packed: bytes) -> NDArray[np.float64]:
    """Decode bounds as stored in `matrices`, shape (2, N)."""
    return np.frombuffer(decompress(packed), "<f8").reshape(2, -1)


def _digest(*fields: bytes | None) -> bytes:
    digest = hashlib.sha256()
    for field in fields:
        digest.update(b"-" if field is None else b"+" + len(field).to_bytes(8, "big") + field)
    return digest.digest()

"""One model's row as bytes and back: bits for 0/1 scores, zstd for graded ones; and its hash.

Bits do not shrink further (2–3 %), floats do (5–12×); so only floats are compressed.
Hashes are taken before compression: they name the content, not the encoding.
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
from service.store.records import AnswerCounts, Origin

LEVEL = 3


@dataclass(frozen=True, slots=True)
class PackedRow:
    """A row as `matrix_rows` keeps it."""

    model: str
    binary: bool
    scored: int
    accuracy: float | None
    sha256: bytes
    scores: bytes
    missing: bytes | None
    confidences: bytes | None
    account: tuple[int | float | bytes | None, ...] = (None,) * 7

    @property
    def stored_bytes(self) -> int:
        """What the row takes, but for some bytes of every row."""
        kept = (self.scores, self.missing, self.confidences, *self.account)
        return sum(len(value) for value in kept if isinstance(value, bytes))


def pack(matrix: Matrix, i: int, account: AnswerCounts | None = None) -> PackedRow:
    """Row i of the matrix, with its encoding chosen by its own scores."""
    values = matrix.scores[i]
    gone = None if matrix.missing is None or not matrix.missing[i].any() else matrix.missing[i]
    sure = None if matrix.confidences is None else np.ascontiguousarray(matrix.confidences[i], "<f4")
    binary = matrix.binary or bool(np.isin(values, (0.0, 1.0)).all())
    raw = np.packbits(values != 0).tobytes() if binary else values.astype("<f8").tobytes()
    mask = None if gone is None else np.packbits(gone).tobytes()
    scored = len(values) - (0 if gone is None else int(gone.sum()))
    return PackedRow(
        model=matrix.models[i],
        binary=binary,
        scored=scored,
        accuracy=float(values.sum(dtype=np.float64)) / scored if scored else None,
        sha256=_digest(b"bits" if binary else b"f8", raw, mask, None if sure is None else sure.tobytes()),
        scores=raw if binary else squeeze(raw),
        missing=mask,
        confidences=None if sure is None else squeeze(sure.tobytes()),
        account=(None,) * 7 if account is None else _account(account),
    )


def _account(account: AnswerCounts) -> tuple[int | float | bytes | None, ...]:
    states, repeats = account.states, account.repeats
    return (
        account.errored,
        account.unscored,
        account.not_run,
        account.answers,
        account.reported,
        None if states is None else squeeze(states.tobytes()),
        None if repeats is None else squeeze(repeats.astype("<u2").tobytes()),
    )


def pack_origin(origin: Origin | None) -> bytes | None:
    """Tasks by number, since few tasks have all examples."""
    if origin is None:
        return None
    tasks = list(dict.fromkeys(origin.tasks))
    number = {task: at for at, task in enumerate(tasks)}
    told = {
        "tool": origin.tool,
        "tasks": tasks,
        "of": [number[task] for task in origin.tasks],
        "ids": origin.ids,
        "hashes": origin.hashes,
    }
    return squeeze(orjson.dumps(told))


def unpack_origin(packed: bytes | None) -> Origin | None:
    """Undo `pack_origin`."""
    if packed is None:
        return None
    told = orjson.loads(expand(packed))
    hashes = told["hashes"]
    tasks = tuple(told["tasks"][at] for at in told["of"])
    return Origin(told["tool"], tasks, tuple(told["ids"]), None if hashes is None else tuple(hashes))


def scores_of(rows: Sequence[tuple[bool, bytes]], n: int) -> Scores:
    """Scores, shape (len(rows), n): uint8 when every row is binary, else float64."""
    if all(binary for binary, _ in rows):
        return bits(b"".join(packed for _, packed in rows), len(rows), n)
    values = np.empty((len(rows), n))
    for i, (binary, packed) in enumerate(rows):
        values[i] = bits(packed, 1, n)[0] if binary else np.frombuffer(expand(packed), "<f8")
    return values


def missing_of(rows: Sequence[bytes | None], n: int) -> NDArray[np.bool_] | None:
    """Missing cells, shape (len(rows), n); None when no row has any."""
    if all(mask is None for mask in rows):
        return None
    gone = np.zeros((len(rows), n), dtype=bool)
    for i, mask in enumerate(rows):
        if mask is not None:
            gone[i] = bits(mask, 1, n)[0]
    return gone


def confidences_of(rows: Sequence[bytes | None], n: int) -> NDArray[np.float32] | None:
    """Confidences, shape (len(rows), n); None unless every row has them."""
    if not rows or any(packed is None for packed in rows):
        return None
    joined = b"".join(expand(packed) for packed in rows if packed is not None)
    return np.frombuffer(joined, "<f4").astype(np.float32).reshape(len(rows), n)


def header_sha256(matrix: Matrix) -> bytes:
    """Hash of what all rows share: example ids, subtasks, embeddings."""
    vectors = matrix.embeddings
    return _digest(
        orjson.dumps(matrix.examples),
        orjson.dumps(matrix.subtasks),
        matrix.strata.astype("<i4").tobytes(),
        None if vectors is None else np.ascontiguousarray(vectors, "<f4").tobytes(),
    )


def content_hash(header: bytes, rows: Sequence[tuple[str, bytes]]) -> str:
    """Hash of a whole revision from its header's and its rows', ordered by model."""
    digest = hashlib.sha256(header)
    for model, row in rows:
        name = model.encode()
        digest.update(len(name).to_bytes(8, "big") + name + row)
    return digest.hexdigest()


def squeeze(raw: bytes) -> bytes:
    """zstd, with the size in the frame."""
    return zstandard.ZstdCompressor(level=LEVEL).compress(raw)


def expand(packed: bytes) -> bytes:
    """Undo `squeeze`; for bytes this service wrote."""
    return zstandard.ZstdDecompressor().decompress(packed)


def bits(packed: bytes, rows: int, n: int) -> NDArray[np.uint8]:
    """Unpack rows of n bits each, every row starting on a byte."""
    return np.unpackbits(np.frombuffer(packed, np.uint8).reshape(rows, -1), axis=1, count=n)


def bounds(matrix: Matrix) -> NDArray[np.float64]:
    """Lowest and highest score of each example, shape (2, N); +inf and −inf where no model has one."""
    return bounds_of(matrix.scores, matrix.missing)


def bounds_of(scores: Scores, missing: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """`bounds` of bare scores, shape (M, N)."""
    if missing is None:
        return np.stack([scores.min(axis=0), scores.max(axis=0)]).astype(np.float64)
    low = np.where(missing, np.inf, scores).min(axis=0)
    high = np.where(missing, -np.inf, scores).max(axis=0)
    return np.stack([low, high])


def widen(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounds over the models of both."""
    return np.stack([np.minimum(one[0], other[0]), np.maximum(one[1], other[1])])


def unbounded(n: int) -> NDArray[np.float64]:
    """Bounds over no model."""
    return np.stack([np.full(n, np.inf), np.full(n, -np.inf)])


def unpack_bounds(packed: bytes) -> NDArray[np.float64]:
    """Bounds as `matrices` keeps them, shape (2, N)."""
    return np.frombuffer(expand(packed), "<f8").reshape(2, -1)


def _digest(*fields: bytes | None) -> bytes:
    digest = hashlib.sha256()
    for field in fields:
        digest.update(b"-" if field is None else b"+" + len(field).to_bytes(8, "big") + field)
    return digest.digest()

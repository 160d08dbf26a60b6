"""Caches the matrix that a worker process read last, because it often computes several parts of one job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Engine

from service.engine.data.matrix import Matrix, MissingPolicy
from service.store import matrices
from service.store.records import Claim
from workers.retry import with_retries


@dataclass(slots=True)
class MatrixCache:
    """Holds one matrix, with its missing cells filled or dropped as the job's `missing` says."""

    _key: tuple[str, str] | None = None
    _matrix: Matrix | None = None

    def load(self, engine: Engine, part: Claim) -> Matrix:
        """The complete matrix of the part's job."""
        policy: MissingPolicy | Literal["error"] = part.settings.get("missing", "error")
        key = (part.content_hash, policy)
        if self._matrix is None or self._key != key:
            # Release the old matrix first: two may not fit into memory.
            self._matrix = None
            stored = with_retries(engine, lambda conn: matrices.load(conn, part.matrix_id, part.revision))
            self._matrix = stored if policy == "error" else stored.fill(policy)
            self._key = key
        return self._matrix

"""Caches the matrix that a worker process read last, because it often computes several parts of one job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy import Engine

from service.engine.data.matrix import MissingPolicy
from service.engine.data.scored_matrix import Scoring
from service.store import scored
from service.store.records import Claim
from service.store.scored import ScoredMatrix
from workers.retry import with_retries


@dataclass(slots=True)
class MatrixCache:
    """Holds one matrix, with its missing cells filled or dropped as the job's `missing` says."""

    _key: tuple[object, ...] | None = None
    _held: ScoredMatrix | None = None

    def load(self, engine: Engine, part: Claim) -> ScoredMatrix:
        """The complete matrix of the part's job, with the scores that the job asks for."""
        scoring = Scoring.of(part.settings)
        policy: MissingPolicy | Literal["error"] = part.settings.get("missing", "error")
        key = (part.content_hash, policy, scoring)
        if self._held is None or self._key != key:
            # Release the old matrix first: two may not fit into memory.
            self._held = None
            stored = with_retries(
                engine, lambda conn: scored.load(conn, part.matrix_id, part.revision, scoring)
            )
            full = stored.matrix if policy == "error" else stored.matrix.fill(policy)
            self._held = replace(stored, matrix=full)
            self._key = key
        return self._held

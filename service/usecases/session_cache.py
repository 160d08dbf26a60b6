"""What judging the answers of sessions takes, kept between requests.

Source models are learnt once for all sessions on a revision of a matrix; nothing of it is stored,
since it is learnt again in a second at 12,000 examples and 400 models.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from service.engine.comparison.sequential import Known, Order, Prepared, Sources, learn, prepare
from service.store import matrices, sessions
from service.store.records import MatrixRecord, SessionRecord

MOST_SOURCES = 400
"""Source models; of more, so many are taken at even steps of their scores."""
MOST_CELLS = 20_000_000
_KEPT_CELLS = 24_000_000
_KEPT_SESSIONS = 10_000_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """A revision of a matrix, as sessions on it need it.

    Attributes
    ----------
    examples : tuple of str, length N
    place : mapping of str to int
    sources : Sources
    """

    examples: tuple[str, ...]
    place: dict[str, int]
    sources: Sources


class _Recent(Generic[T]):
    """The values used last, up to a weight together; each is made once."""

    def __init__(self, most: int, weight: Callable[[T], int]) -> None:
        self._most, self._weight = most, weight
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()
        # One at a time: a matrix is read whole to make one, and two at once may not fit.
        self._making = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        found = self._find(key)
        if found is not None:
            return found
        with self._making:
            found = self._find(key)
            if found is None:
                found = make()
                self._keep(key, found)
        return found

    def _find(self, key: Hashable) -> T | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: Hashable, made: T) -> None:
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > 1 and sum(map(self._weight, self._kept.values())) > self._most:
                self._kept.popitem(last=False)


class SessionCache:
    """Benchmarks and sessions of the last requests."""

    def __init__(self) -> None:
        self._benchmarks: _Recent[Benchmark] = _Recent(_KEPT_CELLS, lambda one: one.sources.cells)
        self._sessions: _Recent[Prepared] = _Recent(_KEPT_SESSIONS, lambda one: 4 * one.examples)

    def benchmark(self, conn: Connection, matrix: MatrixRecord) -> Benchmark:
        """The revision with what its models say."""
        return self._benchmarks.get((matrix.id, matrix.revision), lambda: _benchmark(conn, matrix))

    def prepared(self, conn: Connection, session: SessionRecord, matrix: MatrixRecord) -> Prepared:
        """What the session's answers are judged with."""
        benchmark = self.benchmark(conn, matrix)
        return self._sessions.get(session.id, lambda: _prepared(conn, session, matrix, benchmark))


def baseline_of(conn: Connection, matrix: MatrixRecord, model: str) -> NDArray[np.float64]:
    """A model's scores on every example, NaN where missing."""
    found = matrices.load(conn, matrix.id, matrix.revision, models=[model])
    row: NDArray[np.float64] = found.scores[0].astype(np.float64)
    if found.missing is not None:
        row[found.missing[0]] = np.nan
    return row


def _benchmark(conn: Connection, matrix: MatrixRecord) -> Benchmark:
    found = matrices.load(conn, matrix.id, matrix.revision, models=_source_models(conn, matrix))
    observed = None if found.missing is None else ~found.missing
    scores = found.scores
    if observed is not None:
        scored = observed.any(axis=1)
        scores, observed = scores[scored], observed[scored]
    place = {example: at for at, example in enumerate(found.examples)}
    return Benchmark(found.examples, place, learn(scores, found.strata, observed))


def _source_models(conn: Connection, matrix: MatrixRecord) -> list[str] | None:
    """None for all of them."""
    most = max(min(MOST_SOURCES, MOST_CELLS // matrix.n_examples), 2)
    if matrix.n_models <= most:
        return None
    outline = matrices.outline(conn, matrix.id, matrix.revision)
    accuracies = [-1.0 if value is None else value for value in outline["accuracies"]]
    ranked = np.argsort(accuracies, kind="stable")
    steps = np.linspace(0, len(ranked) - 1, most).round().astype(int)
    return sorted(outline["models"][at] for at in ranked[steps])


def _prepared(
    conn: Connection, session: SessionRecord, matrix: MatrixRecord, benchmark: Benchmark
) -> Prepared:
    order = sessions.order(conn, session)
    name = session.settings["question"]["baseline"]
    baseline = None if name is None else baseline_of(conn, matrix, name)
    known = Known(benchmark.sources, baseline, order.clusters)
    return prepare(known, Order(order.examples, order.sizes), session.settings["mode"])

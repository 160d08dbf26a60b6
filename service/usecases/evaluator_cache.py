"""What judging new answers takes, kept between requests: selections and revisions never change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from sqlalchemy import Connection

from service.engine.comparison import Drift
from service.engine.comparison.order_probability import JEFFREYS
from service.engine.comparison.selection_evaluator import (
    SelectionEvaluator,
    build_evaluator,
    drifted,
    pair_prior,
)
from service.store import matrices, scored
from service.store.records import MatrixRecord, SelectionRecord
from service.usecases.scoring import of_selection, refusing

MOST_CELLS = 16_000_000
LARGEST_FOR_PRIOR = 20_000_000
MOST_PRIORS = 1_000
MOST_DRIFTS = 1_000
MOST_MODELS = 1_000_000


class EvaluatorCache:
    """The standings asked for last, up to a number of cells together."""

    def __init__(self, most_cells: int = MOST_CELLS) -> None:
        self._most = most_cells
        self._kept: OrderedDict[Hashable, SelectionEvaluator] = OrderedDict()
        self._priors: OrderedDict[Hashable, float] = OrderedDict()
        self._drifts: OrderedDict[Hashable, Drift | None] = OrderedDict()
        self._lock = threading.Lock()
        # One at a time: a matrix is read whole to make one, and two at once may not fit.
        self._making = threading.Lock()

    def of(
        self, conn: Connection, selection: SelectionRecord, *, confidences: bool = False
    ) -> SelectionEvaluator:
        """How this selection stands for its benchmark."""
        key = (selection.id, selection.content_hash, confidences)
        found = self._find(key)
        if found is None:
            with self._making:
                found = self._find(key)
                if found is None:
                    scoring = of_selection(selection.body)
                    matrix = scored.load(conn, selection.matrix_id, selection.revision, scoring).matrix
                    found = build_evaluator(matrix, selection.body, confidences=confidences)
                    self._keep(key, found)
        return found

    def prior(self, conn: Connection, matrix: MatrixRecord) -> float:
        """How discordant examples of this revision's pairs split; Jeffreys' prior for a huge matrix."""
        if matrix.n_models * matrix.n_examples > LARGEST_FOR_PRIOR:
            return JEFFREYS
        key = (matrix.id, matrix.revision)
        with self._making:
            if key not in self._priors:
                self._priors[key] = pair_prior(matrices.load(conn, matrix.id, matrix.revision))
            while len(self._priors) > MOST_PRIORS:
                self._priors.popitem(last=False)
            return self._priors[key]

    def drift(self, conn: Connection, selection: SelectionRecord, newest: MatrixRecord) -> Drift | None:
        """How the selection does on models that joined its matrix up to this revision; None when none did."""
        then = self.of(conn, selection)
        key = (selection.id, selection.content_hash, newest.revision)
        with self._making:
            if key not in self._drifts:
                self._drifts[key] = _drift(conn, then, selection, newest)
            while len(self._drifts) > MOST_DRIFTS:
                self._drifts.popitem(last=False)
            return self._drifts[key]

    def _find(self, key: Hashable) -> SelectionEvaluator | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: Hashable, made: SelectionEvaluator) -> None:
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > 1 and sum(kept.cells for kept in self._kept.values()) > self._most:
                self._kept.popitem(last=False)


def _drift(
    conn: Connection, then: SelectionEvaluator, selection: SelectionRecord, newest: MatrixRecord
) -> Drift | None:
    held = set(then.models)
    everyone = matrices.models(conn, newest.id, newest.revision, None, MOST_MODELS).items
    joined = [
        model.model for model in everyone if model.revision > selection.revision and model.model not in held
    ]
    if not joined:
        return None
    scoring = of_selection(selection.body)
    with refusing():
        return drifted(then, scored.load(conn, newest.id, newest.revision, scoring, joined).matrix)

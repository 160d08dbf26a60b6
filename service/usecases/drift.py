"""Does a selection still hold for the models that joined its matrix since?"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from service.engine.comparison import Drift
from service.store import matrices, selections
from service.store.records import MatrixRecord, SelectionRecord
from service.usecases.evaluator_cache import EvaluatorCache

# All pairs of more models than these take longer than a verdict should.
MOST_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Drift between two revisions of the matrix, and what it means in a sentence."""

    selection_id: str
    revision_then: int
    revision_now: int
    sentence: str
    found: Drift


def measure_drift(conn: Connection, standings: EvaluatorCache, selection_id: str) -> DriftReport:
    """Set the selection's estimates of the models that joined since beside their full scores."""
    selection = selections.get(conn, selection_id)
    newest = matrices.get(conn, selection.matrix_id)
    found = standings.drift(conn, selection, newest)
    return _report(selection, newest, found or Drift(0, 0, None, None, None, 0.0, None, None, reselect=False))


def drift_since(
    conn: Connection, standings: EvaluatorCache, selection: SelectionRecord
) -> DriftReport | None:
    """The same for the answers of a selection; None where no model has joined."""
    newest = matrices.get(conn, selection.matrix_id)
    if newest.revision == selection.revision or newest.n_models > MOST_AT_ONCE:
        return None
    found = standings.drift(conn, selection, newest)
    return None if found is None or not found.new_models else _report(selection, newest, found)


def _report(selection: SelectionRecord, newest: MatrixRecord, found: Drift) -> DriftReport:
    return DriftReport(selection.id, selection.revision, newest.revision, _sentence(found), found)


def _sentence(found: Drift) -> str:
    if not found.new_models:
        return "No model has joined the matrix since the selection was made."
    if found.agreement is None or found.agreement_expected is None:
        return f"{found.new_models} models have joined; none differs in full score from another."
    share = f"{100 * found.agreement:.1f} %"
    seen = f"Of pairs with one of {found.new_models} new models {share} are ordered rightly"
    expected = f"{100 * found.agreement_expected:.1f} % would be, were its errors as they were"
    if found.reselect:
        off = "".join(_grown(found, reason) for reason in found.reasons)
        return f"{seen}; {expected}.{off} Select again, with the new models among the sources."
    return f"{seen}; {expected}. There is no sign that the selection has aged."


def _grown(found: Drift, reason: str) -> str:
    if reason == "error" and found.deviation_now is not None:
        then, now = 100 * found.deviation_then, 100 * found.deviation_now
        return f" Scores are {now:.1f} points off, and were {then:.1f}."
    if reason == "bias" and found.bias_now is not None:
        side = "low" if found.bias_now < 0 else "high"
        return f" They are too {side} by {100 * abs(found.bias_now):.1f} points on average."
    return ""

"""`GET /selections/{id}/drift`: does the selection still hold for newer models?"""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter
from sqlalchemy import Connection

from service.api.context import House, HouseDep
from service.api.route_classes import StrictRoute
from service.api.routes.selections import SelectionId
from service.engine.comparison import Drift
from service.schemas.problems import refusals
from service.schemas.verdicts import DriftView
from service.store import matrices, selections
from service.store.records import MatrixRecord, SelectionRecord

router = APIRouter(prefix="/selections/{selection_id}/drift", tags=["comparisons"], route_class=StrictRoute)

# All pairs of more models than these take longer than a verdict should.
MOST_AT_ONCE = 2_000


@router.get("", responses=refusals(404))
def get_drift(selection_id: SelectionId, house: HouseDep) -> DriftView:
    """Set the selection's estimates of the models that joined the matrix since beside their full scores."""
    with house.engine.begin() as conn:
        selection = selections.get(conn, selection_id)
        newest = matrices.get(conn, selection.matrix_id)
        found = house.standings.drift(conn, selection, newest)
    return _view(selection, newest, found or Drift(0, 0, None, None, None, 0.0, None, reselect=False))


def drift_since(conn: Connection, house: House, selection: SelectionRecord) -> DriftView | None:
    """The same for the answers of a selection; None where no model has joined."""
    newest = matrices.get(conn, selection.matrix_id)
    if newest.revision == selection.revision or newest.n_models > MOST_AT_ONCE:
        return None
    found = house.standings.drift(conn, selection, newest)
    return None if found is None or not found.new_models else _view(selection, newest, found)


def _view(selection: SelectionRecord, newest: MatrixRecord, found: Drift) -> DriftView:
    return DriftView(
        selection_id=selection.id,
        revision_then=selection.revision,
        revision_now=newest.revision,
        sentence=_sentence(found),
        **asdict(found),
    )


def _sentence(found: Drift) -> str:
    if not found.new_models:
        return "No model has joined the matrix since the selection was made."
    if found.agreement is None or found.agreement_expected is None:
        return f"{found.new_models} models have joined; none differs in full score from another."
    share = f"{100 * found.agreement:.1f} %"
    seen = f"Of pairs with one of {found.new_models} new models {share} are ordered rightly"
    expected = f"{100 * found.agreement_expected:.1f} % would be, were its errors as they were"
    if found.reselect:
        return f"{seen}; {expected}. Select again, with the new models among the sources."
    return f"{seen}; {expected}. There is no sign that the selection has aged."

"""`GET /selections/{id}/drift`: does the selection still hold for newer models?"""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter
from sqlalchemy import Connection

from service.api.house import House, HouseDep
from service.api.route import StrictRoute
from service.api.selections import SelectionId
from service.engine.comparison import Drift
from service.engine.standing import drifted
from service.schemas.problems import refusals
from service.schemas.verdicts import DriftView
from service.store import matrices, selections
from service.store.records import MatrixRecord, SelectionRecord

router = APIRouter(prefix="/selections/{selection_id}/drift", tags=["comparisons"], route_class=StrictRoute)

MOST_MODELS = 1_000_000


@router.get("", responses=refusals(404))
def get_drift(selection_id: SelectionId, house: HouseDep) -> DriftView:
    """Set the selection's estimates of the models that joined the matrix since beside their full scores."""
    with house.engine.begin() as conn:
        selection = selections.get(conn, selection_id)
        newest = matrices.get(conn, selection.matrix_id)
        found = _drift(conn, house, selection, newest)
    return DriftView(
        selection_id=selection.id,
        revision_then=selection.revision,
        revision_now=newest.revision,
        sentence=_sentence(found),
        **asdict(found),
    )


def _drift(conn: Connection, house: House, selection: SelectionRecord, newest: MatrixRecord) -> Drift:
    then = house.standings.of(conn, selection)
    held = set(then.models)
    everyone = matrices.models(conn, newest.id, newest.revision, None, MOST_MODELS).items
    joined = [model.model for model in everyone if model.revision > selection.revision]
    joined = [model for model in joined if model not in held]
    if not joined:
        return Drift(0, 0, None, None, None, 0.0, None, reselect=False)
    return drifted(then, matrices.load(conn, newest.id, newest.revision, models=joined))


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

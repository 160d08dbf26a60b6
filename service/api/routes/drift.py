"""`GET /selections/{id}/drift`: does the selection still work for newer models?"""

from __future__ import annotations

from fastapi import APIRouter

from service.api import responses
from service.api.context import ContextDep
from service.api.route_classes import StrictRoute
from service.api.routes.selections import SelectionId
from service.schemas.problems import refusals
from service.schemas.verdicts import DriftView
from service.usecases.drift import measure_drift

router = APIRouter(prefix="/selections/{selection_id}/drift", tags=["comparisons"], route_class=StrictRoute)


@router.get("", responses=refusals(404))
def get_drift(selection_id: SelectionId, context: ContextDep) -> DriftView:
    """Compare the selection's estimates of models that joined the matrix later with their full scores."""
    with context.engine.begin() as conn:
        return responses.drift_view(measure_drift(conn, context.evaluators, selection_id))

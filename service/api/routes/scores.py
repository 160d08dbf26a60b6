"""`POST /selections/{id}/scores`: what would these models score on the full benchmark?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request

from service.api import responses
from service.api.context import ContextDep
from service.api.openapi.upload_bodies import UPLOAD_BODY
from service.api.received_upload import limits_of, received
from service.api.route_classes import StrictRoute
from service.api.routes.matrices import Fields
from service.api.routes.selections import SelectionId
from service.schemas.problems import refusals
from service.schemas.scores import ScoresView, ScoreView
from service.usecases.score_models import EstimateSettings, ModelScores, ScoredModel, score_kept, score_models
from service.usecases.upload_matrix import SentFile

router = APIRouter(prefix="/selections/{selection_id}/scores", tags=["comparisons"], route_class=StrictRoute)

Keep = Annotated[bool, Query(description="Keep the answers, so that `/compare` knows these models by name.")]
Confidence = Annotated[float, Query(ge=0.5, le=0.9999, description="Of the intervals.")]
RunVariance = Annotated[
    float,
    Query(
        ge=0,
        le=0.25,
        description="Mean variance of an answer between repeated runs of a model, from sampled decoding. "
        "Intervals then hold for the score of another run; 0, for this very run.",
    ),
]


Estimator = Annotated[
    Literal["auto", "plain"],
    Query(
        description="Of a random or stratified selection: the mean of its answers corrected by what the "
        "source models say of the other examples, or that mean alone."
    ),
]


@router.post("", responses=refusals(400, 404, 413, 415), openapi_extra=UPLOAD_BODY)
async def estimate(
    selection_id: SelectionId,
    request: Request,
    context: ContextDep,
    fields: Fields,
    keep: Keep = False,
    confidence: Confidence = 0.95,
    run_variance: RunVariance = 0.0,
    estimator: Estimator = "auto",
) -> ScoresView:
    """Estimate full scores from answers on the selection only, in any format of `POST /matrices`.

    Answers are matched by example id; those to other examples of the benchmark are set
    aside. Each model gets a score with its interval, a rank interval among the matrix's
    models, and the models it cannot be told from.
    """
    settings = EstimateSettings(confidence, run_variance, estimator)
    async with received(request, fields.given()) as sent:
        file = SentFile(sent.file, sent.filename, sent.options, limits_of(context.settings))
        found = await context.uploads.run(
            context.workspace,
            score_models,
            context.engine,
            context.evaluators,
            selection_id,
            file,
            settings,
            keep=keep,
        )
    return _view(found, settings, kept=keep)


@router.get("", responses=refusals(404))
def list_scores(
    selection_id: SelectionId,
    context: ContextDep,
    confidence: Confidence = 0.95,
    run_variance: RunVariance = 0.0,
    estimator: Estimator = "auto",
) -> ScoresView:
    """The estimates of the models whose answers were kept."""
    settings = EstimateSettings(confidence, run_variance, estimator)
    found = score_kept(context.engine, context.evaluators, selection_id, settings)
    return _view(found, settings, kept=True)


def _view(found: ModelScores, settings: EstimateSettings, *, kept: bool) -> ScoresView:
    return ScoresView(
        selection_id=found.selection_id,
        matrix=responses.matrix_ref(found.matrix),
        confidence=settings.confidence,
        estimator=found.estimator,
        scores=[_score(scored) for scored in found.scores],
        drift=None if found.drift is None else responses.drift_view(found.drift),
        kept=kept,
        warnings=found.warnings,
    )


def _score(scored: ScoredModel) -> ScoreView:
    named = {"model": scored.model, "indistinguishable": scored.indistinguishable}
    return ScoreView.model_validate(asdict(scored.score) | named)

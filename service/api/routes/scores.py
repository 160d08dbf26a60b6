"""`POST /selections/{id}/scores`: what would these models score on the full benchmark?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from numpy.typing import NDArray

from service import ingest
from service.api import responses
from service.api.context import AppContext, ContextDep
from service.api.openapi.upload_bodies import UPLOAD_BODY
from service.api.received_upload import Received, limits_of, received
from service.api.route_classes import StrictRoute
from service.api.routes.matrices import Fields
from service.api.routes.selections import SelectionId
from service.core.errors import FieldError, InvalidUpload
from service.engine.comparison import AbilityEstimator, Score, estimate_scores
from service.engine.comparison.selection_evaluator import SelectionEvaluator
from service.engine.data.matrix import Matrix
from service.engine.microbenchmark.evidence import linear
from service.schemas.problems import refusals
from service.schemas.verdicts import ScoresView, ScoreView
from service.store import answers, matrices, selections
from service.store.records import MatrixRecord, SelectionRecord
from service.usecases import upload_records
from service.usecases.drift import DriftReport, drift_since

router = APIRouter(prefix="/selections/{selection_id}/scores", tags=["comparisons"], route_class=StrictRoute)

Row = NDArray[np.float64]
OF_SCORES = "The estimates here are from confidences; kept, for `/compare`, are the scores sent with them."
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


@dataclass(frozen=True, slots=True)
class Asked:
    """How to estimate."""

    confidence: float
    run_variance: float
    estimator: Literal["auto", "plain"]


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
    async with received(request, fields.given()) as sent:
        asked = Asked(confidence, run_variance, estimator)
        return await context.uploads.run(
            context.workspace, _estimate, context, selection_id, sent, asked, keep
        )


@router.get("", responses=refusals(404))
def list_scores(
    selection_id: SelectionId,
    context: ContextDep,
    confidence: Confidence = 0.95,
    run_variance: RunVariance = 0.0,
    estimator: Estimator = "auto",
) -> ScoresView:
    """The estimates of the models whose answers were kept."""
    with context.engine.begin() as conn:
        selection = selections.get(conn, selection_id)
        standing = context.evaluators.of(conn, selection)
        rows = answers.find(conn, selection.id, answers.models(conn, selection.id))
        since = drift_since(conn, context.evaluators, selection)
        matrix = matrices.get(conn, selection.matrix_id, selection.revision)
    asked = Asked(confidence, run_variance, estimator)
    return _view(selection, matrix, standing, rows, asked, kept=True, drift=since, warnings=[])


def _estimate(context: AppContext, selection_id: str, sent: Received, asked: Asked, keep: bool) -> ScoresView:
    upload = ingest.read(
        sent.file, filename=sent.filename, options=sent.options, limits=limits_of(context.settings)
    )
    with context.engine.begin() as conn:
        selection = selections.get(conn, selection_id)
        # A policy on missing cells may have dropped some of them from what was chosen from.
        examples = matrices.examples(conn, selection.matrix_id)
        origin = matrices.origin(conn, selection.matrix_id)
        if sent.options.unmatched == "refuse":
            upload = upload_records.matched_by_content(upload, examples, origin)
        confidences = selection.body["scored_by"] == "confidences" and upload.matrix.confidences is not None
        standing = context.evaluators.of(conn, selection, confidences=confidences)
        matrix = matrices.get(conn, selection.matrix_id, selection.revision)
        rows, warnings = _rows(upload.matrix, examples, standing.chosen, confidences=confidences)
        warnings += _foreign(upload_records.mismatched_examples(upload, examples, origin))
        if keep:
            # Comparisons are of scores, whatever the estimate is made from.
            if confidences:
                rows_kept, _ = _rows(upload.matrix, examples, standing.chosen, confidences=False)
            answers.keep(conn, selection.id, rows_kept if confidences else rows)
            warnings += _namesakes(sorted(set(rows) & set(standing.models)))
            warnings += [OF_SCORES] if confidences else []
        since = drift_since(conn, context.evaluators, selection)
    warnings = [*upload.warnings, *warnings]
    return _view(selection, matrix, standing, rows, asked, kept=keep, drift=since, warnings=warnings)


def _rows(
    part: Matrix, examples: Sequence[str], chosen: Sequence[str], *, confidences: bool
) -> tuple[dict[str, Row], list[str]]:
    """Answers on the chosen of the matrix's examples, NaN where missing, shape (n,) a model."""
    whole = ingest.align(part, tuple(examples))
    place = {example: at for at, example in enumerate(examples)}
    columns = [place[example] for example in chosen]
    scores = (whole.confidences if confidences and whole.confidences is not None else whole.scores)[
        :, columns
    ]
    values = scores.astype(np.float64)
    if whole.missing is not None:
        values[whole.missing[:, columns]] = np.nan
    rows = dict(zip(whole.models, values, strict=True))
    for model, row in rows.items():
        if np.isnan(row).all():
            message = f"{model!r} answered none of the {len(row)} examples of the selection."
            raise InvalidUpload(message, [FieldError(f"model {model!r}", "no_answers", message)])
    outside = len(set(part.examples).difference(chosen))
    warnings = [f"Answers to {outside} examples outside the selection are set aside."] if outside else []
    return rows, warnings


def _namesakes(names: list[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(map(repr, names[:3])) + " …" * (len(names) > 3)
    return [
        f"The matrix has models of these names too ({shown}): on this selection `/compare` now takes the "
        "answers kept, not the matrix's."
    ]


def _foreign(names: list[str]) -> list[str]:
    """That these answers may not be to the questions their ids name; some tasks shuffle their choices."""
    if not names:
        return []
    shown = ", ".join(map(repr, names[:3]))
    return [
        f"{len(names)} examples have another content than the same ids in the matrix ({shown}); check that "
        "the new run is of the same version of the benchmark, and numbers its examples as before."
    ]


def _view(
    selection: SelectionRecord,
    matrix: MatrixRecord,
    standing: SelectionEvaluator,
    rows: dict[str, Row],
    asked: Asked,
    *,
    kept: bool,
    drift: DriftReport | None,
    warnings: list[str],
) -> ScoresView:
    found = []
    if rows:
        table = np.array(list(rows.values()))
        by = standing.basis(asked.estimator)
        found = estimate_scores(table, by, standing.known, asked.confidence, asked.run_variance)
    return ScoresView(
        selection_id=selection.id,
        matrix=responses.matrix_ref(matrix),
        confidence=asked.confidence,
        estimator=_estimator(selection, standing),
        scores=[_score(model, score, standing) for model, score in zip(rows, found, strict=True)],
        drift=None if drift is None else responses.drift_view(drift),
        kept=kept,
        warnings=warnings,
    )


def _estimator(selection: SelectionRecord, standing: SelectionEvaluator) -> str:
    """What the scores were estimated by, as far as it has a name."""
    return "blp" if isinstance(standing.by, AbilityEstimator) else linear(selection.body["estimator"])


def _score(model: str, score: Score, standing: SelectionEvaluator) -> ScoreView:
    alike = [standing.models[at] for at in score.indistinguishable]
    return ScoreView.model_validate(asdict(score) | {"model": model, "indistinguishable": alike})

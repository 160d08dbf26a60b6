"""What models would score on the full benchmark, from their answers on a selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from service import ingest
from service.core.errors import FieldError, InvalidUpload
from service.engine.comparison import AbilityEstimator, Score, estimate_scores
from service.engine.comparison.selection_evaluator import SelectionEvaluator
from service.engine.data.matrix import Matrix
from service.engine.microbenchmark.evidence import linear
from service.store import answers, matrices, selections
from service.store.records import MatrixRecord, SelectionRecord
from service.usecases import scoring, upload_records
from service.usecases.drift import DriftReport, drift_since
from service.usecases.evaluator_cache import EvaluatorCache
from service.usecases.upload_matrix import SentFile

OF_SCORES = "The estimates here are from confidences; kept, for `/compare`, are the scores sent with them."

Row = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EstimateSettings:
    """How to estimate.

    Attributes
    ----------
    confidence : float
        Of the intervals.
    run_variance : float
        Mean variance of an answer between repeated runs; 0 for this very run.
    estimator : {"auto", "plain"}
        Whether a sample's full scores are estimated with the help of the source models.
    """

    confidence: float = 0.95
    run_variance: float = 0.0
    estimator: Literal["auto", "plain"] = "auto"


@dataclass(frozen=True, slots=True)
class ScoredModel:
    """One model's score, and the models of the matrix it cannot be told from."""

    model: str
    score: Score
    indistinguishable: list[str]


@dataclass(frozen=True, slots=True)
class ModelScores:
    """The scores, what they rest on, and warnings about the upload."""

    selection_id: str
    matrix: MatrixRecord
    estimator: str
    scores: list[ScoredModel]
    drift: DriftReport | None
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class _Found:
    """What was read from the store; `rows` are the answers by model."""

    selection: SelectionRecord
    matrix: MatrixRecord
    evaluator: SelectionEvaluator
    rows: dict[str, Row]
    drift: DriftReport | None
    warnings: list[str]


def score_models(
    engine: Engine,
    evaluators: EvaluatorCache,
    selection_id: str,
    sent: SentFile,
    settings: EstimateSettings,
    *,
    keep: bool = False,
) -> ModelScores:
    """Score the models of an upload; with `keep`, later comparisons know them by name.

    Raises
    ------
    NotFound
        There is no such selection.
    InvalidUpload
        The file cannot be read, is of another benchmark, or has a model without an answer.
    """
    upload = sent.read()
    with engine.begin() as conn:
        selection = selections.get(conn, selection_id)
        # A policy on missing cells may have dropped some of them from what was chosen from.
        examples = matrices.examples(conn, selection.matrix_id)
        origin = matrices.origin(conn, selection.matrix_id)
        if sent.options.unmatched == "refuse":
            upload = upload_records.matched_by_content(upload, examples, origin)
        upload, scored = scoring.scored_upload(upload, scoring.of_selection(selection.body))
        part = upload.matrix
        confidences = selection.body["scored_by"] == "confidences" and part.confidences is not None
        evaluator = evaluators.of(conn, selection, confidences=confidences)
        matrix = matrices.get(conn, selection.matrix_id, selection.revision)
        rows = _rows(part, examples, evaluator.chosen, confidences=confidences)
        warnings = [
            *([] if scored is None else [f"The scores are {scored.statement}"]),
            *upload.warnings,
            *_outside(part, evaluator.chosen),
            *_foreign(upload_records.mismatched_examples(upload, examples, origin)),
        ]
        if keep:
            # Comparisons are of scores, whatever the estimate is made from.
            kept = _rows(part, examples, evaluator.chosen, confidences=False) if confidences else rows
            answers.keep(conn, selection.id, kept)
            warnings += _namesakes(sorted(set(rows) & set(evaluator.models)))
            warnings += [OF_SCORES] if confidences else []
        since = drift_since(conn, evaluators, selection)
    return _scored(_Found(selection, matrix, evaluator, rows, since, warnings), settings)


def score_kept(
    engine: Engine, evaluators: EvaluatorCache, selection_id: str, settings: EstimateSettings
) -> ModelScores:
    """Score the models whose answers on the selection were kept.

    Raises
    ------
    NotFound
        There is no such selection.
    """
    with engine.begin() as conn:
        selection = selections.get(conn, selection_id)
        found = _Found(
            selection=selection,
            matrix=matrices.get(conn, selection.matrix_id, selection.revision),
            evaluator=evaluators.of(conn, selection),
            rows=answers.find(conn, selection.id, answers.models(conn, selection.id)),
            drift=drift_since(conn, evaluators, selection),
            warnings=[],
        )
    return _scored(found, settings)


def _scored(found: _Found, settings: EstimateSettings) -> ModelScores:
    evaluator, scores = found.evaluator, []
    if found.rows:
        table = np.array(list(found.rows.values()))
        by = evaluator.basis(settings.estimator)
        scores = estimate_scores(table, by, evaluator.known, settings.confidence, settings.run_variance)
    return ModelScores(
        selection_id=found.selection.id,
        matrix=found.matrix,
        estimator=_estimator(found.selection, evaluator),
        scores=[
            ScoredModel(model, score, [evaluator.models[at] for at in score.indistinguishable])
            for model, score in zip(found.rows, scores, strict=True)
        ],
        drift=found.drift,
        warnings=found.warnings,
    )


def _rows(
    part: Matrix, examples: Sequence[str], chosen: Sequence[str], *, confidences: bool
) -> dict[str, Row]:
    """Answers on the chosen of the matrix's examples, NaN where missing, shape (n,) a model."""
    whole = ingest.align(part, tuple(examples))
    place = {example: at for at, example in enumerate(examples)}
    columns = [place[example] for example in chosen]
    scores = whole.confidences if confidences and whole.confidences is not None else whole.scores
    values = scores[:, columns].astype(np.float64)
    if whole.missing is not None:
        values[whole.missing[:, columns]] = np.nan
    rows = dict(zip(whole.models, values, strict=True))
    for model, row in rows.items():
        if np.isnan(row).all():
            message = f"{model!r} answered none of the {len(row)} examples of the selection."
            raise InvalidUpload(message, [FieldError(f"model {model!r}", "no_answers", message)])
    return rows


def _outside(part: Matrix, chosen: Sequence[str]) -> list[str]:
    outside = len(set(part.examples).difference(chosen))
    return [f"Answers to {outside} examples outside the selection are set aside."] if outside else []


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


def _estimator(selection: SelectionRecord, evaluator: SelectionEvaluator) -> str:
    """What the scores were estimated by, as far as it has a name."""
    return "blp" if isinstance(evaluator.by, AbilityEstimator) else linear(selection.body["estimator"])

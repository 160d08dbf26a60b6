"""Converts records of the store to response models."""

from __future__ import annotations

from dataclasses import asdict

from service.ingest import ModelReport, Upload
from service.schemas.jobs import JobError, JobLinks, JobPage, JobView, Progress
from service.schemas.matrices import (
    AttemptNumbersView,
    CellPage,
    CellView,
    MatrixPage,
    MatrixUploaded,
    MatrixView,
    ModelPage,
    ModelReportView,
    ModelView,
)
from service.schemas.selections import MatrixRef, SelectionPage, SelectionView
from service.schemas.verdicts import DriftView
from service.store.records import CellRecord, JobRecord, MatrixRecord, ModelRecord, Page, SelectionRecord
from service.usecases.drift import DriftReport
from service.usecases.model_facts import guessed_families


def matrix_view(record: MatrixRecord) -> MatrixView:
    """One revision of a matrix."""
    return MatrixView(
        id=record.id,
        name=record.name,
        revision=record.revision,
        models=record.n_models,
        examples=record.n_examples,
        subtasks=list(record.subtasks),
        binary=record.binary,
        missing_cells=record.missing_cells,
        constant_examples=record.constant_examples,
        has_confidences=record.has_confidences,
        has_embeddings=record.has_embeddings,
        content_hash=record.content_hash,
        created_at=record.created_at,
    )


def matrix_ref(record: MatrixRecord) -> MatrixRef:
    """The exact data that an answer was computed from."""
    return MatrixRef(id=record.id, revision=record.revision, content_hash=record.content_hash)


def uploaded_view(record: MatrixRecord, upload: Upload) -> MatrixUploaded:
    """A matrix that was just stored, with the findings of reading it."""
    return MatrixUploaded(
        **dict(matrix_view(record)),
        format=upload.format,
        attempts=_attempt_numbers(upload),
        reports=[model_report(report) for report in upload.models],
        warnings=list(upload.warnings),
    )


def _attempt_numbers(upload: Upload) -> AttemptNumbersView | None:
    numbers = upload.attempt_numbers
    return None if numbers is None else AttemptNumbersView(**asdict(numbers))


def model_report(report: ModelReport) -> ModelReportView:
    """The report on one model of an upload."""
    return ModelReportView(
        model=report.model,
        scored=report.scored,
        errored=report.errored,
        unscored=report.unscored,
        not_run=report.not_run,
        answers=report.answers,
        mean=report.mean,
        bounds=list(report.bounds),
        reported=report.reported,
    )


def matrix_page(page: Page[MatrixRecord]) -> MatrixPage:
    """A page of matrices."""
    return MatrixPage(items=[matrix_view(record) for record in page.items], next_cursor=page.next_cursor)


def model_page(page: Page[ModelRecord]) -> ModelPage:
    """A page of models; families are guessed among those on it."""
    guesses = guessed_families([record.model for record in page.items])
    items = [
        ModelView(
            model=record.model,
            accuracy=record.accuracy,
            scored=record.scored,
            missing=record.missing,
            errored=record.errored,
            unscored=record.unscored,
            not_run=record.not_run,
            answers=record.answers,
            reported=record.reported,
            revision=record.revision,
            family=record.facts.family,
            released=record.facts.released,
            tags=list(record.facts.tags),
            guessed_family=guesses.get(record.model),
        )
        for record in page.items
    ]
    return ModelPage(items=items, next_cursor=page.next_cursor)


def cell_page(page: Page[CellRecord]) -> CellPage:
    """A page of one model's results."""
    items = [
        CellView(example=cell.example, score=cell.score, state=cell.state, answers=cell.answers)
        for cell in page.items
    ]
    return CellPage(items=items, next_cursor=page.next_cursor)


def job_view(record: JobRecord) -> JobView:
    """A job with its links."""
    here = f"/jobs/{record.id}"
    return JobView.model_construct(
        id=record.id,
        kind=record.kind,
        status=record.status,
        progress=Progress.model_construct(
            done=record.parts_done, total=record.parts_total, fraction=record.progress
        ),
        attempt=record.attempt,
        place=record.place,
        seconds_left=None if record.seconds_left is None else round(record.seconds_left, 1),
        cancel_requested=record.cancel_requested,
        matrix_id=record.matrix_id,
        revision=record.revision,
        settings=dict(record.settings),
        created_at=record.created_at,
        started_at=record.started_at,
        finished_at=record.finished_at,
        error=JobError.model_validate(dict(record.error)) if record.error else None,
        links=JobLinks.model_construct(
            self=here,
            result=f"{here}/result",
            events=f"{here}/events",
            cancel=f"{here}/cancel",
            matrix=f"/matrices/{record.matrix_id}?revision={record.revision}",
        ),
    )


def job_page(page: Page[JobRecord]) -> JobPage:
    """A page of jobs."""
    return JobPage(items=[job_view(record) for record in page.items], next_cursor=page.next_cursor)


def selection_view(record: SelectionRecord) -> SelectionView:
    """A stored selection."""
    return SelectionView.model_validate(
        {
            **record.body,
            "selection_id": record.id,
            "content_hash": record.content_hash,
            "created_at": record.created_at,
        }
    )


def selection_page(page: Page[SelectionRecord]) -> SelectionPage:
    """A page of selections."""
    return SelectionPage(items=[selection_view(r) for r in page.items], next_cursor=page.next_cursor)


def drift_view(report: DriftReport) -> DriftView:
    """How well a selection works on models that were added to its matrix later."""
    return DriftView(
        selection_id=report.selection_id,
        revision_then=report.revision_then,
        revision_now=report.revision_now,
        sentence=report.sentence,
        **asdict(report.found),
    )

"""Matrices: upload, read, change one model, delete."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Path, Query, Request, Response

from service.api import etags, responses
from service.api.context import AppContext, ContextDep
from service.api.idempotency import IdempotencyKey, hash_of_file, run_once, stored_answer
from service.api.openapi.upload_bodies import UPLOAD_BODY
from service.api.parameters import Cursor, Limit
from service.api.received_upload import Received, limits_of, received
from service.api.route_classes import StrictRoute
from service.core.errors import FieldError, InvalidRequest
from service.schemas.matrices import (
    CellPage,
    MatrixPage,
    MatrixUploaded,
    MatrixView,
    ModelPage,
    ModelPatch,
    ModelView,
)
from service.schemas.problems import refusals
from service.schemas.uploads import UploadFields
from service.store import cells, matrices
from service.store.database import Transaction
from service.store.idempotency import StoredAnswer
from service.usecases import upload_matrix
from service.usecases.model_facts import change
from service.usecases.upload_matrix import SentFile

router = APIRouter(prefix="/matrices", tags=["matrices"], route_class=StrictRoute)

Fields = Annotated[UploadFields, Query()]
MatrixId = Annotated[str, Path(description="From `POST /matrices`.")]
Revision = Annotated[int | None, Query(ge=1, lt=2**31, description="The newest when left out.")]


@router.post(
    "",
    status_code=201,
    response_model=MatrixUploaded,
    responses=refusals(400, 409, 413, 415),
    openapi_extra=UPLOAD_BODY,
)
async def create_matrix(
    request: Request, context: ContextDep, fields: Fields, idempotency_key: IdempotencyKey = None
) -> Response:
    """Upload the results of many models on one benchmark, in any supported format.

    Send the file's bytes as the body, or as the part `file` of a multipart form;
    options go in the query or as further fields of the form.
    """
    async with received(request, fields.given()) as sent:
        return await context.uploads.run(context.workspace, _create, context, sent, idempotency_key)


def _create(context: AppContext, sent: Received, key: str | None) -> Response:
    said = sent.name, sent.filename, sent.options
    fingerprint = b"" if key is None else hash_of_file("POST /matrices", sent.file, said)
    # Before the transaction: reading can take seconds, and no connection should wait for it.
    upload = _file(context, sent).read()

    def work(conn: Transaction) -> StoredAnswer:
        record = upload_matrix.create_matrix(
            conn, upload, sent.name, context.settings.max_stored_bytes, sent.facts
        )
        view = responses.uploaded_view(record, upload)
        return stored_answer(201, view, {"Location": f"/matrices/{view.id}"})

    return run_once(context, key, fingerprint, work)


def _file(context: AppContext, sent: Received) -> SentFile:
    return SentFile(sent.file, sent.filename, sent.options, limits_of(context.settings), sent.facts)


@router.get("", responses=refusals())
def list_matrices(context: ContextDep, cursor: Cursor = None, limit: Limit = 50) -> MatrixPage:
    """All matrices, newest first, each at its newest revision."""
    with context.engine.begin() as conn:
        return responses.matrix_page(matrices.page(conn, cursor, limit))


@router.get("/{matrix_id}", response_model=MatrixView, responses=etags.NOT_MODIFIED | refusals(404))
def get_matrix(
    matrix_id: MatrixId, request: Request, response: Response, context: ContextDep, revision: Revision = None
) -> MatrixView | Response:
    """One matrix, without its cells."""
    with context.engine.begin() as conn:
        record = matrices.get(conn, matrix_id, revision)
    etag = f"{record.content_hash}.{record.revision}"
    if etags.is_current(request, etag):
        return etags.not_modified(etag)
    response.headers["ETag"] = f'"{etag}"'
    return responses.matrix_view(record)


@router.get("/{matrix_id}/models", responses=refusals(404))
def list_models(
    matrix_id: MatrixId,
    context: ContextDep,
    revision: Revision = None,
    cursor: Cursor = None,
    limit: Limit = 1000,
) -> ModelPage:
    """The models of a matrix by id, each with its accuracy over its scored examples."""
    with context.engine.begin() as conn:
        return responses.model_page(matrices.models(conn, matrix_id, revision, cursor, limit))


@router.get("/{matrix_id}/models/{model:path}", responses=refusals(404))
def list_cells(
    matrix_id: MatrixId,
    model: Annotated[str, Path(description="The model's id, slashes and all.")],
    context: ContextDep,
    revision: Revision = None,
    cursor: Cursor = None,
    limit: Limit = 1000,
) -> CellPage:
    """One model's results by example, with what became of the examples that have no score."""
    with context.engine.begin() as conn:
        return responses.cell_page(cells.page(conn, matrix_id, model, revision, cursor, limit))


@router.put(
    "/{matrix_id}/models/{model:path}",
    responses={
        201: {"model": MatrixUploaded, "description": "A model the matrix did not have before"},
        **refusals(400, 404, 409, 413, 415),
    },
    openapi_extra=UPLOAD_BODY,
)
async def put_model(
    matrix_id: MatrixId,
    model: Annotated[str, Path(description="The model's id, slashes and all.")],
    request: Request,
    response: Response,
    context: ContextDep,
    fields: Fields,
    attempts: Annotated[
        Literal["replace", "append"],
        Query(
            description="`append` keeps the model's attempts there are and adds those in the file; each call "
            "adds them once more."
        ),
    ] = "replace",
) -> MatrixUploaded:
    """Add one model's results, replace them, or add attempts; matched by example id, other models untouched.

    The matrix gets a new revision; earlier ones stay readable.
    """
    if fields.model not in (None, model):
        message = f"The path names {model!r}; leave `model` out."
        raise InvalidRequest(f"query/model: {message}", [FieldError("query/model", "repeated", message)])
    async with received(request, fields.given() | {"model": model}) as sent:
        stored = await context.uploads.run(
            context.workspace,
            upload_matrix.put_model,
            context.engine,
            matrix_id,
            _file(context, sent),
            context.settings.max_stored_bytes,
            append=attempts == "append",
        )
    view = responses.uploaded_view(stored.matrix, stored.upload)
    response.status_code = 201 if stored.created else 200
    response.headers["Location"] = f"/matrices/{view.id}?revision={view.revision}"
    return view


@router.patch("/{matrix_id}/models/{model:path}", responses=refusals(404, 413, 415))
def patch_model(
    matrix_id: MatrixId,
    model: Annotated[str, Path(description="The model's id, slashes and all.")],
    ask: Annotated[
        ModelPatch, Body(examples=[{"family": "qwen", "released": "2024-09-19", "tags": ["chat"]}])
    ],
    context: ContextDep,
) -> ModelView:
    """Say what is known of a model: its family, when it was released, marks of your own.

    Results and revision stay as they are. Release dates tell whether newcomers are better
    than the models before them; families, which models are left out together.
    """
    with context.engine.begin() as conn:
        change(conn, matrix_id, model, ask.model_dump(exclude_unset=True))
        found = matrices.models(conn, matrix_id, None, None, 1, only=model)
    return responses.model_page(found).items[0]


@router.delete("/{matrix_id}", status_code=204, response_class=Response, responses=refusals(404, 409))
def delete_matrix(
    matrix_id: MatrixId,
    context: ContextDep,
    cascade: Annotated[bool, Query(description="Delete its jobs, selections and sessions too.")] = False,
) -> None:
    """Delete a matrix, with all its revisions."""
    with context.engine.begin() as conn:
        matrices.delete(conn, matrix_id, cascade=cascade)

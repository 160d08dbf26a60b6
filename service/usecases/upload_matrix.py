"""Store the results of models on a benchmark: a new matrix, or one model of a matrix there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from sqlalchemy import Connection, Engine

from service import ingest
from service.core.errors import FieldError, StorageFull
from service.ingest import Limits, Options, Upload
from service.store import matrices, model_facts
from service.store.records import MatrixRecord, ModelFacts
from service.usecases import appended_attempts, upload_records
from service.usecases.model_facts import refuse_unknown


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of results, what it was called, and how to read it."""

    file: BinaryIO
    filename: str | None
    options: Options
    limits: Limits
    facts: Mapping[str, ModelFacts] = field(default_factory=dict)

    def read(self) -> Upload:
        """Its results; reading can take seconds, so hold no connection meanwhile."""
        return ingest.read(self.file, filename=self.filename, options=self.options, limits=self.limits)


@dataclass(frozen=True, slots=True)
class StoredModel:
    """One model's results in the store: the matrix's new revision, and whether the model is new to it."""

    matrix: MatrixRecord
    upload: Upload
    created: bool


def create_matrix(
    conn: Connection, upload: Upload, name: str, most_stored_bytes: int, facts: Mapping[str, ModelFacts]
) -> MatrixRecord:
    """Store a new matrix, with what is known of its models.

    Raises
    ------
    InvalidUpload
        Something is said of a model without results.
    StorageFull
        The workspace would hold more than it may; rolling back removes what was stored.
    """
    refuse_unknown(facts, upload.matrix.models)
    record = matrices.create(
        conn,
        upload.matrix,
        name=name,
        origin=upload_records.origin_of(upload),
        accounts=upload_records.answer_counts(upload),
    )
    model_facts.put(conn, record.id, facts)
    _check_room(conn, most_stored_bytes)
    return record


def put_model(
    engine: Engine, matrix_id: str, sent: SentFile, most_stored_bytes: int, *, append: bool = False
) -> StoredModel:
    """Add one model's results to a matrix, or replace them, or add attempts to them.

    Raises
    ------
    InvalidUpload
        The file cannot be read, or is of another version of the benchmark.
    StorageFull
        The workspace would hold more than it may; nothing is stored.
    """
    with engine.begin() as conn:
        examples, origin = matrices.examples(conn, matrix_id), matrices.origin(conn, matrix_id)
    upload = sent.read()
    if sent.options.unmatched == "refuse":
        upload = upload_records.matched_by_content(upload, examples, origin)
        mismatched = upload_records.mismatched_examples(upload, examples, origin)
        upload_records.refuse_mismatched(mismatched, len(upload.matrix.examples))
    upload = ingest.aligned_to(upload, examples)
    refuse_unknown(sent.facts, upload.matrix.models)
    (account,) = upload_records.answer_counts(upload)
    with engine.begin() as conn:
        if append:
            matrices.lock(conn, matrix_id)
            both = appended_attempts.append(conn, matrices.get(conn, matrix_id), upload)
            upload, account = both or (upload, account)
        record, created = matrices.put_model(
            conn, matrix_id, upload.matrix, origin=upload_records.origin_of(upload), account=account
        )
        model_facts.put(conn, record.id, sent.facts)
        _check_room(conn, most_stored_bytes)
    return StoredModel(record, upload, created)


def _check_room(conn: Connection, most: int) -> None:
    found = matrices.stored_bytes(conn)
    if found > most:
        message = (
            f"With this the matrices of the workspace would take {found:,} bytes, and they may take {most:,};"
            " delete some first."
        )
        raise StorageFull(message, [FieldError("", "storage_full", message)])

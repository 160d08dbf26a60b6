"""Receives an uploaded file, raw or multipart, with its options; spools it to disk."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from service.api import strict_json
from service.core.errors import FieldError, InvalidRequest, InvalidUpload
from service.core.settings import Settings
from service.ingest import Limits, Options
from service.store.records import ModelFacts
from service.usecases.model_facts import parse_table

IN_MEMORY = 1024 * 1024
MAX_NAME = 500
MAX_FIELD_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Received:
    """A received file with its name and its options."""

    file: BinaryIO
    filename: str | None
    name: str
    options: Options
    facts: Mapping[str, ModelFacts] = field(default_factory=dict)


@contextlib.asynccontextmanager
async def received(request: Request, query: Mapping[str, str]) -> AsyncIterator[Received]:
    """Receive the body for the length of the block; afterwards it is deleted from disk.

    Raises
    ------
    InvalidUpload
        The body, or the file in it, is empty.
    InvalidRequest
        An option is unknown, given twice with different values, or has an invalid value.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    opened = _multipart(request, query) if content_type == "multipart/form-data" else _raw(request, query)
    async with opened as sent:
        yield sent


def limits_of(settings: Settings) -> Limits:
    """The largest upload these settings accept."""
    return Limits(
        bytes=settings.max_expanded_bytes,
        models=settings.max_models,
        examples=settings.max_examples,
        cells=settings.max_cells,
    )


@contextlib.asynccontextmanager
async def _raw(request: Request, query: Mapping[str, str]) -> AsyncIterator[Received]:
    with SpooledTemporaryFile(IN_MEMORY) as file:
        chunks = bytearray()
        async for chunk in request.stream():
            chunks += chunk
            if len(chunks) >= IN_MEMORY:
                await run_in_threadpool(file.write, bytes(chunks))
                chunks.clear()
        file.write(chunks)
        yield _checked(cast(BinaryIO, file), None, query, "query")


@contextlib.asynccontextmanager
async def _multipart(request: Request, query: Mapping[str, str]) -> AsyncIterator[Received]:
    async with request.form(max_files=2, max_fields=50, max_part_size=MAX_FIELD_BYTES) as form:
        file = _the_file(form)
        fields = {**query, **_fields(form, query)}
        yield _checked(file.file, file.filename or None, fields, "form")


def _the_file(form: FormData) -> UploadFile:
    files = [(name, part) for name, part in form.multi_items() if isinstance(part, UploadFile)]
    if len(files) != 1 or files[0][0] != "file":
        found = ", ".join(repr(name) for name, _ in files) or "none"
        raise InvalidUpload(
            f"A multipart upload needs exactly one file part, called 'file'; found {found}.",
            [FieldError("form/file", "one_file", "Send one part called 'file', with a filename.")],
        )
    return files[0][1]


def _fields(form: FormData, query: Mapping[str, str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in form.multi_items():
        if not isinstance(value, str):
            continue
        if fields.setdefault(name, value) != value or query.get(name, value) != value:
            message = f"{name!r} is given twice with different values; keep one."
            raise InvalidRequest(message, [FieldError(f"form/{name}", "repeated", message)])
    return fields


def _checked(file: BinaryIO, filename: str | None, fields: Mapping[str, str], place: str) -> Received:
    if file.seek(0, 2) == 0:
        raise InvalidUpload(
            "The upload is empty; send the file's bytes as the body, or as the multipart part 'file'.",
            [FieldError("", "empty_body", "No bytes were sent.")],
        )
    file.seek(0)
    for name, text in fields.items():
        if flaw := strict_json.text_flaw(text):
            raise InvalidRequest(f"{name}: {flaw[1]}", [FieldError(f"{place}/{name}", *flaw)])
    texts = {name: text for name, text in fields.items() if name not in ("name", "models")}
    facts = parse_table(fields["models"]) if fields.get("models") else {}
    return Received(file, filename, _name(fields.get("name"), filename, place), _options(texts, place), facts)


def _name(given: str | None, filename: str | None, place: str) -> str:
    if given is None:
        return filename[:MAX_NAME] if filename and not strict_json.text_flaw(filename) else "unnamed"
    if not given.strip() or len(given) > MAX_NAME:
        message = f"A name has 1 to {MAX_NAME} characters."
        raise InvalidRequest(f"name: {message}", [FieldError(f"{place}/name", "name_length", message)])
    return given


def _options(texts: Mapping[str, str], place: str) -> Options:
    try:
        return Options.parse(texts)
    except InvalidRequest as exc:
        faults = [replace(fault, pointer=place + fault.pointer) for fault in exc.faults]
        raise InvalidRequest(exc.detail, faults) from None

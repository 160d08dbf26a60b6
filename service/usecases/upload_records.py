"""What an upload tells beside its scores, on its way into the store."""

from __future__ import annotations

from service import ingest
from service.core.errors import FieldError, InvalidUpload
from service.ingest import Upload
from service.store.records import AnswerCounts, Origin

SHOWN = 20


def origin_of(upload: Upload) -> Origin | None:
    """What the tool calls the examples, where its logs say."""
    native = upload.native
    return None if native is None else Origin(native.tool, native.tasks, native.ids, upload.hashes)


def answer_counts(upload: Upload) -> list[AnswerCounts]:
    """One a model."""
    return [
        AnswerCounts(
            errored=report.errored,
            unscored=report.unscored,
            not_run=report.not_run,
            answers=report.answers,
            reported=report.reported,
            states=None if upload.states is None else upload.states[i],
            repeats=None if upload.repeats is None else upload.repeats[i],
            attempts=None if upload.attempts is None else upload.attempts[i],
        )
        for i, report in enumerate(upload.models)
    ]


def matched_by_content(upload: Upload, examples: tuple[str, ...], origin: Origin | None) -> Upload:
    """The upload with the matrix's ids for the same content, where one tool hashed both."""
    if origin is None or origin.tool != upload.format:
        return upload
    return ingest.renamed_by_content(upload, examples, origin.hashes)


def mismatched_examples(upload: Upload, examples: tuple[str, ...], origin: Origin | None) -> list[str]:
    """Examples with another content than the matrix has under the same ids, where one tool hashed both."""
    if origin is None or origin.tool != upload.format:
        return []
    return ingest.mismatched_content(upload, examples, origin.hashes)


def refuse_mismatched(names: list[str], size: int) -> None:
    """Refuse results on another version of the benchmark.

    Raises
    ------
    InvalidUpload
        There are any.
    """
    if not names:
        return
    shown = ", ".join(map(repr, names[:3]))
    raise InvalidUpload(
        f"{len(names)} of {size} examples have another content than the same ids in the matrix ({shown}); "
        "the model ran another version of the benchmark. Send unmatched=keep to take its answers so.",
        [FieldError(name, "other_content", "not the content the matrix has") for name in names[:SHOWN]],
    )

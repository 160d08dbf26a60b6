"""Reads Terminal-Bench's results.json: trials of tasks, with repeats in one file or in several."""

from __future__ import annotations

import math
from collections.abc import Iterator

from service.ingest import documents, names
from service.ingest.answers import ERRORED, Answers
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import mapping
from service.ingest.records import Block
from service.ingest.refusals import refuse
from service.ingest.source import File


def matches(head: Head) -> bool:
    """Whether it is a run with its trials."""
    return (head.shape == "object" and head.has("results", "n_resolved")) or (
        head.shape == "object"
        and head.has("results")
        and b'"is_resolved"' in head.data
        and b'"task_id"' in head.data
    )


def is_excluded(head: Head) -> bool:
    """Whether it is the run's metadata."""
    return head.shape == "object" and head.has("agent_name", "model_name") and not head.has("results")


def read(file: File, context: Context) -> Iterator[Block]:
    """One run's verdicts; a trial without a verdict counts as errored, although the tool counts it as failed.

    Raises
    ------
    InvalidUpload
        A trial has no task, or the model's name cannot be found.
    """
    run = documents.field(file, context.limits, "id")
    answers = Answers()
    for row, item in enumerate(documents.elements(file, context.limits, "results"), start=1):
        record = mapping(item)
        task, resolved = record.get("task_id"), record.get("is_resolved")
        if not isinstance(task, str) or not isinstance(resolved, bool | None):
            place = f"{file.name}, result {row}"
            raise refuse(
                f"{place} has no task_id or no is_resolved; send the file that Terminal-Bench wrote",
                "record",
                [(place, "incomplete")],
            )
        trial = f"{run or file.name}/{record.get('trial_name', task)}"
        value = math.nan if resolved is None else float(resolved)
        state = ERRORED if resolved is None else None
        answers.add(task, value, row, state=state, repeat=context.repeat_number(trial))
        answers.native.append(task)
    if not len(answers):
        raise refuse(f"{file.name} holds no trials; send the results.json of a finished run", "no_rows")
    block = answers.block(names.model(file, context, _model(file, context)), file.name, unit="result")
    reported = documents.field(file, context.limits, "accuracy")
    block.reported = float(reported) if isinstance(reported, int | float) else None
    yield block


def _model(file: File, context: Context) -> str | None:
    in_folder = context.sibling(file, "run_metadata.json")
    if in_folder is None:
        return None
    metadata = mapping(documents.document(in_folder, context.limits))
    parts = [metadata.get("agent_name"), metadata.get("model_name")]
    return "+".join(part for part in parts if isinstance(part, str) and part) or None

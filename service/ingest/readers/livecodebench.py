"""Reads LiveCodeBench's *_eval_all.json: a list of problems with a verdict on each of n answers."""

from __future__ import annotations

from collections.abc import Iterator

from service.ingest import documents, names
from service.ingest.answers import Answers, number
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import mapping, sequence
from service.ingest.records import Block
from service.ingest.refusals import refuse
from service.ingest.source import File


def matches(head: Head) -> bool:
    """Whether the records are problems with graded_list."""
    return head.shape == "array" and head.has("question_id", "graded_list")


def read(file: File, context: Context) -> Iterator[Block]:
    """One model's verdicts; the answers to a problem are repeats.

    Raises
    ------
    InvalidUpload
        A problem has no verdicts, or the model's name (the folder's name) cannot be found.
    """
    answers = Answers()
    for row, item in enumerate(documents.elements(file, context.limits), start=1):
        record = mapping(item)
        name = record.get("sample_id", record.get("question_id"))
        graded = sequence(record.get("graded_list"))
        if not isinstance(name, str | int) or not graded:
            place = f"{file.name}, record {row}"
            raise refuse(
                f"{place} has no question_id or no graded_list; send the file that LiveCodeBench wrote",
                "record",
                [(place, "incomplete")],
            )
        test = record.get("test_id")
        for repeat, verdict in enumerate(graded):
            # Codes below 0 are runtime and compile errors of the answer, which count as wrong, not as
            # missing.
            value = number(verdict, context.options)
            answers.add(
                f"{name}/{test}" if test is not None else str(name), max(value, 0.0), row, repeat=repeat
            )
            answers.native.append(str(name))
    yield answers.block(names.model(file, context), file.name)

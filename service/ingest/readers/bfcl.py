"""Reads BFCL score files: a summary line, then only the failed examples."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from service.ingest import documents, names
from service.ingest.answers import Answers
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.records import Block
from service.ingest.refusals import refuse
from service.ingest.source import File

_NAME = re.compile(r"(?:BFCL_v\d+_)?(?P<category>.+)_score\.json$")
_NUMBERED = re.compile(r"(?P<prefix>.+)_(?P<number>\d+)")


def matches(head: Head) -> bool:
    """Whether the first line is BFCL's summary."""
    return head.shape in ("lines", "object") and head.keys == {"accuracy", "correct_count", "total_count"}


def read(file: File, context: Context) -> Iterator[Block]:
    """One model's verdicts on one category; examples that are not listed were right.

    Raises
    ------
    InvalidUpload
        The ids of the right answers are unknown, or the numbers do not add up.
    """
    lines = (record for _, record in documents.records(file, context.limits))
    summary = next(lines, {})
    failed = [record.get("id") for record in lines]
    total, correct = summary.get("total_count"), summary.get("correct_count")
    if not isinstance(total, int) or not isinstance(correct, int) or not 0 < total <= context.limits.examples:
        raise refuse(
            f"{file.name}: total_count and correct_count must be whole numbers; send the file that BFCL "
            "wrote; send the file that BFCL "
            "wrote; send the file that BFCL "
            "wrote",
            "summary",
        )
    if len(failed) != total - correct or len(set(map(str, failed))) < len(failed):
        detail = (
            f"{file.name} lists {len(failed)} failures, but its summary counts {total - correct} of "
            f"{total}; send the complete file"
        )
        raise refuse(detail, "summary", [(file.name, "failures do not add up")])
    category = _category(file)
    wrong = {str(name) for name in failed}
    answers = Answers()
    for row, name in enumerate(_ids(failed, total, category, file), start=1):
        answers.add(f"{category}/{name}" if name.isdigit() else name, float(name not in wrong), row)
        answers.native.append(name)
    block = answers.block(names.model(file, context), file.name, task=category)
    reported = summary.get("accuracy")
    block.reported = float(reported) if isinstance(reported, int | float) else None
    yield block


def _ids(failed: Sequence[object], total: int, category: str, file: File) -> list[str]:
    """All ids of a category with `total` examples, derived from the failed ones."""
    if failed and all(isinstance(name, int) for name in failed):
        candidates = [str(i) for i in range(1, total + 1)]
    else:
        found = [_NUMBERED.fullmatch(str(name)) for name in failed]
        prefixes = {match["prefix"] for match in found if match} or {category}
        candidates = [f"{next(iter(prefixes))}_{i}" for i in range(total)]
    if not {str(name) for name in failed} <= set(candidates):
        detail = (
            f"{file.name} lists only failures, and their ids are not consecutive numbers, so the ids of the "
            "right answers are unknown; send a table of all examples"
        )
        raise refuse(detail, "no_denominator", [(file.name, "ids")])
    return candidates


def _category(file: File) -> str:
    found = _NAME.match(posixpath.basename(file.name))
    return found["category"] if found else posixpath.basename(file.name).removesuffix(".json")

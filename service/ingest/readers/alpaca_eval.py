"""Reads alpaca_eval annotations: which of two outputs an annotator preferred.

1 stands for the baseline (output_1), 2 for the model (output_2), 0 and 1.5 for a draw. A value between 1
and 2 is the weighted annotators' probability of the model plus one; null is a failed annotation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from service.ingest import documents, metric_choice, names
from service.ingest.answers import Answers, number
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import mapping
from service.ingest.records import Block
from service.ingest.refusals import refuse
from service.ingest.source import File

_DRAW = 0.5


def matches(head: Head) -> bool:
    """Whether the records are pairs of outputs with a preference."""
    return head.shape == "array" and head.has("preference", "instruction")


def read(file: File, context: Context) -> Iterator[Block]:
    """The model's share of each preference; the instructions are the ids of the examples.

    Raises
    ------
    InvalidUpload
        A record has no instruction, a preference out of range, or there are several annotators.
    """
    found: dict[str, dict[str, Answers]] = {}
    for row, item in enumerate(documents.elements(file, context.limits), start=1):
        record = mapping(item)
        instruction = record.get("instruction")
        if not isinstance(instruction, str) or not instruction.strip():
            place = f"{file.name}, record {row}"
            raise refuse(f"{place} has no instruction; add it", "record", [(place, "no instruction")])
        model = names.model(file, context, record.get("generator_2") or record.get("generator"))
        annotator = str(record.get("annotator", "annotator"))
        answers = found.setdefault(annotator, {}).setdefault(model, Answers())
        answers.add(names.short(instruction), _share(number(record.get("preference"), context.options)), row)
        answers.subtasks.append(str(record.get("dataset") or "alpaca_eval"))
    if not found:
        raise refuse(f"{file.name} holds no annotations; send annotations.json", "no_rows")
    context.warn("preferences from 1 (baseline) to 2 (model) are read as 0 to 1, draws as 0.5")
    annotator = metric_choice.choose_one(
        list(found), context.options.filter, "filter", f"{file.name} (annotators)"
    )
    for model, answers in found[annotator].items():
        block = answers.block(model, file.name)
        block.scaled = True
        yield block


def _share(preference: float) -> float:
    return _DRAW if preference == 0 else preference - 1 if math.isfinite(preference) else preference

"""Reads OpenAI evals: an event log whose first line is the specification of the run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from service.ingest import documents, metric_choice, names
from service.ingest.answers import ERRORED, Answers, is_scalar, number
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record, mapping, sequence
from service.ingest.records import Block
from service.ingest.refusals import quoted, refuse
from service.ingest.source import File

_MATCH = "match"


def matches(head: Head) -> bool:
    """Whether the first line is the specification."""
    return head.shape in ("lines", "object") and head.keys == {"spec"}


def read(file: File, context: Context) -> Iterator[Block]:
    """One run's answers; events are in the order in which they finished.

    Raises
    ------
    InvalidUpload
        The caller must choose the metric, or a sample was matched more than once.
    """
    run = _Run()
    for row, record in documents.records(file, context.limits):
        run.add(record, row, context)
    if not run.spec:
        raise refuse(f"{file.name} has no spec on its first line; send the log that oaieval wrote", "no_spec")
    task = str(run.spec.get("eval_name") or "eval")
    context.tasks.append(task)
    metric = metric_choice.choose_one(
        list(run.scored), context.options.metric, "metric", f"{file.name} ({quoted(task)})"
    )
    answers = _answers(run.scored[metric], run.seen, task)
    functions = [name for name in sequence(run.spec.get("completion_fns")) if isinstance(name, str)]
    block = answers.block(names.model(file, context, "+".join(functions)), file.name, task=task, unit="line")
    reported = run.report.get("accuracy" if metric == _MATCH else metric)
    block.reported = float(reported) if isinstance(reported, int | float) else None
    if not run.report:
        context.warn(f"{file.name} has no final report; the run may have crashed")
    yield block


@dataclass(slots=True)
class _Run:
    """What the events of one run say.

    Attributes
    ----------
    scored : dict
        The scored samples of each metric: sample, value and line.
    seen : dict
        Of each sample, the last line that names it and whether any of them is an error.
    """

    spec: Record = field(default_factory=dict)
    report: Record = field(default_factory=dict)
    scored: dict[str, list[tuple[str, float, int]]] = field(default_factory=dict)
    seen: dict[str, tuple[int, bool]] = field(default_factory=dict)

    def add(self, record: Record, row: int, context: Context) -> None:
        """Add one event."""
        self.spec = mapping(record.get("spec")) or self.spec
        self.report = mapping(record.get("final_report")) or self.report
        sample = record.get("sample_id")
        if not isinstance(sample, str) or not sample:
            return
        self.seen[sample] = row, record.get("type") == "error" or self.seen.get(sample, (0, False))[1]
        for metric, value in _scores(record):
            self.scored.setdefault(metric, []).append((sample, number(value, context.options), row))


def _scores(record: Record) -> Iterator[tuple[str, object]]:
    data = mapping(record.get("data"))
    if record.get("type") == _MATCH and "correct" in data:
        yield _MATCH, data["correct"]
    elif record.get("type") == "metrics":
        yield from ((key, value) for key, value in data.items() if is_scalar(value))


def _answers(scored: list[tuple[str, float, int]], seen: dict[str, tuple[int, bool]], task: str) -> Answers:
    answers = Answers()
    done = {sample for sample, _, _ in scored}
    blank = [(sample, math.nan, row) for sample, (row, _) in seen.items() if sample not in done]
    for sample, value, row in [*scored, *blank]:
        errored = seen[sample][1] and value != value
        answers.add(f"{task}/{sample}", value, row, state=ERRORED if errored else None)
        answers.native.append(sample)
    return answers

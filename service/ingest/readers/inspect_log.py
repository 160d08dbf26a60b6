"""Reads Inspect AI logs, .json and .eval: samples by epoch, scorers, crashed runs.

A scorer's value becomes a number as in Inspect's value_to_float (C = 1, P = 0.5, I = 0), except that "N"
(no answer), NaN and null remain without a score.
"""

from __future__ import annotations

import hashlib
import json
import math
import posixpath
import string
from collections.abc import Iterator
from dataclasses import dataclass

from service.ingest import metric_choice, names
from service.ingest.answers import ERRORED, NOT_RUN, Answers, number
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record, mapping, sequence
from service.ingest.options import Options
from service.ingest.readers import inspect_files
from service.ingest.readers.inspect_files import Log
from service.ingest.records import Block
from service.ingest.refusals import quoted, refuse
from service.ingest.source import File

_VALUES = {"c": 1.0, "p": 0.5, "i": 0.0, "n": math.nan, "yes": 1.0, "no": 0.0}
_DONE = "success"


def matches(head: Head) -> bool:
    """Whether it is a log as one JSON object or as an .eval zip."""
    is_json = head.shape == "object" and head.has("status", "eval")
    return is_json or inspect_files.is_eval(head)


def read(file: File, context: Context) -> Iterator[Block]:
    """One model's answers to one task.

    Raises
    ------
    InvalidUpload
        The log has no samples or an unknown version, or the caller must choose the scorer.
    """
    with inspect_files.opened(file, context.limits) as log:
        task = posixpath.basename(str(log.eval.get("task", "task")))
        context.tasks.append(task)
        samples = _Samples(task, context)
        for row, sample in enumerate(log.samples(), start=1):
            samples.add(sample, row)
        if not len(samples) and log.reductions:
            samples.add_reductions(log.reductions)
            context.warn(f"{file.name} holds no samples; its means per sample are read instead")
        if not len(samples):
            detail = f"{file.name} holds only a summary; send the log with its samples"
            raise refuse(detail, "no_samples", [(file.name, "no samples")])
        if not samples.values:
            detail = (
                f"none of the {len(samples)} samples of {file.name} has a score, and {samples.errored} had "
                "an error; send a log with scored samples"
            )
            raise refuse(detail, "no_scores", [(file.name, "no scores")])
        yield _block(samples, log, task, file, context)


def _block(samples: _Samples, log: Log, task: str, file: File, context: Context) -> Block:
    place = f"{file.name} (task {quoted(task)})"
    scorer = metric_choice.choose_one(
        list(samples.values), context.options.metric, "metric", place, _hint(log)
    )
    answers = samples.answers(scorer)
    # The subtask of a sample that never ran is unknown.
    for name in sorted(log.planned - set(samples.ids)) if not answers.subtasks else ():
        answers.add(f"{task}/{name}", math.nan, 0, state=NOT_RUN)
        answers.native.append(name)
        answers.hashes.append("")
    if log.status != _DONE:
        context.warn(f"{file.name}: the run ended as {quoted(log.status)}; it may be incomplete")
    if log.invalidated:
        context.warn(f"{file.name}: the log is marked as invalidated")
    model = names.model(file, context, log.eval.get("model"))
    block = answers.block(model, file.name, task=task, unit="sample")
    block.reported = log.reported(scorer)
    block.total, block.ran = log.sizes
    block.runnable = log.runnable
    return block


def _hint(log: Log) -> str:
    first = next(iter(log.scorers), None)
    return "" if first is None else f"; the first, {quoted(first)}, is the one that Inspect shows first"


@dataclass(slots=True)
class _Seen:
    """One sample."""

    id: str
    epoch: int
    row: int
    errored: bool
    invalid: bool
    subtask: str | None
    content: str


class _Samples:
    """All samples of a log, with the values of every scorer."""

    def __init__(self, task: str, context: Context) -> None:
        self._task, self._context = task, context
        self._seen: list[_Seen] = []
        self.ids: list[str] = []
        self.values: dict[str, dict[int, float]] = {}

    def __len__(self) -> int:
        return len(self._seen)

    @property
    def errored(self) -> int:
        """Number of samples that failed."""
        return sum(seen.errored for seen in self._seen)

    def add(self, sample: Record, row: int) -> None:
        """Add one sample."""
        raw = sample.get("id")
        if not isinstance(raw, str | int | float) or isinstance(raw, bool):
            raise refuse(
                f"sample {row} of the log has no id; send the log that Inspect wrote",
                "record",
                [(f"sample {row}", "no id")],
            )
        epoch = sample.get("epoch", 1)
        seen = _Seen(
            id=str(int(raw) if isinstance(raw, float) and raw.is_integer() else raw),
            epoch=epoch if isinstance(epoch, int) else 1,
            row=row,
            errored=sample.get("error") is not None,
            invalid=sample.get("invalidation") is not None,
            subtask=self._subtask(sample, row),
            content=_content(sample),
        )
        self.ids.append(seen.id)
        self._seen.append(seen)
        for name, value in _scores(sample):
            self.values.setdefault(name, {})[len(self._seen) - 1] = to_number(value, self._context.options)

    def _subtask(self, sample: Record, row: int) -> str | None:
        """The sample's subtask, from the metadata field that the caller names; none if that is the task's
        name.
        """
        field = self._context.options.subtask
        if field is None or field == self._task:
            return None
        value = mapping(sample.get("metadata")).get(field)
        if not isinstance(value, str | int) or value == "":
            detail = f"sample {row} has no {quoted(field)} in its metadata, which subtask= names"
            raise refuse(
                f"{detail}; every example needs a subtask", "subtasks", [(f"sample {row}", "no subtask")]
            )
        return str(value)

    def add_reductions(self, reductions: list[Record]) -> None:
        """Add the means over epochs that a log holds, one list per scorer."""
        for reduction in reductions:
            for row, sample in enumerate(sequence(reduction.get("samples")), start=1):
                self.add(
                    {"id": sample.get("sample_id"), "scores": {str(reduction.get("scorer")): sample}}, row
                )

    def answers(self, scorer: str) -> Answers:
        """The answers by one scorer; lists of the same samples by other scorers are ignored."""
        answers, values = Answers(), self.values[scorer]
        scored_ids = {self._seen[i].id for i in values}
        for i, seen in enumerate(self._seen):
            if i not in values and seen.id in scored_ids and not seen.errored and len(self.values) > 1:
                continue
            value = math.nan if seen.invalid else values.get(i, math.nan)
            state = ERRORED if seen.errored and value != value else None
            answers.add(f"{self._task}/{seen.id}", value, seen.row, state=state, repeat=seen.epoch)
            answers.native.append(seen.id)
            answers.hashes.append(seen.content)
            if seen.subtask is not None:
                answers.subtasks.append(seen.subtask)
        return answers


def _content(sample: Record) -> str:
    """Hash of a sample's input and target; empty where the log has no input.

    Ids of messages and the order of choices change from run to run, so neither counts: of a
    message only its role and text, of a lettered target the choice that it stands for.
    """
    asked, target = sample.get("input"), sample.get("target")
    if asked is None:
        return ""
    if isinstance(asked, list):
        asked = [
            [turn.get("role"), turn.get("content")] if isinstance(turn, dict) else turn for turn in asked
        ]
    if isinstance(choices := sample.get("choices"), list):
        letters = target if isinstance(target, list) else [target]
        target = sorted(_choice(letter, choices) for letter in letters)
        asked = [asked, sorted(map(str, choices))]
    return hashlib.blake2b(json.dumps([asked, target]).encode(), digest_size=16).hexdigest()


def _choice(letter: object, choices: list[object]) -> str:
    """The choice that a letter stands for; the target itself if it is no letter of one."""
    place = string.ascii_uppercase.find(letter) if isinstance(letter, str) and len(letter) == 1 else -1
    return str(choices[place] if 0 <= place < len(choices) else letter)


def _scores(sample: Record) -> Iterator[tuple[str, object]]:
    """Name and value of each score; each field of a value that is a dict is a separate score."""
    found = mapping(sample.get("scores"))
    if not found and isinstance(sample.get("score"), dict):
        found = {"score": sample["score"]}
    for scorer, score in found.items():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict):
            yield from ((f"{scorer}/{key}", part) for key, part in value.items())
        elif not isinstance(value, list):
            yield scorer, value


def to_number(value: object, options: Options) -> float:
    """A scorer's value as in Inspect's value_to_float, except that "no answer" counts as missing."""
    if isinstance(value, str) and value not in options.mapping:
        known = _VALUES.get(value.strip().lower())
        if known is not None:
            return known
    return number(value, options)

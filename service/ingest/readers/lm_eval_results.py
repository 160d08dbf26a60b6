"""Finds model, task, filters and means of a samples file in lm-eval's results file and file names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from service.ingest import documents
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record, mapping, sequence
from service.ingest.refusals import quoted, refuse
from service.ingest.source import File

_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[-\d.:]+)\.jsonl?$")
_WRITE_OUT = re.compile(r"(?P<task>.+)_write_out_info\.json$")
_MODEL_ARGS = re.compile(r"pretrained__(?P<model>[^,]+?__[^_,]+|[^_,]+)_(?P<task>.+)\.jsonl?$")
_RANDOM_NAME = re.compile(r"[a-z0-9]{8}")


def matches(head: Head) -> bool:
    """Whether it is the aggregate file."""
    return head.shape == "object" and head.has("results", "configs", "versions")


@dataclass(slots=True)
class Run:
    """The run of one samples file.

    Attributes
    ----------
    task : str
    model : str or None
        From the results file or, before 0.4.3, from the file's name.
    results : dict
        Content of the results file; empty if there is none.
    """

    task: str
    model: str | None
    is_array: bool
    results: Record = field(default_factory=dict)

    def filter_name(self, turn: int) -> str:
        """Name of the filter of a document's record number `turn`, if records do not name it."""
        known = self._filters()
        return known[turn] if turn < len(known) else f"#{turn + 1}"

    def reported(self, metric: str, chosen: str) -> float | None:
        """The mean of a metric under a filter that the results file reports."""
        own = self._own
        value = own.get(f"{metric},{chosen}", own.get(metric, own.get(f"{metric},none")))
        return float(value) if isinstance(value, int | float) and value == value else None

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """Number of examples in the task, and number that ran according to the results."""
        own = mapping(mapping(self.results.get("n-samples")).get(self.task))
        total, ran = own.get("original"), own.get("effective")
        return (total if isinstance(total, int) else None, ran if isinstance(ran, int) else None)

    def is_worse_higher(self, metric: str) -> bool:
        """Whether the results say that lower values of the metric are better."""
        return mapping(mapping(self.results.get("higher_is_better")).get(self.task)).get(metric) is False

    def _filters(self) -> list[str]:
        names = [key.partition(",")[2] for key in self._own if "," in key]
        return list(dict.fromkeys(names))

    @property
    def _own(self) -> Record:
        return mapping(mapping(self.results.get("results")).get(self.task))


def run_of(file: File, context: Context) -> Run:
    """The run that a samples file belongs to.

    Raises
    ------
    InvalidUpload
        The task's name cannot be found.
    """
    name = posixpath.basename(file.name)
    found = _SAMPLES.search(name)
    results = _results(file, context, found["date"] if found else None)
    model = _model(results, context)
    tasks = [
        task for task in mapping(results.get("results")) if name.endswith((f"_{task}.jsonl", f"_{task}.json"))
    ]
    is_array = Head.of(file).shape == "array"
    if found or (found := _WRITE_OUT.search(name)):
        return Run(found["task"], model, is_array, results)
    if tasks:
        return Run(max(tasks, key=len), model, is_array, results)
    if context.options.subtask is not None:
        return Run(context.options.subtask, model, is_array, results)
    if found := _MODEL_ARGS.search(name):
        guess = found["model"].replace("__", "/", 1)
        context.warn(
            f"model {quoted(guess)} and task {quoted(found['task'])} are taken from the name {quoted(name)}"
        )
        return Run(found["task"], model or guess, is_array, results)
    detail = (
        f"the task of {file.name} is unknown; keep the file name that lm-eval gave it "
        "(samples_<task>_<date>.jsonl) or send subtask= with the task"
    )
    raise refuse(detail, "no_task", [(file.name, "no task")])


def wanted(run: Run, context: Context) -> bool:
    """Whether the caller asked for this task, by its name or by the name of its group."""
    context.tasks.append(run.task)
    chosen = context.options.subtask
    return chosen is None or run.task in _members(chosen, mapping(run.results.get("group_subtasks")))


def _members(group: str, groups: Record) -> set[str]:
    members, pending = set(), [group]
    while pending:
        name = pending.pop()
        if name not in members:
            members.add(name)
            pending.extend(task for task in sequence(groups.get(name)) if isinstance(task, str))
    return members


def _results(file: File, context: Context, date: str | None) -> Record:
    """The results file of the same run: with the same date, or the only one in the folder."""
    in_folder = [f for f in context.in_same_folder(file) if posixpath.basename(f.name).startswith("results")]
    same = [f for f in in_folder if date is not None and date in f.name]
    candidates = same or in_folder
    if not candidates or (len(candidates) > 1 and not same):
        return {}
    chosen = candidates[0]
    return mapping(context.cached(chosen.name, lambda: documents.document(chosen, context.limits)))


def _model(results: Record, context: Context) -> str | None:
    config = mapping(results.get("config"))
    args = dict(_pairs(config.get("model_args")))
    stated = results.get("model_name") or args.get("pretrained") or args.get("model")
    if not isinstance(stated, str) or not stated:
        return None
    if _RANDOM_NAME.fullmatch(stated) and stated not in (args.get("pretrained"), args.get("model")):
        context.warn(
            f"lm-eval gave the model the name {quoted(stated)}, because it had none; send model= to name it"
        )
    return stated


def _pairs(args: object) -> Iterator[tuple[str, object]]:
    if isinstance(args, dict):
        yield from args.items()
    elif isinstance(args, str):
        for part in args.split(","):
            key, _, value = part.partition("=")
            yield key, value

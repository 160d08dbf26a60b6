"""HELM: per_instance_stats.json of a run, with run_spec.json and stats.json beside it.

An instance may come in several records, each with the statistics of one Metric; a
perturbed instance is an example of its own; train_trial_index counts repeats.
"""

from __future__ import annotations

import json
import math
import posixpath
import re
from collections.abc import Iterator, Mapping

from service.ingest import choose, documents, names
from service.ingest.answers import Answers
from service.ingest.context import Context
from service.ingest.documents import Record, mapping, sequence
from service.ingest.faults import refuse
from service.ingest.readers import helm_choices
from service.ingest.records import Block
from service.ingest.sniff import Head
from service.ingest.source import File

_BOOKKEEPING = re.compile(
    r"num_|finish_reason_|inference_|training_|batch_size|prompt_truncated|logprob|max_prob|logical_|"
    r"predicted_index|perplexity|bits_per_byte|runtime|max_num_|ended_|output_"
)
_MODEL_PARTS = ("model=", "model_deployment=")
_HINT = (
    "; HELM's leaderboards use exact_match for mmlu and openbookqa, quasi_exact_match for legalbench and "
    "med_qa, f1_score for narrative_qa and natural_qa"
)


def matches(head: Head) -> bool:
    """A list of instances with their statistics."""
    return head.shape == "array" and head.has("instance_id", "stats")


def is_aside(head: Head) -> bool:
    """The other files of a run."""
    if head.shape == "array":
        return head.has("name", "count", "sum") and not head.has("instance_id")
    return head.shape == "object" and (head.has("adapter_spec") or head.has("definition_path", "instances"))


def read(file: File, context: Context) -> Iterator[Block]:
    """One run's answers.

    Raises
    ------
    InvalidUpload
        The metric is for the caller to choose, or nothing names the model.
    """
    spec = _spec(file, context)
    task = _task(spec, file, context)
    context.tasks.append(task)
    if context.options.subtask not in (None, task, task.partition(":")[0]):
        return
    stats = _Stats(file, task, context)
    for row, item in enumerate(documents.elements(file, context.limits), start=1):
        stats.add(mapping(item), row)
    if stats.metric is None:
        raise refuse(f"{file.name} holds no statistics", "no_rows")
    told = mapping(spec.get("adapter_spec")).get("model") or _model_in(posixpath.dirname(file.name))
    answers = stats.answers(helm_choices.confidences(file, context))
    block = answers.block(names.model(file, context, told), file.name, task=task)
    block.reported = _reported(stats.metric, stats.splits, file, context)
    yield block


class _Stats:
    """The chosen metric's value of each instance, perturbation and trial."""

    def __init__(self, file: File, task: str, context: Context) -> None:
        self.metric: str | None = None
        self.splits: dict[str, int] = {}
        self._file, self._task, self._context = file, task, context
        self._keys: dict[tuple[str, str, int], int] = {}
        self._scored: list[tuple[tuple[str, str, int], float, int]] = []

    def add(self, record: Record, row: int) -> None:
        """Take one record in."""
        instance, trial = record.get("instance_id"), record.get("train_trial_index")
        stats = [s for s in map(mapping, sequence(record.get("stats"))) if _counts(s)]
        if not isinstance(instance, str) or not isinstance(trial, int):
            place = f"{self._file.name}, record {row}"
            raise refuse(
                f"{place} has no instance_id or train_trial_index", "record", [(place, "incomplete")]
            )
        if self.metric is None and stats:
            place = f"{self._file.name} ({self._task})"
            candidates = [name for name in dict.fromkeys(map(_name, stats)) if not _BOOKKEEPING.match(name)]
            self.metric = choose.one(candidates, self._context.options.metric, "metric", place, _HINT)
        key = instance, _perturbation(record), trial
        self._keys.setdefault(key, row)
        for stat in stats:
            if _name(stat) == self.metric:
                self._scored.append((key, float(stat["sum"]) / float(stat["count"]), row))
                split = str(mapping(stat.get("name")).get("split"))
                self.splits[split] = self.splits.get(split, 0) + 1

    def answers(self, confidences: Mapping[tuple[str, str, int], float]) -> Answers:
        """Every key that has a value, and those without one as unscored."""
        answers = Answers()
        scored = {key for key, _, _ in self._scored}
        blank = [(key, math.nan, row) for key, row in self._keys.items() if key not in scored]
        for key, value, row in [*self._scored, *blank]:
            instance, perturbation, trial = key
            name = f"{self._task}/{instance}{perturbation and '~'}{perturbation}"
            trust = confidences.get(key, math.nan)
            answers.add(name, value, row, repeat=trial, confidence=trust)
            answers.native.append(instance)
        return answers


def _counts(stat: Record) -> bool:
    """Whether the statistic is of the instance itself and counts anything."""
    name = mapping(stat.get("name"))
    worst = mapping(name.get("perturbation")).get("computed_on") == "worst"
    count, total = stat.get("count"), stat.get("sum")
    return isinstance(count, int) and count > 0 and isinstance(total, int | float) and not worst


def _name(stat: Record) -> str:
    name = mapping(stat.get("name"))
    sub = name.get("sub_split")
    return f"{name.get('name')}/{sub}" if sub else str(name.get("name"))


def _perturbation(record: Record) -> str:
    found = mapping(record.get("perturbation"))
    if not found:
        return ""
    rest = {k: v for k, v in found.items() if k not in ("name", "computed_on", "robustness", "fairness")}
    return str(found.get("name", "perturbed")) + (json.dumps(rest, sort_keys=True) if rest else "")


def _spec(file: File, context: Context) -> Record:
    spec = context.sibling(file, "run_spec.json")
    return {} if spec is None else mapping(documents.document(spec, context.limits))


def _task(spec: Record, file: File, context: Context) -> str:
    """The run's name without its model: what models share."""
    name = spec.get("name")
    if not isinstance(name, str):
        name = posixpath.basename(posixpath.dirname(file.name)) or context.options.subtask
    if not name:
        detail = f"nothing names the run of {file.name}; send it in an archive, beside its run_spec.json"
        raise refuse(detail, "no_task", [(file.name, "no run name")])
    scenario, mark, arguments = name.partition(":" if ":" in name else "-")
    kept = [part for part in arguments.split(",") if part and not part.startswith(_MODEL_PARTS)]
    return f"{scenario}:{','.join(kept)}" if mark and kept else scenario


def _model_in(folder: str) -> str | None:
    found = re.search(r"model=([^,/]+)", posixpath.basename(folder))
    return None if found is None else found[1]


def _reported(metric: str, splits: Mapping[str, int], file: File, context: Context) -> float | None:
    """The run's own means of the metric, over the splits in the file."""
    stats = context.sibling(file, "stats.json")
    if stats is None:
        return None
    means: dict[str, float] = {}
    for stat in map(mapping, documents.elements(stats, context.limits)):
        name = mapping(stat.get("name"))
        if _counts(stat) and name.get("name") == metric and not name.get("perturbation"):
            means[str(name.get("split"))] = float(stat["sum"]) / float(stat["count"])
    if not means or set(splits) - set(means):
        return None
    return sum(means[split] * n for split, n in splits.items()) / sum(splits.values())

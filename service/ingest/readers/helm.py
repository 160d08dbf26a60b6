"""Reads HELM runs: per_instance_stats.json, and run_spec.json and stats.json of the same folder.

An instance may have several records, each with the statistics of one Metric. A perturbed instance is a
separate example. train_trial_index counts repeats.
"""

from __future__ import annotations

import json
import math
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from service.ingest import documents, metric_choice, names
from service.ingest.answers import Answers
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import Record, mapping, sequence
from service.ingest.readers import helm_choices
from service.ingest.readers.helm_choices import Key
from service.ingest.records import Block
from service.ingest.refusals import refuse
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
    """Whether it is a list of instances with their statistics."""
    return head.shape == "array" and head.has("instance_id", "stats") and not head.has("predicted_text")


def is_excluded(head: Head) -> bool:
    """Whether it is another file of a run."""
    if head.shape == "array":
        stats = head.has("name", "count", "sum")
        return (stats and not head.has("instance_id")) or head.has("instance_id", "predicted_text")
    return head.shape == "object" and (head.has("adapter_spec") or head.has("definition_path", "name"))


def read(file: File, context: Context) -> Iterator[Block]:
    """One run's answers.

    Raises
    ------
    InvalidUpload
        The caller must choose the metric, or the model's name cannot be found.
    """
    spec = _spec(file, context)
    task = _task(spec, file, context)
    context.tasks.append(task)
    if context.options.subtask not in (None, task, task.partition(":")[0]):
        return
    stats = _Stats(file)
    for row, item in enumerate(documents.elements(file, context.limits), start=1):
        stats.add(mapping(item), row)
    candidates = list(stats.scored)
    metric = metric_choice.choose_one(
        candidates, context.options.metric, "metric", f"{file.name} ({task})", _HINT
    )
    stated = mapping(spec.get("adapter_spec")).get("model") or _model_in(posixpath.dirname(file.name))
    answers = stats.answers(task, metric, helm_choices.confidences(file, context))
    block = answers.block(names.model(file, context, stated), file.name, task=task)
    block.reported = _reported(metric, stats.splits(metric), file, context)
    yield block


class _Stats:
    """The value of every metric for each instance, perturbation and trial."""

    def __init__(self, file: File) -> None:
        self.scored: dict[str, list[_Scored]] = {}
        self._file = file
        self._keys: dict[Key, int] = {}

    def add(self, record: Record, row: int) -> None:
        """Add one record."""
        instance, trial = record.get("instance_id"), record.get("train_trial_index")
        if not isinstance(instance, str) or not isinstance(trial, int):
            place = f"{self._file.name}, record {row}"
            detail = f"{place} has no instance_id or no train_trial_index; send the file that HELM wrote"
            raise refuse(detail, "record", [(place, "incomplete")])
        key = instance, _perturbation(record), trial
        self._keys.setdefault(key, row)
        for stat in filter(_counts, map(mapping, sequence(record.get("stats")))):
            name = _name(stat)
            if not _BOOKKEEPING.match(name):
                split = str(mapping(stat.get("name")).get("split"))
                value = float(stat["sum"]) / float(stat["count"])
                self.scored.setdefault(name, []).append(_Scored(key, value, row, split))

    def splits(self, metric: str) -> Counter[str]:
        """Number of values in each split."""
        return Counter(item.split for item in self.scored[metric])

    def answers(self, task: str, metric: str, confidences: Mapping[Key, float]) -> Answers:
        """An answer for every key with a value; keys without a value are unscored."""
        answers, found = Answers(), self.scored[metric]
        done = {item.key for item in found}
        blank = [_Scored(key, math.nan, row, "") for key, row in self._keys.items() if key not in done]
        for key, value, row, _ in [*found, *blank]:
            instance, perturbation, trial = key
            name = f"{task}/{instance}{perturbation and '~'}{perturbation}"
            answers.add(name, value, row, repeat=trial, confidence=confidences.get(key, math.nan))
            answers.native.append(instance)
        return answers


class _Scored(NamedTuple):
    key: Key
    value: float
    row: int
    split: str


def _counts(stat: Record) -> bool:
    """Whether the statistic is a value of the instance itself."""
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
    """The run's name without its model, which is the same for all models."""
    name = spec.get("name")
    if not isinstance(name, str):
        name = posixpath.basename(posixpath.dirname(file.name)) or context.options.subtask
    if not name:
        detail = (
            f"the run of {file.name} has no name; send it in an archive with its run_spec.json in the same "
            "folder"
        )
        raise refuse(detail, "no_task", [(file.name, "no run name")])
    scenario, mark, arguments = name.partition(":" if ":" in name else "-")
    parts = [part for part in arguments.split(",") if part and not part.startswith(_MODEL_PARTS)]
    return f"{scenario}:{','.join(parts)}" if mark and parts else scenario


def _model_in(folder: str) -> str | None:
    found = re.search(r"model=([^,/]+)", posixpath.basename(folder))
    return None if found is None else found[1]


def _reported(metric: str, splits: Mapping[str, int], file: File, context: Context) -> float | None:
    """The run's own mean of the metric over the splits in the file."""
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

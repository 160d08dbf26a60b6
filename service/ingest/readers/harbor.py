"""Reads job folders of Harbor, which runs Terminal-Bench 2: `job/<trial>/result.json`, one file a trial."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from service.ingest import answers, documents, metric_choice, names
from service.ingest.answers import Answers
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.documents import mapping
from service.ingest.records import Block
from service.ingest.refusals import refuse
from service.ingest.source import File
from service.ingest.upload import ERRORED, NOT_RUN, SCORED, TIMED_OUT, UNSCORED


def matches(head: Head) -> bool:
    """Whether it is the result of one trial."""
    return head.shape == "object" and head.has("task_name", "trial_name", "agent_info")


def is_excluded(head: Head) -> bool:
    """Whether it is the summary of a job, or the settings of a job or a trial."""
    if head.shape != "object":
        return False
    return head.has("n_total_trials", "stats") or head.has("trials_dir", "agent") or head.has("jobs_dir")


def read(file: File, context: Context) -> Iterator[Block]:
    """One trial; the trials of a task by one agent and model are its attempts, in no order.

    An exception without a reward is an error, or a timeout, of the harness; with a reward it is scored, and
    the upload warns of it.

    Raises
    ------
    InvalidUpload
        The trial names no task, or has several rewards and `metric` chooses none.
    """
    record = mapping(documents.document(file, context.limits))
    task, trial = record.get("task_name"), record.get("id") or record.get("trial_name")
    if not isinstance(task, str) or not task:
        raise refuse(
            f"{file.name} has no task_name; send the result.json that Harbor wrote for the trial",
            "record",
            [(file.name, "incomplete")],
        )
    value, outcome = _outcome(record, file, context)
    found = Answers()
    repeat = context.repeat_number(f"{trial}")
    found.add(task, value, 1, state=outcome, repeat=repeat)
    found.native.append(task)
    source = record.get("source")
    block = found.block(
        names.model(file, context, _model(record)), file.name, task=source if isinstance(source, str) else ""
    )
    block.unordered = True
    yield block


def _outcome(record: Mapping[str, object], file: File, context: Context) -> tuple[float, int]:
    """The trial's reward, and how it ended."""
    rewards = mapping(mapping(record.get("verifier_result")).get("rewards"))
    exception = record.get("exception_info")
    given = {name: reward for name, reward in rewards.items() if reward is not None}
    if given:
        wanted = metric_choice.choose_one(sorted(given), context.options.metric, "metric", file.name)
        if exception is not None:
            context.warn(
                f"{file.name} has an exception and a reward, so it is scored; other trials may too",
                once="harbor exception with reward",
            )
        return answers.number(given[wanted], context.options), SCORED
    if exception is not None:
        kind = str(mapping(exception).get("exception_type", ""))
        return math.nan, TIMED_OUT if "timeout" in kind.lower() else ERRORED
    return math.nan, NOT_RUN if record.get("finished_at") is None else UNSCORED


def _model(record: Mapping[str, object]) -> str | None:
    """The agent and the model it used, as Terminal-Bench's leaderboard names them."""
    agent = mapping(record.get("agent_info"))
    model = mapping(agent.get("model_info")).get("name")
    parts = [agent.get("name"), model]
    return "+".join(part for part in parts if isinstance(part, str) and part) or None

"""Every attempt in an upload is kept, whatever the order of the files, and how each of them ended."""

from __future__ import annotations

import json

import numpy as np
import pytest

from service.engine.data.attempts import ERRORED, FAILED, SCORED, TIMED_OUT, UNSCORED, ModelAttempts
from service.ingest import Upload
from tests.ingest.helpers import cells, load, load_all, refused, refused_all, report, warned, zipped


def attempts(upload: Upload, model: str = "") -> ModelAttempts:
    assert upload.attempts is not None
    return upload.attempts[upload.matrix.models.index(model) if model else 0]


def trial(task: str, name: str, reward: object = None, exception: str | None = None, **more: object) -> str:
    rewards = reward if isinstance(reward, dict) else {"reward": reward}
    record = {
        "id": f"id-{task}-{name}",
        "task_name": task,
        "trial_name": f"{task}__{name}",
        "source": "terminal-bench",
        "agent_info": {"name": "terminus-2", "version": "2", "model_info": {"name": "m", "provider": "p"}},
        "verifier_result": None if reward is None else {"rewards": rewards},
        "exception_info": None if exception is None else {"exception_type": exception},
        "finished_at": "2026-01-01T00:00:00",
    }
    return json.dumps(record | more)


JOB = {
    "job/result.json": json.dumps({"id": "j", "n_total_trials": 6, "stats": {}}),
    "job/config.json": json.dumps({"job_name": "job", "jobs_dir": "jobs", "agents": []}),
    "job/t1__a/result.json": trial("t1", "a", 1.0),
    "job/t1__b/result.json": trial("t1", "b", 0.0),
    "job/t1__c/result.json": trial("t1", "c", None, "DockerError"),
    "job/t2__a/result.json": trial("t2", "a", 1.0, "AgentTimeoutError"),
    "job/t2__b/result.json": trial("t2", "b", None, "AgentTimeoutError"),
    "job/t2__c/result.json": trial("t2", "c", None),
    "job/t2__c/agent/trajectory.json": json.dumps({"steps": [1, 2]}),
}


def test_a_harbor_job_folder_in_a_zip() -> None:
    upload = load(zipped(JOB), "job.zip")

    assert upload.format == "harbor"
    assert cells(upload) == {("terminus-2+m", "t1"): 0.5, ("terminus-2+m", "t2"): 1.0}
    mine = attempts(upload)
    assert mine.counts.tolist() == [3, 3]
    assert sorted(mine.outcomes[:3].tolist()) == [SCORED, SCORED, ERRORED]
    assert sorted(mine.outcomes[3:].tolist()) == [SCORED, UNSCORED, TIMED_OUT]
    assert not mine.ordered
    assert warned(upload, "t2__a/result.json has an exception and a reward, so it is scored")


def test_the_order_of_trials_does_not_matter() -> None:
    forward, backward = load_all(JOB), load_all(dict(reversed(JOB.items())))

    one, other = attempts(forward), attempts(backward)
    assert one.values.tolist() == other.values.tolist()
    assert one.outcomes.tolist() == other.outcomes.tolist()


def test_several_rewards_are_asked_about() -> None:
    trials = {f"job/{n}/result.json": trial("t", n, {"correctness": 1.0, "style": 0.5}) for n in ("a", "b")}

    refused_all(trials, "has several metrics: 'correctness', 'style'; send metric= with one of them")

    assert list(cells(load_all(trials, metric="style")).values()) == [0.5]


def test_a_trial_sent_twice_is_refused() -> None:
    refused_all({"a/result.json": trial("t", "a", 1.0), "copy/result.json": trial("t", "a", 1.0)}, "twice")


def test_the_attempt_column_gives_the_order_and_the_outcome_column_the_ends() -> None:
    rows = [
        "model,example,attempt,score,outcome",
        "a,x,10,1,scored",
        "a,x,2,0,scored",
        "a,x,9,,errored",
        "a,y,1,,failed",
        "a,y,2,1,",
    ]

    upload = load("\n".join(rows), "long.csv")

    mine = attempts(upload)
    assert mine.counts.tolist() == [3, 2]
    assert mine.values.tolist() == [0, 0, 1, 0, 1]
    assert mine.outcomes.tolist() == [SCORED, ERRORED, SCORED, FAILED, SCORED]
    assert mine.ordered
    assert cells(upload) == {("a", "x"): 0.5, ("a", "y"): 0.5}
    numbers = upload.attempt_numbers
    assert numbers is not None
    assert (numbers.min, numbers.median, numbers.max) == (2, 2.5, 3)


def test_an_unknown_outcome_is_refused_with_the_list() -> None:
    refused(
        "model,example,attempt,score,outcome\na,x,1,1,exploded\n",
        "the outcome 'exploded' is not one of 'scored', 'errored'",
        filename="x.csv",
    )


def test_a_mean_and_a_number_of_attempts_are_attempts_that_pass_or_fail() -> None:
    upload = load("model,example,pass1,count\na,x,0.4,5\na,y,1,3\n", "x.csv")

    mine = attempts(upload)
    assert mine.counts.tolist() == [5, 3]
    assert np.add.reduceat(mine.values, [0, 5]).tolist() == [2, 3]
    assert not mine.ordered


def test_means_of_graded_attempts_are_kept_as_means_only() -> None:
    upload = load("model,example,pass1,count\na,x,0.45,5\na,y,1,3\n", "x.csv")

    assert upload.attempts is None
    assert report(upload).answers == 8


def test_one_attempt_a_cell_keeps_no_attempts() -> None:
    assert load("model,example,attempt,score\na,x,1,1\na,y,1,0\n", "x.csv").attempts is None


@pytest.mark.parametrize("missing", ["keep", "zero"])
def test_samples_of_livecodebench_are_attempts(missing: str) -> None:
    records = [
        {"question_id": 1, "graded_list": [True, False, -2]},
        {"question_id": 2, "graded_list": [True]},
    ]

    upload = load_all({"m/eval_all.json": json.dumps(records)}, missing=missing)

    assert attempts(upload).counts.tolist() == [3, 1]
    assert attempts(upload).values.tolist() == [1, 0, 0, 1]

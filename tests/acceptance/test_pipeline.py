"""A verdict in a pipeline: the files of docs/ci as their services run them, against a live stack."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import yaml
from scipy.optimize import brentq
from scipy.stats import binom, binomtest, norm

from tests.acceptance.running import Served, result

ROOT = Path(__file__).parents[2]
PATHS = f"{ROOT}{os.pathsep}{ROOT / 'clients' / 'python'}"
SAMPLE = ROOT / "service" / "sample" / "digits.npz"
BASELINE = "knn-k3-train100"
# Commit → the model of the sample it made, and what the gate of docs/ci then ends with.
COMMITS = {
    "better": ("svm-rbf-c1-train597", 0),
    "same": (BASELINE, 0),
    "close": ("knn-k3-train200", 0),
    "worse": ("forest-5-train200", 1),
}
EVALUATE = """#!{python}
import csv, json, pathlib, sys
answers = json.loads(pathlib.Path("answers.json").read_text())
with open(sys.argv[2], "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["example", "score"])
    rows.writerows([name, answers[name]] for name in pathlib.Path(sys.argv[1]).read_text().split())
"""


@cache
def sample() -> dict[str, dict[str, int]]:
    """Model → example → score."""
    with np.load(SAMPLE) as stored:
        models, examples, scores = stored["models"].tolist(), stored["examples"].tolist(), stored["scores"]
    return {
        model: dict(zip(examples, map(int, row), strict=True))
        for model, row in zip(models, scores, strict=True)
    }


@pytest.fixture(scope="module")
def matrix(client: httpx.Client) -> str:
    answer = client.post("/matrices", params={"name": "digits"}, content=SAMPLE.read_bytes())
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.fixture(scope="module")
def chosen(client: httpx.Client, matrix: str) -> dict[str, Any]:
    body = {"matrix_id": matrix, "method": "random", "size": 200, "seed": 7}
    selection: dict[str, Any] = json.loads(result(client, client.post("/select", json=body)))
    return selection


class Runner:
    """A machine of a CI service: a checkout, variables, and the shell that runs a job's lines."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.folder = folder
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.env = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "PYTHONPATH": PATHS, **env}
        evaluate = folder / "evaluate"
        evaluate.write_text(EVALUATE.format(python=sys.executable))
        evaluate.chmod(0o755)

    def check_out(self, model: str) -> None:
        (self.folder / "answers.json").write_text(json.dumps(sample()[model]))

    def run(self, script: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=self.folder, env=self.env | env, capture_output=True, text=True, timeout=120,
        )  # fmt: skip


def installs(line: str) -> bool:
    """The commands under test are those of this checkout; installing them is the one step left out."""
    return line.startswith("pip install ")


def github(runner: Runner, event: str, commit: str, variables: Mapping[str, str]) -> tuple[int, str]:
    """The workflow's exit code and log; stops at the first step that fails."""
    workflow = yaml.safe_load((ROOT / "docs" / "ci" / "github-actions.yml").read_text())
    env = {
        name: re.sub(
            r"\${{ (?:vars|secrets)\.(\w+) }}", lambda found: variables.get(found.group(1), ""), value
        )
        for name, value in workflow["env"].items()
    }
    log = ""
    for step in workflow["jobs"]["evaluate"]["steps"]:
        condition = step.get("if", f"github.event_name == '{event}'")
        wanted = re.fullmatch(r"github\.event_name == '(\w+)'", condition)
        assert wanted, condition
        if "run" not in step or installs(step["run"]) or wanted.group(1) != event:
            continue
        ran = runner.run(step["run"], **env, GITHUB_SHA=commit)
        log += ran.stdout + ran.stderr
        if ran.returncode:
            return ran.returncode, log
    return 0, log


def gitlab(runner: Runner, event: str, commit: str, variables: Mapping[str, str]) -> dict[str, int]:
    """Job → exit code of every job whose rules hold."""
    pipeline = yaml.safe_load((ROOT / "docs" / "ci" / "gitlab-ci.yml").read_text())
    rules = {
        '$CI_PIPELINE_SOURCE == "merge_request_event"': "pull_request",
        "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH": "push",
        "$CI_COMMIT_TAG": "release",
    }
    codes = {}
    for stage in pipeline["stages"]:
        for name, job in pipeline.items():
            if not isinstance(job, dict) or job.get("stage") != stage:
                continue
            if event in [rules[rule["if"]] for rule in job["rules"]]:
                script = "\n".join(line for line in job["script"] if not installs(line))
                codes[name] = runner.run(script, **variables, CI_COMMIT_SHA=commit).returncode
    return codes


@pytest.fixture(scope="module")
def variables(served: Served, chosen: dict[str, Any]) -> dict[str, str]:
    return {
        "TASTETEST_URL": served.address,
        "TASTETEST_SELECTION": chosen["selection_id"],
        "TASTETEST_PACKAGE": str(ROOT / "clients" / "python"),
    }


def test_commits_through_github_actions(variables: dict[str, str], tmp_path: Path) -> None:
    runner = Runner(tmp_path, {})
    runner.check_out(BASELINE)
    code, log = github(runner, "pull_request", "before", variables)
    assert (code, "There is no baseline 'main' yet" in log) == (0, True), log
    for event in ("release", "push"):
        code, log = github(runner, event, "first", variables)
        assert code == 0, log
    for commit, (model, expected) in COMMITS.items():
        runner.check_out(model)
        code, log = github(runner, "pull_request", commit, variables)
        assert code == expected, log
        assert "There is no baseline" not in log


def test_a_slow_decline_is_seen_against_the_release(variables: dict[str, str], tmp_path: Path) -> None:
    """main has moved to the worse version; the release has not."""
    runner = Runner(tmp_path, {})
    runner.check_out(BASELINE)
    assert github(runner, "release", "v1", variables)[0] == 0
    runner.check_out(COMMITS["worse"][0])
    assert github(runner, "push", "declined", variables)[0] == 0
    code, log = github(runner, "pull_request", "unchanged", variables)
    assert code == 1, log
    assert "compared with main: pass" in log
    assert "compared with release: fail" in log


def test_commits_through_gitlab_ci(variables: dict[str, str], tmp_path: Path) -> None:
    runner = Runner(tmp_path, {})
    runner.check_out(BASELINE)
    assert gitlab(runner, "push", "first", variables) == {"evaluate": 0, "baseline": 0}
    for commit, (model, expected) in COMMITS.items():
        runner.check_out(model)
        assert gitlab(runner, "pull_request", commit, variables) == {"evaluate": 0, "gate": expected}
    runner.check_out(BASELINE)
    assert gitlab(runner, "release", "v1", variables) == {"evaluate": 0, "release": 0}


@pytest.fixture
def shell(served: Served, tmp_path: Path) -> Runner:
    return Runner(tmp_path, {"TASTETEST_URL": served.address})


def table_of(folder: Path, model: str, name: str = "results.csv") -> None:
    with (folder / name).open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["example", "score"])
        rows.writerows(sample()[model].items())


def test_a_new_model_joins_a_matrix_and_is_gated_on_all_of_it(shell: Runner, client: httpx.Client) -> None:
    own = client.post("/matrices", params={"name": "own"}, content=SAMPLE.read_bytes()).json()["id"]
    table_of(shell.folder, "svm-rbf-c1-train597")
    pushed = shell.run(f"tastetest push results.csv --matrix {own} --model team/nightly")
    assert pushed.returncode == 0, pushed.stderr
    scores = {model: np.mean(list(row.values())) for model, row in sample().items()}
    rank = 1 + sum(score > scores["svm-rbf-c1-train597"] for score in scores.values())
    assert re.search(rf"team/nightly +│ +97\.92 % │ +1200 │ +0 │ +{rank} of 92", pushed.stdout), pushed.stdout
    gate = f"tastetest gate --matrix {own} --baseline {BASELINE} --candidate team/nightly"
    told = shell.run(gate)
    assert told.returncode == 0, told.stderr
    for shown in (
        "paired difference",
        "interval",
        "fails when a drop is shown",
        "smallest detectable",
        "examples needed",
        "PASS",
    ):
        assert shown in told.stdout
    page = re.search(r"^The comparison's page: (http://\S+/comparisons/\S+/page)$", told.stdout, re.MULTILINE)
    assert page
    assert "team/nightly" in client.get(page[1]).raise_for_status().text
    raw = json.loads(shell.run(f"{gate} --json").stdout)
    body = {"matrix_id": own, "baseline": BASELINE, "candidate": "team/nightly"}
    assert raw == client.post("/compare", json=body).json()


def test_a_folder_of_results_is_sent_as_one(shell: Runner, chosen: dict[str, Any]) -> None:
    (shell.folder / "logs").mkdir()
    table_of(shell.folder / "logs", "svm-rbf-c1-train597")
    selection = chosen["selection_id"]
    pushed = shell.run(f"tastetest push logs --selection {selection} --model folder --json")
    assert pushed.returncode == 0, pushed.stderr
    (score,) = json.loads(pushed.stdout)["scores"]
    assert (score["model"], score["answered"]) == ("folder", 200)


def test_several_candidates_fail_when_one_does(shell: Runner, matrix: str) -> None:
    candidates = f"--candidate {COMMITS['better'][0]} --candidate {COMMITS['worse'][0]}"
    told = shell.run(f"tastetest gate --matrix {matrix} --baseline {BASELINE} {candidates}")
    assert told.returncode == 1
    assert told.stdout.strip().endswith("FAIL")


def test_repeated_runs_and_what_belongs_together_are_given_in_files(
    shell: Runner, client: httpx.Client, chosen: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    rows = sample()[BASELINE]
    ids = [example["id"] for example in chosen["examples"]]
    before, after = (
        {name: [int(rows[name]), int(rows[name] and rng.random() < 0.95)] for name in ids} for _ in range(2)
    )
    (shell.folder / "before.json").write_text(json.dumps(before))
    lines = "".join(f"{name},{score}\n" for name in ids for score in after[name])
    (shell.folder / "after.csv").write_text(f"example,score\n{lines}")
    subtasks = {example["id"]: example["subtask"] for example in chosen["examples"]}
    table = "".join(f"{name},{subtask}\n" for name, subtask in subtasks.items())
    (shell.folder / "groups.csv").write_text(f"example,cluster\n{table}")
    gate = (
        f"tastetest gate --selection {chosen['selection_id']} --baseline @before.json --candidate @after.csv"
    )
    told = shell.run(f"{gate} --margin 0.1 --by-subtask")
    assert told.returncode == 0, told.stderr
    assert "after compared with before: pass" in told.stdout
    assert "2 runs of after" in told.stdout
    assert re.search(rf"clusters +│ {len(set(subtasks.values()))}; standard error", told.stdout)
    by_file = json.loads(shell.run(f"{gate} --margin 0.1 --clusters groups.csv --json").stdout)
    body = {
        "selection_id": chosen["selection_id"],
        "baseline": {"name": "before", "answers": before},
        "candidate": {"name": "after", "answers": after},
        "margin": 0.1,
        "clusters": subtasks,
    }
    assert by_file == client.post("/compare", json=body).json()


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("gate --matrix MATRIX --baseline knn-k3-train100 --candidate nobody", "There is no model 'nobody'"),
        ("gate --selection none --baseline a --candidate b", "There is no selection 'none'"),
        ("push answers.json --selection SELECTION", "answers.json"),
        ("push results.csv --matrix MATRIX --model x -o orientation=up", "orientation"),
    ],
)
def test_a_refusal_is_a_sentence_and_an_error(
    shell: Runner, matrix: str, chosen: dict[str, Any], command: str, sentence: str
) -> None:
    (shell.folder / "answers.json").write_text("{}")
    (shell.folder / "results.csv").write_text("example,score\ndigits-0006,1\n")
    command = command.replace("MATRIX", matrix).replace("SELECTION", chosen["selection_id"])
    told = shell.run(f"tastetest {command}")
    assert (told.returncode, told.stdout) == (3, "")
    assert sentence in told.stderr
    assert "Traceback" not in told.stderr


def tango(lost: int, won: int, n: int, z: float) -> tuple[float, float]:
    """Tango's interval of (won − lost) / n, by its likelihood equation as published (1998, eq. 5)."""

    def statistic(delta: float) -> float:
        a, b, c = 2 * n, -lost - won + (2 * n - won + lost) * delta, -lost * delta * (1 - delta)
        nuisance = ((b * b - 4 * a * c) ** 0.5 - b) / (2 * a)
        return float((won - lost - n * delta) / (n * (2 * nuisance + delta * (1 - delta))) ** 0.5)

    point = (won - lost) / n
    low = brentq(lambda d: statistic(d) - z, -1 + 1e-9, point - 1e-9)
    high = brentq(lambda d: statistic(d) + z, point + 1e-9, 1 - 1e-9)
    return low, high


@pytest.mark.parametrize("commit", ["better", "close", "worse"])
def test_a_comparison_agrees_with_independent_numbers(
    client: httpx.Client, chosen: dict[str, Any], commit: str
) -> None:
    model = COMMITS[commit][0]
    ids = [example["id"] for example in chosen["examples"]]
    first, second = ([sample()[name][example] for example in ids] for name in (BASELINE, model))
    lost = sum(a > b for a, b in zip(first, second, strict=True))
    won = sum(a < b for a, b in zip(first, second, strict=True))
    body = {"selection_id": chosen["selection_id"], "baseline": BASELINE, "candidate": model}
    body |= {"estimator": "plain", "truth": "population", "confidence": 0.95}
    (told,) = client.post("/compare", json=body).json()["comparisons"]
    assert (told["b"], told["c"], told["n_common"], told["n_benchmark"]) == (lost, won, 200, 1200)
    assert told["difference"] == pytest.approx((won - lost) / 200)
    exact = binomtest(lost, lost + won).pvalue
    assert told["mcnemar"]["exact"] == pytest.approx(exact)
    assert told["mcnemar"]["mid_p"] == pytest.approx(exact - binom.pmf(lost, lost + won, 0.5))
    assert told["interval"] == pytest.approx(tango(lost, won, 200, norm.ppf(0.975)), abs=1e-6)


def test_estimated_scores_agree_with_independent_numbers(
    client: httpx.Client, chosen: dict[str, Any]
) -> None:
    models, ids = sample(), [example["id"] for example in chosen["examples"]]
    sent = {name: [models[name][example] for example in ids] for name, _ in COMMITS.values()}
    body = {"models": list(sent), "examples": ids, "scores": list(sent.values())}
    answer = client.post(f"/selections/{chosen['selection_id']}/scores?estimator=plain", json=body)
    assert answer.status_code == 200, answer.text
    full = [float(np.mean(list(row.values()))) for row in models.values()]
    # Wilson's interval, with as many examples as would be as informative were the benchmark infinite.
    n, z = 200 * 1199 / 1000, norm.ppf(0.975)
    assert {told["model"] for told in answer.json()["scores"]} == set(sent)
    for told in answer.json()["scores"]:
        mean = float(np.mean(sent[told["model"]]))
        centre = (mean + z * z / 2 / n) / (1 + z * z / n)
        half = z / (1 + z * z / n) * (mean * (1 - mean) / n + z * z / 4 / n / n) ** 0.5
        assert told["score"] == pytest.approx(mean)
        assert told["interval"] == pytest.approx((centre - half, centre + half), abs=1e-3)
        assert told["rank"] == 1 + sum(score > mean + 1e-12 for score in full)
        best, worst = (1 + sum(score > end + 1e-12 for score in full) for end in reversed(told["interval"]))
        assert told["rank_interval"] == [best, worst]


def test_answers_of_0_and_1_are_judged_as_such_where_confidences_chose(
    client: httpx.Client, matrix: str
) -> None:
    body = {"matrix_id": matrix, "method": "anchor_points", "size": 200}
    selection = json.loads(result(client, client.post("/select", json=body)))
    assert selection["scored_by"] == "confidences"
    models, ids = sample(), [example["id"] for example in selection["examples"]]
    scores = [[row[example] for example in ids] for row in models.values()]
    sent = {"models": list(models), "examples": ids, "scores": scores}
    told = client.post(f"/selections/{selection['selection_id']}/scores", json=sent).json()["scores"]
    full = {model: float(np.mean(list(row.values()))) for model, row in models.items()}
    errors = np.array([line["score"] - full[line["model"]] for line in told])
    halves = [(line["interval"][1] - line["interval"][0]) / 2 for line in told]
    # Confidences are far below scores on average; their errors would make these intervals six times as wide.
    assert np.mean(halves) < 4 * np.sqrt(np.mean(errors**2))
    covered = [line["interval"][0] <= full[line["model"]] <= line["interval"][1] for line in told]
    assert np.mean(covered) >= 0.9

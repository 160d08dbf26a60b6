"""`tastetest gate --sequential`: the caller's command runs on batches until the service has decided."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result
from tastetest_client.cli.main import main

from service.core.settings import Settings
from tests.api.conftest import answering
from tests.engine import made

SCORES = made.answers(20, 200, seed=4)
IDS = [f"q{at}" for at in range(200)]
# Writes the score in argv[3] for every id in the file argv[1] to the file argv[2], and counts its runs.
COMMAND = """
import json, sys
ids = open(sys.argv[1]).read().split()
scores = json.load(open(sys.argv[3]))
json.dump({one: scores[one] for one in ids}, open(sys.argv[2], "w"))
open(sys.argv[3] + ".runs", "a").write(f"{len(ids)} ")
"""


@pytest.fixture(scope="module")
def api(postgres_url: str, redis_url: str) -> Iterator[httpx.Client]:
    with answering(Settings(database_url=postgres_url, redis_url=redis_url)) as client:
        yield client


@pytest.fixture(scope="module")
def matrix(api: httpx.Client) -> str:
    sent = {"models": [f"m{at}" for at in range(20)], "examples": IDS, "scores": SCORES.tolist()}
    return str(api.post("/matrices", json=sent).json()["id"])


def gate(api: httpx.Client, matrix: str, *more: str) -> Result:
    arguments = ["gate", "--sequential", "--matrix", matrix, "--baseline", "m0", *more]
    return CliRunner().invoke(main, arguments, env={"TASTETEST_URL": str(api.base_url)})


def evaluating(folder: Path, scores: dict[str, float | None]) -> list[str]:
    """The command that gives these scores."""
    (folder / "scores.json").write_text(json.dumps(scores))
    return ["--", sys.executable, "-c", COMMAND, "{examples}", "{results}", str(folder / "scores.json")]


@pytest.mark.parametrize(("worse", "code"), [(True, 1), (False, 0)])
def test_it_ends_with_the_verdict_when_it_is_decided(
    api: httpx.Client, matrix: str, tmp_path: Path, worse: bool, code: int
) -> None:
    scores = {example: 0 if worse else int(score) for example, score in zip(IDS, SCORES[0], strict=True)}

    told = gate(api, matrix, "--budget", "150", *evaluating(tmp_path, scores))

    assert told.exit_code == code, told.output
    runs = (tmp_path / "scores.json.runs").read_text().split()
    assert runs[0] == "25"
    assert 50 <= 25 * len(runs) < 150
    assert f"{'FAIL' if worse else 'PASS'}: {25 * len(runs)} answers." in told.stdout
    assert "/page" in told.stdout


def test_the_answer_is_the_services_session(api: httpx.Client, matrix: str, tmp_path: Path) -> None:
    more = ["--budget", "100", "--batch", "50", "--preset", "improvement", "--margin", "0.01", "--json"]

    told = gate(api, matrix, *more, *evaluating(tmp_path, dict.fromkeys(IDS, 0)))

    session = json.loads(told.stdout)
    assert (told.exit_code, session["verdict"]) == (1, "fail")
    assert (session["question"]["preset"], session["question"]["margin"]) == ("improvement", 0.01)
    assert session == api.get(f"/sessions/{session['id']}").json() | {"next_batch": []}


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("raise SystemExit(7)", "ended with 7"),
        ("pass", "wrote no results"),
        ("import os; open(os.environ['TASTETEST_RESULTS'], 'w').write('{}')", "lack 25 of 25 examples"),
    ],
)
def test_a_command_that_fails_is_no_verdict(
    api: httpx.Client, matrix: str, program: str, sentence: str
) -> None:
    told = gate(api, matrix, "--", sys.executable, "-c", program)
    assert told.exit_code == 3
    assert sentence in told.stderr


def test_a_command_that_is_not_there_is_named(api: httpx.Client, matrix: str) -> None:
    told = gate(api, matrix, "--", "no-such-program")
    assert told.exit_code == 3
    assert "'no-such-program' cannot be run" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--sequential", "--matrix", "m", "--baseline", "a"], "needs the command"),
        (["--sequential", "--selection", "s", "--baseline", "a", "--", "x"], "goes with --matrix"),
        (["--matrix", "m", "--baseline", "a", "--candidate", "b", "--", "x"], "goes with --sequential"),
    ],
)
def test_what_does_not_go_together_is_said(arguments: list[str], sentence: str) -> None:
    told = CliRunner().invoke(main, ["gate", *arguments])
    assert told.exit_code == 3
    assert sentence in told.stderr

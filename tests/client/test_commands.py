"""What a pipeline sees when things go wrong: a sentence on stderr and exit code 3, never a verdict."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackagePath, distribution
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from packaging.requirements import Requirement
from tastetest_client.cli import formatting
from tastetest_client.cli.main import main

GATE = ["gate", "--matrix", "m", "--baseline", "a", "--candidate", "b"]
NOBODY = "http://127.0.0.1:9"


def run(*arguments: str, url: str = NOBODY) -> Result:
    return CliRunner().invoke(main, arguments, env={"TASTETEST_URL": url})


@contextlib.contextmanager
def answering(*answers: tuple[int, dict[str, str], bytes]) -> Iterator[str]:
    """A server of somebody else that gives these answers in turn, the last one for ever."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, headers, body = left.pop(0) if len(left) > 1 else left[0]
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["gate", "--matrix", "m", "--baseline", "a"], "--candidate"),
        ([*GATE, "--margin", "2"], "--margin"),
        ([*GATE, "--selection", "s"], "either --matrix or --selection"),
        (["gait"], "gait"),
        (["push", "no-such-file", "--matrix", "m", "--model", "x"], "no-such-file"),
        (["push", __file__, "--matrix", "m"], "--model"),
        (["push", __file__, "--matrix", "m", "--model", "x", "-o", "metric"], "NAME=VALUE"),
        ([*GATE, "--wait", "0"], NOBODY),
        ([*GATE, "--wait", "0", "--url", "nonsense"], "nonsense"),
        ([*GATE, "--wait", "0", "--url", "http://[::1"], "http://[::1"),
    ],
)
def test_what_cannot_be_asked_is_an_error_not_a_verdict(arguments: list[str], sentence: str) -> None:
    told = run(*arguments)
    assert (told.exit_code, told.stdout) == (3, "")
    assert sentence in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    ("option", "text", "sentence"),
    [
        ("--clusters", "example,cluster\nq1,a\nq1,b\n", "'q1' in two clusters"),
        ("--clusters", "q1\n", "neither a JSON object nor CSV"),
        ("--clusters", "{", "cannot be read"),
        ("--candidate", "example,score\nq1,right\n", "'right' is no score"),
        ("--baseline", '{"q1": 1', "cannot be read"),
        ("--by-subtask", "", "goes with --selection"),
    ],
)
def test_a_file_that_a_gate_cannot_use_is_named(
    tmp_path: Path, option: str, text: str, sentence: str
) -> None:
    (file := tmp_path / "given").write_text(text)
    value = [] if option == "--by-subtask" else [str(file) if option == "--clusters" else f"@{file}"]
    told = run(*GATE, "--wait", "0", option, *value)
    assert (told.exit_code, told.stdout) == (3, "")
    assert sentence in told.stderr


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    told = run("push", str(tmp_path), "--selection", "s")
    assert told.exit_code == 3
    assert str(tmp_path) in told.stderr


def test_a_password_in_the_address_stays_out_of_the_log() -> None:
    told = run(*GATE, "--wait", "0", url="http://me:secret@127.0.0.1:9")
    assert told.exit_code == 3
    assert "secret" not in told.stderr


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"<html>Welcome</html>"), (200, b"[]"), (404, b"{}"), (502, b"Bad gateway")]
)
def test_somebody_elses_server_is_an_error(status: int, body: bytes) -> None:
    with answering((status, {}, body)) as url:
        told = run(*GATE, "--wait", "0", url=url)
    assert told.exit_code == 3
    assert f"answered {status}" in told.stderr


def test_an_answer_that_lacks_what_was_promised_is_an_error() -> None:
    with answering((200, {}, b'{"verdict": "pass"}')) as url:
        told = run(*GATE, url=url)
    assert told.exit_code == 3
    assert "comparisons" in told.stderr


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("fail", 1), ("inconclusive", 2)])
def test_a_service_that_is_away_for_a_moment_is_asked_again(verdict: str, code: int) -> None:
    answer = {"verdict": verdict, "comparisons": []}
    with answering((503, {"Retry-After": "0"}, b"away"), (200, {}, json.dumps(answer).encode())) as url:
        told = run(*GATE, "--json", url=url)
    assert (told.exit_code, json.loads(told.stdout)) == (code, answer)


@pytest.mark.parametrize(
    ("page", "lines"), [({"page": "/comparisons/x/page"}, 1), ({"page": None}, 0), ({}, 0)]
)
def test_the_page_of_a_comparison_is_linked_where_there_is_one(page: dict[str, str], lines: int) -> None:
    answer = {"verdict": "pass", "comparisons": [], "ranking": None, "warnings": []} | page
    with answering((200, {}, json.dumps(answer).encode())) as url:
        told = run(*GATE, url=url.replace("://", "://me:secret@"))
    link = f"The comparison's page: {url}/comparisons/x/page\n" * lines
    assert (told.exit_code, told.stdout) == (0, f"{link}PASS\n"), told.stderr


def test_a_service_that_asks_for_a_key_is_given_it_or_says_how() -> None:
    refusal = {"detail": "This service asks for an API key.", "errors": []}
    with answering((401, {}, json.dumps(refusal).encode())) as url:
        told = run(*GATE, url=url)
    assert told.exit_code == 3
    assert "TASTETEST_API_KEY" in told.stderr
    told = run(*GATE, "--wait", "0", "--key", "tt_é", url="http://127.0.0.1:9")
    assert (told.exit_code, "Traceback" in told.stderr, "é" in told.stderr) == (3, False, False)


def test_a_problem_shows_its_sentence_and_the_places_it_does_not_name() -> None:
    problem = {
        "detail": "/candidate: There is no model 'b' here; send its answers instead.",
        "errors": [
            {
                "pointer": "/candidate",
                "code": "unknown_model",
                "message": "There is no model 'b' here; send its answers instead.",
            },
            {"pointer": "row 7", "code": "range", "message": "1.5 is no score."},
        ],
    }
    with answering((422, {}, json.dumps(problem).encode())) as url:
        told = run(*GATE, url=url)
    assert told.exit_code == 3
    lines = told.stderr.splitlines()
    assert lines[:2] == [
        "Error: There is no model 'b' here; send its answers instead.",
        "  row 7: 1.5 is no score.",
    ]
    assert "push --model" in lines[2]


def test_missing_results_are_shown_with_what_became_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    own = {"model": "m", "accuracy": 0.5, "scored": 6, "missing": 4}
    why = {"errored": 3, "unscored": 0, "not_run": 1}
    for line, expected in ((own | why, "4 (3 errored, 1 not run)"), (own, "4")):
        formatting.stored({"name": "n", "revision": 2, "warnings": []}, "m", [line])
        assert f"│ {expected} │" in " ".join(capsys.readouterr().out.split())


def test_help_needs_nothing_that_only_a_call_needs() -> None:
    code = (
        "import sys\nfrom tastetest_client.cli.main import main\n"
        "main(['gate', '--help'], standalone_mode=False)\n"
        "print(sorted({'httpx', 'pydantic', 'rich', 'narwhals', 'service'}.intersection(sys.modules)))"
    )
    shown = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert "--baseline" in shown
    assert shown.splitlines()[-1] == "[]"


def test_a_gate_starts_within_the_time_that_was_promised() -> None:
    """As a pipeline starts it; the fastest of some, as the machine does other things too."""
    command = [str(Path(sys.executable).parent / "tastetest"), "gate", "--help"]
    seconds = []
    while len(seconds) < 20 and min(seconds, default=1) > 0.3:
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
    assert min(seconds) <= 0.3


def test_the_client_with_all_it_needs_is_small() -> None:
    """Installed, without what Python compiles afterwards."""
    waiting, seen, size = ["tastetest-client"], set(), 0
    while waiting:
        found = distribution(waiting.pop())
        if found.name in seen:
            continue
        seen.add(found.name)
        size += sum(_size(file) for file in found.files or () if "__pycache__" not in str(file))
        needs = map(Requirement, found.requires or ())
        waiting += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    client = Path(__file__).parents[2] / "clients" / "python" / "tastetest_client"
    size += sum(file.stat().st_size for file in client.rglob("*.py"))
    assert {"httpx", "pydantic_core", "click", "rich"} <= seen
    assert not {"numpy", "pandas", "polars", "fastapi", "tastetest"} & seen
    assert size <= 25e6


def _size(file: PackagePath) -> int:
    path = Path(str(file.locate()))
    return path.stat().st_size if path.exists() else 0


def test_the_servers_commands_are_found_and_an_unknown_one_says_where_they_are() -> None:
    assert {"serve", "demo", "keys", "push", "gate", "export", "analyze"} <= set(run("--help").stdout.split())
    assert run("serve", "--help").exit_code == 0
    unknown = run("sevre")
    assert (unknown.exit_code, "package tastetest" in unknown.stderr) == (3, True)
    versions = run("--version").stdout.split()
    assert versions[::2] == ["tastetest-client", "tastetest"]


@pytest.mark.parametrize(("choice", "code"), [("error", 4), ("pass", 0)])
def test_the_first_run_says_how_to_make_a_baseline(choice: str, code: int) -> None:
    error = {"pointer": "/baseline", "code": "unknown_model", "message": "There is no model 'a'."}
    refusal = {"detail": "/baseline: There is no model 'a'.", "errors": [error]}
    with answering((422, {}, json.dumps(refusal).encode())) as url:
        told = run(*GATE, "--no-baseline", choice, url=url)
    assert (told.exit_code, told.stdout) == (code, "")
    assert "tastetest push RESULTS --matrix m --model a" in told.stderr


def test_an_unknown_candidate_is_an_error_whatever_is_said_of_baselines() -> None:
    error = {"pointer": "/candidate", "code": "unknown_model", "message": "There is no model 'b'."}
    refusal = {"detail": "/candidate: There is no model 'b'.", "errors": [error]}
    with answering((422, {}, json.dumps(refusal).encode())) as url:
        told = run(*GATE, "--no-baseline", "pass", url=url)
    assert told.exit_code == 3


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (("pass", "pass"), 0),
        (("pass", "inconclusive"), 2),
        (("fail", "pass"), 1),
        (("inconclusive", "fail"), 1),
    ],
)
def test_of_several_baselines_the_worst_verdict_counts(verdicts: tuple[str, str], code: int) -> None:
    answers = [(200, {}, json.dumps({"verdict": one, "comparisons": []}).encode()) for one in verdicts]
    with answering(*answers) as url:
        told = run(*GATE, "--baseline", "release", "--json", url=url)
    assert told.exit_code == code

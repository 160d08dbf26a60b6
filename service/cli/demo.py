"""`make demo`: the main job on the bundled sample, over HTTP, on a throw-away stack."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import httpx
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from service.report import text_figure

SAMPLE = Path(__file__).parents[1] / "sample" / "digits.npz"
MDAD_REQUEST: dict[str, Any] = {"methods": ["random", "stratified", "optimal_design"]}
SHOWN_IDS = 6
COLUMNS = 80
CAPTION = "~: larger than any size measured; all: no smaller size does."


def run() -> None:
    """Start a stack, run the main job on it, print what a caller would see, stop everything."""
    console = Console(highlight=False, width=COLUMNS)
    console.print("Starting Postgres, Valkey, a worker and the API in a temporary folder ...")
    # Asked for only where the environment says so: the stack is new and has no key.
    given = os.environ.get("TASTETEST_API_KEY")
    key = {"Authorization": f"Bearer {given}"} if given else {}
    with _service() as address, httpx.Client(base_url=address, timeout=60, headers=key) as client:
        matrix = _upload(client, console)
        request = {"matrix_id": matrix["id"], **MDAD_REQUEST}
        result = _follow(client, console, "/mdad", request)
        console.print("\n".join(text_figure.mdad_by_size(result)), markup=False)
        console.print(targets_table(result))
        console.print(f"[bold]{result['recommendation']['sentence']}[/bold]\n")
        _select(client, console, matrix, result)
    console.print("Everything is stopped again; nothing was kept.")


def targets_table(result: dict[str, Any]) -> Table:
    """How many examples each method takes to tell models so far apart."""
    heads, *rows = text_figure.targets(result)
    table = Table(title="How many examples for which difference?", caption=CAPTION, box=box.SIMPLE_HEAD)
    for at, head in enumerate(heads):
        table.add_column(head, justify="right" if at else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


@contextlib.contextmanager
def _service() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="tastetest-demo-") as folder, _log(Path(folder)) as log:
        command = [sys.executable, "-m", "service.cli", "serve", "--port", "0", "--data-dir", folder]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield _ready_address(process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@contextlib.contextmanager
def _log(folder: Path) -> Iterator[IO[str]]:
    """Where the service logs; shown only when something went wrong."""
    with (folder / "api.log").open("w+") as log:
        try:
            yield log
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read())
            raise


def _ready_address(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        if found := re.search(r"ready on (http://\S+)", line):
            return found.group(1)
    raise SystemExit(f"The service did not start (exit code {process.wait()}).")


def _upload(client: httpx.Client, console: Console) -> dict[str, Any]:
    matrix = _answer(client.post("/matrices", params={"name": "digits"}, content=SAMPLE.read_bytes()))
    console.print(
        f"Uploaded service/sample/digits.npz: {matrix['models']} models × {matrix['examples']} examples, "
        f"{len(matrix['subtasks'])} subtasks. POST /mdad ..."
    )
    return matrix


def _follow(client: httpx.Client, console: Console, path: str, request: dict[str, Any]) -> dict[str, Any]:
    """POST a job, show its progress, return its result."""
    job = _answer(client.post(path, json=request))
    columns = TextColumn(f"{path} "), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(path, total=1.0)
        while job["status"] in ("queued", "running"):
            job = _answer(client.get(f"/jobs/{job['id']}", params={"wait": 1}))
            bar.update(task, completed=job["progress"]["done"] / job["progress"]["total"])
    if job["status"] != "succeeded":
        raise SystemExit(f"The job {job['status']}: {json.dumps(job.get('error'))}")
    return _answer(client.get(f"/jobs/{job['id']}/result"))


def _select(client: httpx.Client, console: Console, matrix: dict[str, Any], result: dict[str, Any]) -> None:
    request = {"matrix_id": matrix["id"], **result["recommendation"]["select"]}
    selection = _follow(client, console, "/select", request)
    ids = [example["id"] for example in selection["examples"]]
    console.print(
        f"Chosen examples ({len(ids)}): {', '.join(ids[:SHOWN_IDS])}{', ...' if len(ids) > SHOWN_IDS else ''}"
    )
    console.print("\nTo repeat it with your own data: `make serve`, then\n")
    console.print(curl_lines({k: v for k, v in request.items() if k != "matrix_id"}), soft_wrap=True)


def curl_lines(select: dict[str, Any]) -> str:
    """The same calls for a shell."""
    post = "curl -s -H 'content-type: application/json' http://127.0.0.1:8000"
    return "\n".join(
        [
            "  curl -s --data-binary @service/sample/digits.npz 'http://127.0.0.1:8000/matrices?name=digits'",
            "  MATRIX=...   # the id in the answer",
            f"  {post}/mdad -d '{_body(MDAD_REQUEST)}'",
            "  JOB=...      # the id in the answer",
            '  curl -s "http://127.0.0.1:8000/jobs/$JOB?wait=25"   # until it says succeeded',
            '  curl -s "http://127.0.0.1:8000/jobs/$JOB/result"',
            f"  {post}/select -d '{_body(select)}'",
        ]
    )


def _body(request: dict[str, Any]) -> str:
    """JSON for single quotes in a shell, which are closed around the variable; without what is null."""
    request = {key: _said(value) for key, value in request.items() if value not in (None, {})}
    return json.dumps({"matrix_id": "MATRIX", **request}).replace("MATRIX", "'$MATRIX'", 1)


def _said(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Options without those that are not set."""
    return {k: v for k, v in value.items() if v not in (None, 0)} if isinstance(value, dict) else value


def _answer(response: httpx.Response) -> dict[str, Any]:
    if response.is_error:
        raise SystemExit(f"{response.request.method} {response.request.url.path}: {response.text}")
    body: dict[str, Any] = response.json()
    return body

"""The default stack comes and goes as a whole, and keeps its data."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psutil

from tests.acceptance.running import DONE, ready_address, result, serving

TINY = {"models": ["a", "b"], "examples": ["1", "2", "3"], "scores": [[1, 0, 1], [0, 1, 0]]}


ROOT = Path(__file__).parents[2]


def processes_of(folder: Path) -> list[str]:
    """Command lines of every process that belongs to the stack in `folder`."""
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            marked = process.environ().get("TASTETEST_STACK") == str(folder)
        except psutil.Error:
            continue
        if marked or str(folder) in line:
            found.append(line)
    return found


def test_data_survive_a_restart_and_nothing_is_left_running(tmp_path: Path) -> None:
    options = ("--data-dir", str(tmp_path))
    with serving(*options) as first, httpx.Client(base_url=first.address, timeout=60) as client:
        matrix = client.post("/matrices", json=TINY).json()
        assert processes_of(tmp_path)
    assert processes_of(tmp_path) == []
    with serving(*options) as second, httpx.Client(base_url=second.address, timeout=60) as client:
        assert client.get(f"/matrices/{matrix['id']}").json()["content_hash"] == matrix["content_hash"]
    assert processes_of(tmp_path) == []


def test_control_c_stops_everything(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "service.cli", "serve", "--port", "0", "--data-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        ready_address(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert processes_of(tmp_path) == []


def test_a_killed_stack_is_taken_over(tmp_path: Path) -> None:
    options = ("--data-dir", str(tmp_path))
    with serving(*options) as first:
        first.process.kill()
        first.process.wait()
    with serving(*options) as second, httpx.Client(base_url=second.address, timeout=60) as client:
        matrix = client.post("/matrices", json=TINY).json()
        body = {"matrix_id": matrix["id"], "method": "random", "size": 2}
        assert json.loads(result(client, client.post("/select", json=body)))["examples"]
    assert processes_of(tmp_path) == []


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    with (
        serving("--data-dir", str(tmp_path)) as served,
        httpx.Client(base_url=served.address, timeout=60) as client,
    ):
        # Only Postgres and Valkey share its parentage; a worker names itself by its module.
        for process in psutil.Process(served.process.pid).children():
            if "workers.app" in " ".join(process.cmdline()):
                process.kill()
        matrix = client.post("/matrices", json=TINY).json()
        body = {"matrix_id": matrix["id"], "method": "random", "size": 2}
        assert json.loads(result(client, client.post("/select", json=body)))["examples"]
    assert processes_of(tmp_path) == []


def test_a_worker_that_cannot_start_ends_the_service_and_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "service.cli", "serve", "--port", "0", "--data-dir", str(tmp_path)]
    # A broken module in front of the real one, as a broken installation would have.
    (tmp_path / "broken" / "workers").mkdir(parents=True)
    (tmp_path / "broken" / "workers" / "__init__.py").write_text("raise ImportError('no such part')\n")
    env = os.environ | {"PYTHONPATH": str(tmp_path / "broken")}
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=env, cwd=tmp_path
    )
    assert ended.returncode == 1
    assert "no such part" in ended.stderr
    assert processes_of(tmp_path) == []


def test_a_second_stack_on_the_same_data_is_refused(tmp_path: Path) -> None:
    with serving("--data-dir", str(tmp_path)):
        command = [sys.executable, "-m", "service.cli", "serve", "--port", "0", "--data-dir", str(tmp_path)]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1
    assert "--data-dir" in second.stderr


def test_a_port_in_use_is_said_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        options = ["--port", str(taken.getsockname()[1]), "--data-dir", str(tmp_path)]
        command = [sys.executable, "-m", "service.cli", "serve", *options]
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1
    assert "--port" in second.stderr


def test_the_demo_shows_the_main_job_and_leaves_nothing() -> None:
    # A short folder of its own: pytest's are too deep for Unix sockets.
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "service.cli", "demo"]
        env = os.environ | {"TMPDIR": folder, "COLUMNS": "140"}
        env["PYTHONPATH"] = os.pathsep.join((str(ROOT), str(ROOT / "clients" / "python")))
        shown = subprocess.run(
            command, capture_output=True, text=True, timeout=280, check=False, env=env, cwd=folder
        )
        assert shown.returncode == 0, shown.stderr
        parts = ("91 models × 1200 examples", "Use ", "points apart", "resolution", "Chosen examples",
                 "A pull-request check", "tastetest-demo.html", "tastetest serve", "tastetest analyze",
                 "tastetest push", "stopped again")  # fmt: skip
        places = [shown.stdout.find(part) for part in parts]
        assert -1 not in places, shown.stdout
        assert places == sorted(places)
        assert all(len(line) <= 80 for line in shown.stdout.splitlines() if "file://" not in line)
        assert "<svg" in (Path(folder) / "tastetest-demo.html").read_text()
        assert not list(Path(folder).glob("tastetest-demo-*"))
        assert processes_of(Path(folder)) == []


def test_killed_servers_are_started_again_and_jobs_go_on(tmp_path: Path) -> None:
    """kill -9 of Postgres and of Valkey, each with a job asked for before it."""
    with (
        serving("--data-dir", str(tmp_path)) as served,
        httpx.Client(base_url=served.address, timeout=60) as client,
    ):
        matrix = client.post("/matrices", json=TINY).json()
        for seed, name in enumerate(("postgres", "valkey")):
            body = {"matrix_id": matrix["id"], "method": "random", "size": 2, "seed": seed}
            job = client.post("/select", json=body).json()
            server(tmp_path, name).kill()
            deadline = time.monotonic() + 30
            status = ""
            while status not in DONE:
                assert time.monotonic() < deadline, f"{status} after the end of {name}"
                answer = client.get(f"/jobs/{job['id']}", params={"wait": 1})
                assert answer.status_code in (200, 503)
                status = answer.json().get("status", "")
            assert status == "succeeded"
    assert processes_of(tmp_path) == []


def server(folder: Path, name: str) -> psutil.Process:
    """The first process of a server of the stack."""
    if name == "postgres":
        return psutil.Process(int((folder / "postgres" / "postmaster.pid").read_text().split()[0]))
    return next(p for p in psutil.process_iter() if p.name().startswith("valkey") and of(p, folder))


def of(process: psutil.Process, folder: Path) -> bool:
    try:
        return process.environ().get("TASTETEST_STACK") == str(folder)
    except psutil.Error:
        return False


def test_a_server_that_cannot_be_started_again_ends_the_service(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "service.cli", "serve", "--port", "0", "--data-dir", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        ready_address(process)
        # Nothing that is no server's data can be started on.
        (tmp_path / "postgres" / "postgresql.conf").write_text("no such setting = 1\n")
        server(tmp_path, "postgres").kill()
        _, said = process.communicate(timeout=90)
    assert process.returncode == 1
    assert "cannot be started again" in said
    assert processes_of(tmp_path) == []

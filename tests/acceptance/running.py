"""Start `tastetest serve` as a process and talk to it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx

DONE = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True)
class Served:
    address: str
    process: subprocess.Popen[str]


@contextlib.contextmanager
def serving(
    *options: str, env: Mapping[str, str] = {}, log: IO[bytes] | None = None, code: Path | None = None
) -> Iterator[Served]:
    """`tastetest serve` on a free port until the block ends; stopped by SIGTERM as an init system would.

    `code` is a folder with another copy of the project.
    """
    command = [sys.executable, "-m", "service.cli", "serve", "--port", "0", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | dict(env), cwd=code
    )
    try:
        yield Served(ready_address(process), process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def ready_address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"ready on (http://\S+)", line):
            return found.group(1)
    raise AssertionError(f"the service did not start: exit code {process.wait()}")


def finished(client: httpx.Client, answer: httpx.Response) -> dict[str, Any]:
    """Follow the job of a 202 answer to its end."""
    assert answer.status_code == 202, answer.text
    job = answer.json()
    while job["status"] not in DONE:
        answer = client.get(f"/jobs/{job['id']}", params={"wait": 10})
        assert answer.status_code == 200, answer.text
        job = answer.json()
    return job


def result(client: httpx.Client, answer: httpx.Response) -> bytes:
    """The result's exact bytes, of a job that must succeed."""
    job = finished(client, answer)
    assert job["status"] == "succeeded", job
    return client.get(f"/jobs/{job['id']}/result").raise_for_status().content

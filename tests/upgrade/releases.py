"""The previous release's code, taken out of the history, and processes of either release."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from service.cli import default_stack

ROOT = Path(__file__).parents[2]
# For clones without tags; the commit of the newest release.
V0_1_0 = "22433363c137ec6fb11cd601b154e0abda0bbfce"
CODE = ("service", "workers", "migrations")


@dataclass(frozen=True)
class Release:
    """A folder with the code of a release, and the servers its processes use."""

    folder: Path
    env: dict[str, str]

    def python(self, *arguments: str) -> str:
        """What Python prints in this release's folder, where its modules come first."""
        command = [sys.executable, *arguments]
        ran = subprocess.run(
            command, cwd=self.folder, env=os.environ | self.env, capture_output=True, text=True, check=True
        )
        return ran.stdout

    @contextlib.contextmanager
    def worker(self, log: IO[bytes] | None = None) -> Iterator[None]:
        """One worker of this release, with the reconciler's clock."""
        process = self._start("worker", "--processes", "1", "--beat", log=log)
        try:
            yield
        finally:
            # Nothing is left to hand back, and a worker takes seconds to say goodbye.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @contextlib.contextmanager
    def api(self, log: IO[bytes] | None = None) -> Iterator[Callable[[], str]]:
        """The API of this release, without workers; its address can be asked for once, and is waited for."""
        process = self._start("serve", "--port", "0", "--workers", "0", log=log)
        try:
            yield lambda: _address(process)
        finally:
            default_stack.stop(process)
            if process.stdout is not None:
                process.stdout.close()

    def _start(self, *arguments: str, log: IO[bytes] | None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "service.cli", *arguments],
            cwd=self.folder,
            env=os.environ | self.env,
            stdout=subprocess.PIPE if arguments[0] == "serve" else None,
            stderr=log,
            start_new_session=True,
        )


def previous() -> str:
    """The newest release before this commit.

    Skips where neither its tag nor its commit is in the clone, as in a shallow one.
    """
    described = _git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD~1")
    name = described or V0_1_0
    if not _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"):
        pytest.skip("the previous release is not in this clone's history; fetch it whole, with its tags")
    return name


def unpack(name: str, folder: Path) -> None:
    """Write a release's code into a folder."""
    packed = subprocess.run(
        ["git", "archive", "--format=tar", name, *CODE], cwd=ROOT, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")


def committed(name: str, path: str) -> str:
    """A file as it was in a release."""
    return subprocess.run(
        ["git", "show", f"{name}:{path}"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def _git(*arguments: str) -> str:
    with contextlib.suppress(OSError):
        ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return ran.stdout.strip() if ran.returncode == 0 else ""
    return ""


def _address(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(rb"ready on (http://\S+)", line):
            return found.group(1).decode()
    raise AssertionError(f"the API did not start: exit code {process.wait()}")

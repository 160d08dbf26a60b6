"""The real tools, in an environment of their own: `make roundtrip` makes it."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.conftest import answering
from tests.api.working import Worker

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
TOOLS = Path(os.environ.get("TASTETEST_TOOLS", ROOT / ".venv-tools"))

Run = Callable[[str], str]


@pytest.fixture(scope="session")
def tools() -> Path:
    """Where the tools' commands are."""
    if not (TOOLS / "bin" / "inspect").exists():
        pytest.skip("needs lm-eval and inspect-ai in .venv-tools; `make roundtrip` installs them")
    return TOOLS / "bin"


@pytest.fixture
def run(tools: Path, tmp_path: Path) -> Run:
    """Run a command line in a fresh folder as a person would, with the tools on the path and no network."""
    here = {"HOME": str(tmp_path), "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    quiet = {"INSPECT_DISPLAY": "none", "INSPECT_LOG_DIR": "logs", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    env = {**os.environ, **here, **quiet, "PATH": f"{tools}:{os.environ['PATH']}"}

    def command(line: str) -> str:
        # The command is the service's own, from a test's data.
        ended = subprocess.run(
            ["/bin/sh", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
        )
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-3000:]
        return ended.stdout

    return command


@pytest.fixture(scope="module")
def api(postgres_url: str, redis_url: str) -> Iterator[httpx.Client]:
    with answering(Settings(database_url=postgres_url, redis_url=redis_url)) as client:
        yield client


@pytest.fixture(scope="module")
def worker(db: sa.Engine, postgres_url: str, redis_url: str) -> Worker:
    return Worker(db, Settings(database_url=postgres_url, redis_url=redis_url))


def packed(folder: Path) -> bytes:
    """A folder as one archive, as `tar czf` makes it."""
    archive = folder.with_suffix(".tgz")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname=folder.name)
    return archive.read_bytes()


def exported(api: httpx.Client, selection: str, form: str, folder: Path) -> str:
    """Save the file as the selection says, and give the command that takes it."""
    offers = api.get(f"/selections/{selection}").json()["exports"]
    (offer,) = [offer for offer in offers if offer["format"] == form]
    (folder / offer["filename"]).write_bytes(api.get(offer["href"]).content)
    return str(offer["command"])

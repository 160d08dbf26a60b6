"""The service as its users meet it: `tastetest serve` in a process of its own, over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.running import Served, serving


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """The default stack with one worker process."""
    with tempfile.TemporaryDirectory(prefix="tastetest-") as folder, serving("--data-dir", folder) as running:
        yield running


@pytest.fixture(scope="session")
def client(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.address, timeout=60) as http:
        yield http


@pytest.fixture
def sample() -> Path:
    return Path(__file__).parents[2] / "service" / "sample" / "digits.npz"

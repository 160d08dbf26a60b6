"""The client against a real service, and against small servers that misbehave."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tastetest_client import Client

from tests.acceptance.running import serving
from tests.listening import listening

SAMPLE = Path(__file__).parents[2] / "service" / "sample" / "digits.npz"
Reply = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The default stack with one worker process."""
    with tempfile.TemporaryDirectory(prefix="tastetest-") as folder, serving("--data-dir", folder) as running:
        yield running.address


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[Client]:
    with Client(address, progress=False) as made:
        yield made


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """Models × examples of the sample."""
    with np.load(SAMPLE) as stored:
        scores = pd.DataFrame(stored["scores"].astype(float), stored["models"], stored["examples"])
    return scores.rename_axis("model")


@dataclass
class Misbehaving:
    """A server that gives these answers in turn, the last one for ever, and keeps what it was asked."""

    address: str
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def answering() -> Iterator[Callable[..., Misbehaving]]:
    with contextlib.ExitStack() as running:

        def start(*answers: Reply) -> Misbehaving:
            left = list(answers)

            class Handler(BaseHTTPRequestHandler):
                def answer(self) -> None:
                    body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    made.asked.append((self.command, self.path, dict(self.headers), body))
                    status, headers, text = left.pop(0) if len(left) > 1 else left[0]
                    if not status:
                        self.close_connection = True
                        return
                    self.send_response(status)
                    for name, value in {**headers, "Content-Length": str(len(text))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(text)

                do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

                def log_message(self, *_: Any) -> None:
                    pass

            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            running.enter_context(listening(server))
            made = Misbehaving(f"http://127.0.0.1:{server.server_port}")
            return made

        yield start


def reply(body: object, status: int = 200, **headers: str) -> Reply:
    return (
        status,
        {name.replace("_", "-"): value for name, value in headers.items()},
        json.dumps(body).encode(),
    )

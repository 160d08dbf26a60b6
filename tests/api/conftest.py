"""The application on a real server in this process, on the module's database."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest
import uvicorn

from service.cli.connections import protocol
from service.core.settings import Settings
from service.main import create_app
from tests.contract import document

LIMIT = 200_000


@contextlib.contextmanager
def answering(settings: Settings) -> Iterator[httpx.Client]:
    """A client of an application with these settings, over real HTTP."""
    # Nagle's algorithm, off only where the protocol is named, costs 40 ms a response.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # a request that comes before the server waits for it
        config = uvicorn.Config(
            create_app(settings),
            http=protocol(settings),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            port = listener.getsockname()[1]
            hooks = {"response": [_check_unless_streamed]}
            base = f"http://127.0.0.1:{port}"
            with httpx.Client(base_url=base, timeout=30, event_hooks=hooks) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


def _check_unless_streamed(answer: httpx.Response) -> None:
    """Every answer of every test is one that the OpenAPI document promises."""
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        document.check(answer)


@pytest.fixture(scope="module")
def settings(postgres_url: str, api_postgres_url: str, redis_url: str) -> Settings:
    return Settings(
        database_url=postgres_url,
        api_database_url=api_postgres_url,
        redis_url=redis_url,
        max_body_bytes=LIMIT,
    )


@pytest.fixture(scope="module")
def api(settings: Settings) -> Iterator[httpx.Client]:
    with answering(settings) as client:
        yield client

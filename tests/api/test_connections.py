"""Connections that send half a request, or none: they end, and others are answered meanwhile."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from service.core.settings import Settings
from tests.api.conftest import answering

HEADER_SECONDS = 0.4
MOST = 12


@pytest.fixture(scope="module")
def api(postgres_url: str, redis_url: str) -> Iterator[httpx.Client]:
    hurried = Settings(
        database_url=postgres_url,
        redis_url=redis_url,
        header_seconds=HEADER_SECONDS,
        body_seconds=0.4,
        max_connections=MOST,
    )
    with answering(hurried) as client:
        yield client


def connected(api: httpx.Client) -> socket.socket:
    return socket.create_connection((api.base_url.host, api.base_url.port or 80), timeout=5)


def heard(conn: socket.socket) -> bytes:
    """Everything until the server closes."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while more := conn.recv(65536):
            said += more
    return said


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\nHost: lo"])
def test_half_a_header_does_not_stay(api: httpx.Client, sent: bytes) -> None:
    with connected(api) as conn:
        conn.sendall(sent)
        began = time.monotonic()
        said = heard(conn)
        assert 0.5 * HEADER_SECONDS < time.monotonic() - began < 3
    assert said.startswith(b"HTTP/1.1 408") if sent else said == b""


def test_half_a_second_header_does_not_stay_either(api: httpx.Client) -> None:
    with connected(api) as conn:
        conn.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /livez HTT")
        said = heard(conn)
    assert said.startswith(b"HTTP/1.1 200")
    assert said.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 408" in said


def test_a_header_a_byte_at_a_time_is_not_waited_for(api: httpx.Client) -> None:
    with connected(api) as conn:
        conn.settimeout(0.05)
        began = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - began < 5:
                conn.sendall(b"G")
                with contextlib.suppress(TimeoutError):
                    if conn.recv(1000):
                        break
        assert time.monotonic() - began < 3


@pytest.mark.parametrize("path", ["/matrices", "/mdad"])
def test_a_body_that_does_not_come_is_not_waited_for(api: httpx.Client, path: str) -> None:
    with connected(api) as conn:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        conn.sendall(f"{head}Content-Length: 1000\r\n\r\n{{".encode())
        began = time.monotonic()
        said = heard(conn)
        assert time.monotonic() - began < 3
    assert said.startswith(b"HTTP/1.1 408")
    assert b"too_slow" in said


def test_no_more_connections_than_so_many_are_open(api: httpx.Client) -> None:
    with contextlib.ExitStack() as stack:
        open_ = [stack.enter_context(connected(api)) for _ in range(MOST + 3)]
        answered = [heard(conn) for conn in open_]
    assert sum(said.startswith(b"HTTP/1.1 503") for said in answered) >= 3
    assert api.get("/livez").status_code == 200


def test_one_answer_comes_to_a_request_with_two_lengths(api: httpx.Client) -> None:
    smuggled = b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    both = b"Content-Length: 60\r\nTransfer-Encoding: chunked\r\n"
    with connected(api) as conn:
        conn.sendall(b"POST /matrices HTTP/1.1\r\nHost: localhost\r\n" + both + b"\r\n" + smuggled)
        said = heard(conn)
    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1 ") == 1
    assert b"application/problem+json" in said

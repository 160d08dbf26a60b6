"""Whatever goes wrong at the level of HTTP is a problem document with the request's id."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
import structlog
from fastapi import FastAPI

import migrations
from service.api.middleware.request_envelope import RequestEnvelopeMiddleware
from service.core.settings import Settings
from service.store.database import make_engine
from tests.api.conftest import LIMIT, answering

FIELDS = {"type", "title", "status", "detail", "request_id", "errors"}


def problem(answer: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """The document, checked for what every one of them holds."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = json.loads(answer.content)
    assert set(document) == FIELDS
    assert (document["type"], document["status"]) == (f"urn:tastetest:problem:{slug}", status)
    assert document["title"]
    assert len(document["detail"]) > 20
    assert document["request_id"] == answer.headers["x-request-id"]
    return document


def test_a_path_that_leads_nowhere(api: httpx.Client) -> None:
    for path in ("/nowhere", "/matrices/", "/jobs/x/y/z"):
        problem(api.get(path), 404, "not-found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/matrices", "GET, POST"),
        ("POST", "/matrices/x", "DELETE, GET"),
        ("GET", "/mdad", "POST"),
        ("DELETE", "/matrices/x/models/a/b", "GET, PATCH, PUT"),
        ("GET", "/jobs/x/cancel", "POST"),
    ],
)
def test_a_method_that_is_not_taken_is_told_which_are(
    api: httpx.Client, method: str, path: str, allowed: str
) -> None:
    answer = api.request(method, path)
    problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("path", ["/matrices", "/mdad", "/matrices/x/models/a", "/nowhere"])
def test_a_body_over_the_limit_is_refused_by_its_declared_length(api: httpx.Client, path: str) -> None:
    method = "PUT" if "models" in path else "POST"
    document = problem(api.request(method, path, content=b"x" * (LIMIT + 1)), 413, "too-large")
    assert f"{LIMIT:,}" in document["detail"]


@pytest.mark.parametrize("path", ["/matrices", "/mdad", "/matrices/x/models/a"])
def test_a_chunked_body_over_the_limit_is_refused_while_it_comes(api: httpx.Client, path: str) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(LIMIT // 1000 + 1):
            yield b"x" * 1000

    method = "PUT" if "models" in path else "POST"
    headers = {"Content-Type": "application/json"}
    problem(api.request(method, path, content=chunks(), headers=headers), 413, "too-large")


def test_a_multipart_body_over_the_limit_is_refused(api: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        for _ in range(LIMIT // 1000 + 1):
            yield b"x" * 1000

    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    problem(api.post("/matrices", content=chunks(), headers=headers), 413, "too-large")


def test_a_body_of_exactly_the_limit_is_read(api: httpx.Client) -> None:
    document = json.dumps({"matrix_id": "x", "method": "random", "size": 1}).encode().ljust(LIMIT)
    answer = api.post("/select", content=document, headers={"Content-Type": "application/json"})
    problem(answer, 404, "not-found")


def test_a_well_formed_request_id_is_kept(api: httpx.Client) -> None:
    sent = "build-7_A.2"
    assert api.get("/livez", headers={"X-Request-ID": sent}).headers["x-request-id"] == sent
    assert problem(api.get("/x", headers={"X-Request-ID": sent}), 404, "not-found")["request_id"] == sent


@pytest.mark.parametrize("sent", ["", "a b", "a\tb", "x" * 129, '"', "{}"])
def test_another_request_id_is_replaced(api: httpx.Client, sent: str) -> None:
    given = api.get("/livez", headers={"X-Request-ID": sent}).headers["x-request-id"]
    assert given != sent
    assert len(given) == 32


def test_an_unknown_or_repeated_parameter_is_named(api: httpx.Client) -> None:
    unknown = problem(api.get("/jobs?limits=3"), 422, "invalid-request")
    assert unknown["errors"][0]["pointer"] == "query/limits"
    assert "limit" in unknown["errors"][0]["message"]
    repeated = problem(api.get("/jobs?limit=3&limit=4"), 422, "invalid-request")
    assert repeated["errors"] == [
        {"pointer": "query/limit", "code": "repeated", "message": "Given more than once; keep one."}
    ]
    nul = problem(api.get("/jobs?matrix_id=%00"), 422, "invalid-request")
    assert nul["errors"][0]["code"] == "nul_character"


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=0", "query/limit"),
        ("limit=many", "query/limit"),
        ("status=done", "query/status"),
        ("cursor=!", "query/cursor"),
    ],
)
def test_a_parameter_that_does_not_fit_is_named(api: httpx.Client, query: str, pointer: str) -> None:
    document = problem(api.get(f"/jobs?{query}"), 422, "invalid-request")
    assert [error["pointer"] for error in document["errors"]] == [pointer]


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "a/b+json", ""]
)
def test_json_must_be_called_json(api: httpx.Client, content_type: str) -> None:
    answer = api.post("/mdad", content=b"{}", headers={"Content-Type": content_type})
    assert "application/json" in problem(answer, 415, "unsupported-format")["detail"]


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", "application/vnd.x+json"]
)
def test_json_by_any_of_its_names_is_read(api: httpx.Client, content_type: str) -> None:
    answer = api.post("/mdad", content=b"{}", headers={"Content-Type": content_type})
    assert problem(answer, 422, "invalid-request")["errors"][0]["pointer"] == "/matrix_id"


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"3"])
def test_a_body_that_is_no_object_is_refused(api: httpx.Client, body: bytes) -> None:
    answer = api.post("/mdad", content=body, headers={"Content-Type": "application/json"})
    problem(answer, 422, "invalid-request")


def test_a_crash_is_a_problem_and_a_line_in_the_log() -> None:
    app = FastAPI()

    @app.get("/crash")
    async def crash() -> None:
        raise RuntimeError("secret")

    app.add_middleware(RequestEnvelopeMiddleware)

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.get("/crash")

    import asyncio

    with structlog.testing.capture_logs() as lines:
        answer = asyncio.run(ask())
    assert "secret" not in problem(answer, 500, "internal-error")["detail"]
    # Servers of other tests in this process log their requests, too.
    crashed, request = (line for line in lines if "/crash" in (line.get("path"), line.get("route")))
    assert (crashed["event"], crashed["exc_info"]) == ("crash", True)
    assert (request["event"], request["status"]) == ("request", 500)


def test_without_a_database_requests_are_refused_and_the_process_lives(redis_url: str) -> None:
    settings = Settings(database_url="postgresql://nobody@127.0.0.1:1/none", redis_url=redis_url)
    with answering(settings) as client:
        assert client.get("/livez").json() == {"status": "ok"}
        for path in ("/readyz", "/matrices", "/jobs/0198c0de-7a57-7e57-8000-000000000001"):
            answer = client.get(path)
            problem(answer, 503, "unavailable")
            assert int(answer.headers["retry-after"]) > 0


def test_without_a_broker_the_service_is_degraded(postgres_url: str) -> None:
    with answering(Settings(database_url=postgres_url, redis_url="redis://127.0.0.1:1/0")) as client:
        assert client.get("/readyz").json() == {
            "status": "degraded",
            "database": "ok",
            "broker": "unreachable",
            "disk": "unknown",
        }


def test_with_both_it_is_ready(api: httpx.Client) -> None:
    assert api.get("/readyz").json() == {
        "status": "ready", "database": "ok", "broker": "ok", "disk": "unknown",
    }  # fmt: skip


def test_a_database_of_an_earlier_release_is_not_ready(empty_postgres_url: str, redis_url: str) -> None:
    with answering(Settings(database_url=empty_postgres_url, redis_url=redis_url)) as client:
        assert "tastetest migrate" in problem(client.get("/readyz"), 503, "unavailable")["detail"]
        migrations.upgrade(empty_postgres_url, "0001")
        assert "tastetest migrate" in problem(client.get("/readyz"), 503, "unavailable")["detail"]


def test_a_database_of_a_later_release_is_ready(empty_postgres_url: str, redis_url: str) -> None:
    """Else every server would be taken out of service when the database is migrated for the next release."""
    migrations.upgrade(empty_postgres_url)
    engine = make_engine(empty_postgres_url)
    with engine.begin() as conn:
        conn.execute(sa.text("UPDATE alembic_version SET version_num = 'of-the-next'"))
    engine.dispose()
    with answering(Settings(database_url=empty_postgres_url, redis_url=redis_url)) as client:
        assert client.get("/readyz").json()["status"] == "ready"


def test_the_documentation_is_served(api: httpx.Client) -> None:
    assert api.get("/openapi.json").json()["info"]["title"] == "Tastetest"
    page = api.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert re.findall(r'(?:src|href)="(.*?)"', page.text) == [
        "/docs/swagger-ui.css",
        "/docs/favicon.png",
        "/docs/swagger-ui.js",
    ]
    for path in ("/docs/swagger-ui.css", "/docs/favicon.png", "/docs/swagger-ui.js"):
        assert len(api.get(path).raise_for_status().content) > 1000

"""Requests that try to get at what is not theirs; docs/security.md names the test of each attack."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import socket
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa
from celery import Celery
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from service.core.settings import Settings
from service.jobs import broker
from service.jobs.webhook_client import Outbound
from service.main import create_app
from tests.api.conftest import LIMIT, answering
from tests.api.conftest import api as api
from tests.api.conftest import settings as settings
from tests.api.test_http import problem
from tests.api.working import Worker
from tests.contract.document import document

NAMES = [
    "'; DROP TABLE matrices; --",
    "' OR '1'='1",
    "%(id)s %s :id {0}",
    "<script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "${jndi:ldap://127.0.0.1/x}",
    "../../../etc/passwd",
    "=cmd|' /C calc'!A0",
]
ROWS = {"orientation": "models_as_rows"}
ID = "0198c0de-7a57-7e57-8000-000000000001"


def upload(api: httpx.Client, names: list[str], **params: str) -> httpx.Response:
    scores = [[(i + j) % 2 for j in range(len(names))] for i in range(len(names))]
    body = {"models": names, "examples": names, "subtasks": names, "scores": scores}
    return api.post("/matrices", json=body, params=params)


def test_names_are_data_whatever_they_say(api: httpx.Client, db: sa.Engine) -> None:
    matrix = upload(api, NAMES, name=NAMES[0]).json()
    assert matrix["name"] == NAMES[0]
    assert sorted(matrix["subtasks"]) == sorted(NAMES)
    told = api.get(f"/matrices/{matrix['id']}/models").json()["items"]
    assert sorted(model["model"] for model in told) == sorted(NAMES)
    for name in NAMES:
        assert api.get(f"/matrices/{name}").status_code == 404
        assert api.get("/jobs", params={"matrix_id": name}).status_code == 404
        problem(api.get("/matrices", params={"cursor": name}), 422, "invalid-request")
    page = api.get(f"/matrices/{matrix['id']}/page").text
    assert "<script>alert(1)" not in page
    assert "{{ 7 * 7 }}" in page
    with db.connect() as conn:
        assert conn.scalar(sa.text("SELECT count(*) FROM matrices WHERE id = :id"), matrix)


@pytest.mark.parametrize("name", ["a\x00b", "a\x1b[31m", "a\x07"])
def test_ids_hold_no_control_characters(api: httpx.Client, name: str) -> None:
    assert upload(api, [name, "b"]).status_code == 422


def test_an_id_with_a_line_break_is_no_two_lines(
    api: httpx.Client, db: sa.Engine, settings: Settings
) -> None:
    matrix = upload(api, ["a\r\nX-Injected: 1", "b", "c"]).json()
    selection = Worker(db, settings).result(
        api, "/select", {"matrix_id": matrix["id"], "method": "random", "size": 3}
    )
    export = f"/selections/{selection['selection_id']}/export"
    problem(api.get(export), 422, "invalid-request")
    for kind in ("csv", "json"):
        answer = api.get(export, params={"format": kind})
        assert answer.status_code == 200
        assert "x-injected" not in answer.headers


def test_a_path_with_a_line_break_is_no_path_of_ours(api: httpx.Client) -> None:
    for path in ("/livez", "/matrices", f"/jobs/{ID}"):
        problem(api.get(f"{path}%0a"), 404, "not-found")


def test_no_header_is_made_of_what_was_sent(api: httpx.Client) -> None:
    sent = "x%0d%0aX-Injected:%201"
    for path in (f"/jobs/{sent}", f"/matrices/{sent}/models", f"/jobs/{ID}/report/tables/{sent}.csv"):
        answer = api.get(path)
        assert answer.status_code in (404, 422)
        assert "x-injected" not in answer.headers
    answer = api.get("/livez", headers={"X-Request-ID": "a" * 129})
    assert answer.headers["x-request-id"] != "a" * 129


def raw(api: httpx.Client, *lines: str, body: str = "") -> bytes:
    """What the server says to these very bytes until it closes the connection."""
    with socket.create_connection((api.base_url.host, api.base_url.port or 80), timeout=10) as conn:
        conn.sendall("\r\n".join([*lines, "", body]).encode("latin-1"))
        said = b""
        # A server that has heard enough may close before all was sent.
        with contextlib.suppress(OSError):
            conn.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            while more := conn.recv(65536):
                said += more
        return said


SMUGGLED = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: 5", "Content-Length: 60"),
        ("Content-Length: 60", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 5"),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding : chunked",),
        ("Content-Length: +5",),
        ("X: a\x00b",),
        ("X : a",),
    ],
)
def test_ambiguous_requests_are_refused_and_nothing_after_them_is_read(
    api: httpx.Client, headers: tuple[str, ...]
) -> None:
    said = raw(api, "POST /matrices HTTP/1.1", "Host: localhost", *headers, body=SMUGGLED)
    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1") == 1


@pytest.fixture
def log(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[httpx.Client, io.StringIO]]:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    with answering(settings) as client:
        yield client, written


def test_no_line_of_the_log_is_made_of_what_was_sent(log: tuple[httpx.Client, io.StringIO]) -> None:
    client, written = log
    forged = '{"event":"request","status":200,"user":"admin"}'
    requests = [
        client.get(f"/jobs/x%0a{forged}%0d%0a"),
        client.get("/jobs", params={"matrix_id": f"x\n{forged}"}),
        client.get("/matrices", headers={"X-Request-ID": "x\t" + forged}),
        client.post("/mdad", json={"matrix_id": f"x\n{forged}\n", "methods": ["random"]}),
    ]
    # A line is written when its answer is sent; what is asked next, and not logged, comes after it.
    client.get("/livez")
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert len([line for line in lines if line["event"] == "request"]) == len(requests)
    assert not any("user" in line for line in lines)
    assert "\x1b" not in written.getvalue()


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def test_nothing_is_unpickled(api: httpx.Client, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    trapped = np.array([[Trap(mark), 1], [0, 1]], dtype=object)
    npy, npz, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(npy, trapped, allow_pickle=True)
    np.savez(npz, scores=trapped, models=np.array(["a", "b"]), examples=np.array(["x", "y"]))
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("scores.npy", npy.getvalue())
    plain = pickle.dumps(trapped)
    for sent in (npy.getvalue(), npz.getvalue(), packed.getvalue(), plain):
        assert api.post("/matrices", content=sent).status_code in (415, 422)
        for name in ("m.npy", "m.npz", "m.pkl", "m.parquet"):
            assert api.post("/matrices", files={"file": (name, sent)}).status_code in (415, 422)
    assert not mark.exists()
    pickle.loads(plain)
    assert mark.exists(), "the trap works"


def test_workers_take_messages_of_json_only() -> None:
    conf = broker.connect(Celery("x"), "redis://127.0.0.1/0").conf
    assert (conf.accept_content, conf.task_serializer) == (["json"], "json")


def test_oversized_ids_and_names_are_refused(api: httpx.Client) -> None:
    long = "x" * 1_001
    assert upload(api, [long, "b"]).status_code == 422
    assert upload(api, ["a", "b"], name="n" * 501).status_code == 422
    for path in (f"/matrices/{long}", f"/jobs/{long}/result", f"/selections/{long}/export"):
        problem(api.get(path), 404, "not-found")
    problem(api.post("/mdad", json={"matrix_id": long}), 422, "invalid-request")
    problem(api.post("/mdad", json={"matrix_id": ID, "seed": 10**30}), 422, "invalid-request")
    problem(api.post("/mdad", json={"matrix_id": ID, "options": "x" * LIMIT}), 413, "too-large")
    # Longer than any header may be: the server itself ends it.
    assert raw(api, "GET /livez HTTP/1.1", "Host: localhost", "X: " + "a" * 200_000)[:12] in (
        b"",
        b"HTTP/1.1 400",
    )


@pytest.mark.parametrize(
    "name",
    ["../../../../tmp/owned.csv", "/etc/cron.d/owned", "C:\\owned.csv", "x..%2f..%2fowned.csv", "a/../b.csv"],
)
def test_the_name_of_an_upload_is_a_name_and_no_path(api: httpx.Client, name: str, tmp_path: Path) -> None:
    content = b"model,x,y\na,1,0\nb,0,1\n"
    before = set(tmp_path.parent.rglob("*owned*")) | set(Path("/tmp").glob("*owned*"))
    answer = api.post("/matrices", files={"file": (name, content)}, params=ROWS)
    assert answer.status_code == 201
    assert set(tmp_path.parent.rglob("*owned*")) | set(Path("/tmp").glob("*owned*")) == before
    assert api.get(f"/matrices/{answer.json()['id']}").json()["name"] == answer.json()["name"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/mdad", {"matrix_id": ID}),
        ("/select", {"matrix_id": ID, "method": "random", "size": 1}),
        ("/webhooks", {"url": "https://1.1.1.1/"}),
        ("/compare", {"matrix_id": ID, "baseline": "a", "candidate": "b"}),
    ],
)
def test_fields_that_are_not_the_callers_to_set_are_refused(
    api: httpx.Client, path: str, body: dict[str, Any]
) -> None:
    theirs = {"id": ID, "workspace": "other", "workspace_id": ID, "status": "succeeded", "secret": "s"}
    told = problem(api.post(path, json=body | theirs), 422, "invalid-request")
    assert {error["pointer"] for error in told["errors"]} == {f"/{name}" for name in theirs}


def test_a_redirect_leads_nowhere() -> None:
    """Not even to an address that would be refused by itself: it is never asked."""
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        away = f"http://127.0.0.1:{second.getsockname()[1]}/"
        answer = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {away}\r\nContent-Length: 0\r\n\r\n"

        def serve() -> None:
            conn, _ = first.accept()
            with conn:
                conn.recv(65536)
                conn.sendall(answer.encode())

        thread = threading.Thread(target=serve)
        thread.start()
        said = Outbound(allow_private=True, ports=()).post(
            f"http://127.0.0.1:{first.getsockname()[1]}/", {}, b"{}"
        )
        thread.join()
        assert said == "answered 307"
        second.settimeout(0.05)
        with pytest.raises(TimeoutError):
            second.accept()


def test_a_name_that_moved_into_the_private_network_is_refused_when_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The address judged is the address connected to, so there is no moment to move in between."""
    answers = [("1.1.1.1", 443), ("127.0.0.1", 443)]
    asked = []

    def lookup(host: str, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", answers[min(len(asked), 2) - 1])]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    careful = Outbound(allow_private=False)
    careful.check("https://rebinding.example/hook")
    assert "private network" in str(careful.post("https://rebinding.example/hook", {}, b"{}"))
    assert asked == ["rebinding.example"] * 2


def test_every_route_is_in_the_document_or_known_to_be_beside_it() -> None:
    app: FastAPI = create_app(Settings())
    told = {(path, method.upper()) for path, item in document()["paths"].items() for method in item}
    beside = set()
    for route in iter_route_contexts(app.routes):
        for method in (route.methods or set()) - {"HEAD"}:
            path = route.path_format.replace("{model:path}", "{model}")
            if (path, method) not in told:
                beside.add((path, method))
    assert {path.split("/")[1] for path, _ in beside} <= {"docs", "openapi.json", "static"}
    assert {method for _, method in beside} == {"GET"}

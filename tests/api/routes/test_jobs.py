"""Jobs over HTTP: submitted once, waited for, followed, cancelled, their results fetched."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.test_http import problem
from tests.api.working import Worker

SELECT = {"method": "random", "size": 5}
MDAD = {"methods": ["random"], "sizes": [5, 10], "trials": 5}


def document_of(**more: Any) -> dict[str, Any]:
    """12 models of rising ability on 40 examples."""
    rng = np.random.default_rng(0)
    scores = rng.random((12, 40)) < np.linspace(0.2, 0.9, 12)[:, None]
    models, examples = [f"m{i}" for i in range(12)], [f"e{j}" for j in range(40)]
    return {"models": models, "examples": examples, "scores": scores.astype(int).tolist(), **more}


@pytest.fixture(scope="module")
def matrix(api: httpx.Client) -> str:
    answer = api.post("/matrices", json=document_of())
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.fixture(scope="module")
def finish(db: sa.Engine, settings: Settings) -> Callable[[str], None]:
    """Do a job's work in this thread, as a worker does."""
    return Worker(db, settings).finish


def submitted(api: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = api.post(path, json=body)
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    assert answer.headers["location"] == job["links"]["self"] == f"/jobs/{job['id']}"
    assert int(answer.headers["retry-after"]) >= 1
    return job


@pytest.mark.parametrize(("path", "body"), [("/select", SELECT), ("/mdad", MDAD)])
def test_a_job_is_accepted_computed_and_its_result_fetched(
    api: httpx.Client, matrix: str, finish: Callable[[str], None], path: str, body: dict[str, Any]
) -> None:
    job = submitted(api, path, {"matrix_id": matrix, **body, "seed": 11})
    assert (job["status"], job["kind"], job["matrix_id"]) == ("queued", path[1:], matrix)
    early = problem(api.get(job["links"]["result"]), 409, "conflict")
    assert "wait" in early["detail"]
    finish(job["id"])
    done = api.get(job["links"]["self"]).json()
    assert (done["status"], done["progress"]["fraction"]) == ("succeeded", 1.0)
    assert done["progress"]["done"] == done["progress"]["total"]
    result = api.get(job["links"]["result"])
    assert result.json()["matrix"] == {
        "id": matrix,
        "revision": 1,
        "content_hash": api.get(job["links"]["matrix"]).json()["content_hash"],
    }
    again = api.get(job["links"]["result"], headers={"If-None-Match": f'"x", {result.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")


def test_the_result_is_sent_byte_for_byte(
    api: httpx.Client, db: sa.Engine, matrix: str, finish: Callable[[str], None]
) -> None:
    job = submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 12})
    finish(job["id"])
    with db.connect() as conn:
        stored = conn.scalar(sa.text("SELECT result FROM jobs WHERE id = :id"), {"id": job["id"]})
    assert api.get(job["links"]["result"]).content == stored


@pytest.mark.parametrize(
    "body",
    [
        {"source_models": [3, 5], "target_models": 4, "trials": 2, "sizes": [3]},
        {"group": ["m1", "m2"], "methods": ["random"], "trials": 3, "sizes": [2, 5], "by_subtask": True},
        {"holdout": 0, "target_models": "all", "methods": ["random", "stratified"], "sizes": [40]},
        {"paper_compat": True, "methods": ["random"], "trials": 2, "target_mdad": 0.9, "target_models": 11},
    ],
    ids=["learning curve", "group and subtasks", "exact", "paper"],
)
def test_every_shape_of_result_is_in_the_document(
    api: httpx.Client, finish: Callable[[str], None], body: dict[str, Any]
) -> None:
    matrix = api.post("/matrices", json=document_of(subtasks=["a", "b"] * 20)).json()["id"]
    job = submitted(api, "/mdad", {"matrix_id": matrix, **body})
    finish(job["id"])
    done = api.get(job["links"]["self"]).json()
    assert done["status"] == "succeeded", done
    assert api.get(job["links"]["result"]).json()["recommendation"]["sentence"]


def test_equal_requests_at_once_make_one_job(api: httpx.Client, db: sa.Engine, matrix: str) -> None:
    body = {"matrix_id": matrix, **MDAD, "seed": 13}
    spelled_out = {**body, "probability": 0.8, "missing": "error"}
    with ThreadPoolExecutor(8) as pool:
        jobs = list(pool.map(lambda i: submitted(api, "/mdad", body if i % 2 else spelled_out), range(8)))
    assert len({job["id"] for job in jobs}) == 1
    with db.connect() as conn:
        counted = sa.text("SELECT count(*) FROM jobs WHERE settings ->> 'seed' = '13'")
        assert conn.scalar(counted) == 1


def test_waiting_ends_with_the_job(api: httpx.Client, matrix: str, finish: Callable[[str], None]) -> None:
    job = submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 14})
    with ThreadPoolExecutor(1) as pool:
        started = time.monotonic()
        waited = pool.submit(api.get, job["links"]["self"], params={"wait": 25})
        finish(job["id"])
        answer = waited.result()
    assert answer.json()["status"] == "succeeded"
    assert time.monotonic() - started < 4, "faster than the fallback's look"


def test_waiting_ends_in_time(api: httpx.Client, matrix: str) -> None:
    job = submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 15})
    started = time.monotonic()
    answer = api.get(job["links"]["self"], params={"wait": 0.2})
    assert 0.2 <= time.monotonic() - started < 4
    assert (answer.json()["status"], answer.headers["retry-after"]) == ("queued", "1")


@pytest.mark.parametrize("wait", ["-1", "26", "nan", "soon"])
def test_a_wait_out_of_range_is_refused(api: httpx.Client, matrix: str, wait: str) -> None:
    job = submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 15})
    document = problem(api.get(job["links"]["self"], params={"wait": wait}), 422, "invalid-request")
    assert document["errors"][0]["pointer"] == "query/wait"


def test_many_who_wait_hold_neither_threads_nor_connections(
    api: httpx.Client, db: sa.Engine, matrix: str, finish: Callable[[str], None]
) -> None:
    """Five hundred, and others are still served."""
    job = submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 16})
    before = threading.active_count()
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(_waiting(api.base_url, job["links"]["self"])) for _ in range(500)]
        started = time.monotonic()
        assert api.get("/matrices").status_code == 200
        assert time.monotonic() - started < 5
        assert threading.active_count() - before <= 40, "the server's own threads at most"
        with db.connect() as conn:
            held = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            assert (conn.scalar(sa.text(held)) or 0) < 30
        finish(job["id"])
        assert all(b'"status":"succeeded"' in _answer(connection) for connection in waiting)


@contextlib.contextmanager
def _waiting(base: httpx.URL, path: str) -> Iterator[socket.socket]:
    """A connection that has asked and waits for the job to end."""
    with socket.create_connection((base.host, base.port or 80), timeout=30) as connection:
        ask = f"GET {path}?wait=25 HTTP/1.1\r\nHost: {base.host}\r\nConnection: close\r\n\r\n"
        connection.sendall(ask.encode())
        yield connection


def _answer(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_queued_job_is_cancelled_at_once(api: httpx.Client, matrix: str) -> None:
    job = submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 17})
    cancelled = api.post(job["links"]["cancel"])
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelled")
    assert api.post(job["links"]["cancel"]).status_code == 202
    assert "cancelled" in problem(api.get(job["links"]["result"]), 409, "conflict")["detail"]
    assert submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 17})["id"] != job["id"]


def test_a_finished_job_is_not_cancelled(
    api: httpx.Client, matrix: str, finish: Callable[[str], None]
) -> None:
    job = submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 18})
    finish(job["id"])
    problem(api.post(job["links"]["cancel"]), 409, "conflict")


def test_jobs_are_listed_by_status_kind_and_matrix(api: httpx.Client, matrix: str) -> None:
    select = submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 19})
    mdad = submitted(api, "/mdad", {"matrix_id": matrix, **MDAD, "seed": 19})
    newest = api.get("/jobs", params={"limit": 2}).json()["items"]
    assert [job["id"] for job in newest] == [mdad["id"], select["id"]]
    only = api.get("/jobs", params={"kind": "select", "status": "queued", "matrix_id": matrix}).json()[
        "items"
    ]
    assert only[0]["id"] == select["id"]
    assert {(job["kind"], job["status"]) for job in only} == {("select", "queued")}


@pytest.mark.parametrize("path", ["", "/result", "/events", "/cancel"])
@pytest.mark.parametrize("job_id", ["nothing", "0198c0de-7a57-7e57-8000-000000000001"])
def test_an_unknown_job_is_not_found(api: httpx.Client, job_id: str, path: str) -> None:
    method = "POST" if path == "/cancel" else "GET"
    problem(api.request(method, f"/jobs/{job_id}{path}"), 404, "not-found")


def events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The fields of each event of a stream."""
    fields: dict[str, Any] = {}
    for line in lines:
        if not line:
            if fields:
                yield fields
            fields = {}
            continue
        name, _, value = line.partition(": ")
        fields[name] = value
    assert not fields, "the stream ended within an event"


def test_events_follow_the_job_to_its_end(
    api: httpx.Client, matrix: str, finish: Callable[[str], None]
) -> None:
    job = submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 20})
    with api.stream("GET", job["links"]["events"]) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        told = events(stream.iter_lines())
        first = next(told)
        worker = threading.Thread(target=finish, args=(job["id"],))
        worker.start()
        last = list(told)[-1]
        worker.join()
    assert (first["event"], json.loads(first["data"])["status"]) == ("job", "queued")
    assert json.loads(last["data"]) == api.get(job["links"]["self"]).json()
    assert json.loads(last["data"])["status"] == "succeeded"
    resumed = api.get(job["links"]["events"], headers={"Last-Event-ID": last["id"]})
    assert resumed.text == "", "nothing is told twice"
    from_before = api.get(job["links"]["events"], headers={"Last-Event-ID": first["id"]})
    assert [json.loads(e["data"])["status"] for e in events(from_before.iter_lines())] == ["succeeded"]


def test_a_selection_is_kept_exported_and_deleted(
    api: httpx.Client, matrix: str, finish: Callable[[str], None]
) -> None:
    job = submitted(api, "/select", {"matrix_id": matrix, **SELECT, "seed": 21})
    finish(job["id"])
    result = api.get(job["links"]["result"]).json()
    path = f"/selections/{result['selection_id']}"
    read = api.get(path)
    assert read.headers["etag"] == f'"{result["content_hash"]}"'
    assert {key: read.json()[key] for key in result} == result
    ids = [example["id"] for example in result["examples"]]
    assert api.get(f"{path}/export").text == "".join(f"{name}\n" for name in ids)
    table = api.get(f"{path}/export", params={"format": "csv"})
    assert table.text.splitlines()[:2] == ["id,weight,subtask", f"{ids[0]},0.2,"]
    assert "attachment" in table.headers["content-disposition"]
    tag = {"If-None-Match": table.headers["etag"]}
    assert api.get(f"{path}/export", params={"format": "csv"}, headers=tag).status_code == 304
    assert api.get(f"{path}/export", headers=tag).status_code == 200
    listed = api.get("/selections", params={"matrix_id": matrix, "limit": 1000}).json()["items"]
    assert result["selection_id"] in [item["selection_id"] for item in listed]
    problem(api.delete(f"/matrices/{matrix}"), 409, "conflict")
    assert api.delete(path).status_code == 204
    problem(api.get(path), 404, "not-found")
    problem(api.get(f"{path}/export", params={"format": "pdf"}), 422, "invalid-request")

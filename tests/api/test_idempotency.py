"""A request sent twice with the same key is done once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import sqlalchemy as sa

from tests.api.routes.test_jobs import document_of
from tests.api.test_http import problem
from tests.contract.test_refusals import everything

CSV = b"model,q1,q2\na,1,0\nb,0,1\n"


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def upload(api: httpx.Client, key: str, content: bytes = CSV, name: str = "x") -> httpx.Response:
    params = {"orientation": "models_as_rows", "name": name}
    return api.post("/matrices", params=params, content=content, headers=keyed(key))


def test_an_upload_sent_again_is_answered_as_before(api: httpx.Client, db: sa.Engine) -> None:
    first = upload(api, "a")
    before = everything(db)
    second = upload(api, "a")
    assert (second.status_code, second.content) == (201, first.content)
    assert second.headers["location"] == first.headers["location"]
    assert second.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert everything(db) == before


@pytest.mark.parametrize(("content", "name"), [(CSV.replace(b"a,1", b"a,0"), "x"), (CSV, "y")])
def test_the_same_key_for_another_upload_is_refused(api: httpx.Client, content: bytes, name: str) -> None:
    assert upload(api, "b").status_code == 201
    (error,) = problem(upload(api, "b", content, name), 422, "invalid-request")["errors"]
    assert (error["pointer"], error["code"]) == ("header/idempotency-key", "key_reused")


def test_the_same_key_on_another_path_is_refused(api: httpx.Client) -> None:
    matrix = upload(api, "c").json()["id"]
    answer = api.post(
        "/select", json={"matrix_id": matrix, "method": "random", "size": 1}, headers=keyed("c")
    )
    problem(answer, 422, "invalid-request")


def test_a_refused_request_leaves_its_key_free(api: httpx.Client) -> None:
    assert upload(api, "d", b"").status_code == 422
    assert upload(api, "d").status_code == 201


def test_many_at_once_do_it_once(api: httpx.Client, db: sa.Engine) -> None:
    before = everything(db)["matrices"]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: upload(api, "e"), range(20)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1
    assert everything(db)["matrices"] == before + 1


def test_twenty_requests_at_once_with_one_key_make_one_job(api: httpx.Client, db: sa.Engine) -> None:
    matrix = api.post("/matrices", json=document_of()).json()["id"]
    ask = {"matrix_id": matrix, "trials": 7}
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: api.post("/mdad", json=ask, headers=keyed("j")), range(20)))
    assert {answer.status_code for answer in answers} <= {202, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 202}) == 1
    with db.connect() as conn:
        assert conn.scalar(sa.text("SELECT count(*) FROM jobs WHERE settings ->> 'trials' = '7'")) == 1
    other = api.post("/mdad", json=ask | {"trials": 8}, headers=keyed("j"))
    assert other.status_code == 422
    assert other.json()["errors"][0]["pointer"] == "header/idempotency-key", other.text


def test_a_job_is_answered_as_before_however_it_is_spelled(api: httpx.Client) -> None:
    matrix = api.post("/matrices", json=document_of()).json()["id"]
    first = api.post("/mdad", json={"matrix_id": matrix, "trials": 3}, headers=keyed("f"))
    job = first.json()
    assert api.post(job["links"]["cancel"]).json()["status"] == "cancelled"
    spelled = {"trials": 3, "seed": 0, "matrix_id": matrix}
    again = api.post("/mdad", json=spelled, headers=keyed("f"))
    assert (again.content, again.headers["retry-after"]) == (first.content, "1")
    fresh = api.post("/mdad", json=spelled, headers=keyed("g"))
    assert fresh.json()["id"] != job["id"]


def test_a_key_is_kept_for_a_day(api: httpx.Client, db: sa.Engine) -> None:
    first = upload(api, "h")
    with db.begin() as conn:
        conn.execute(sa.text("UPDATE idempotency_keys SET created_at = now() - interval '25 hours'"))
    second = upload(api, "h")
    assert second.json()["id"] != first.json()["id"]


@pytest.mark.parametrize("key", ["", "two words", "x" * 256])
def test_an_ill_formed_key_is_refused(api: httpx.Client, key: str) -> None:
    (error,) = problem(upload(api, key), 422, "invalid-request")["errors"]
    assert error["pointer"] == "header/idempotency-key"

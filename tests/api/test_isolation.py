"""One caller's load on an API server, and what another caller notices of it."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import httpx
import pytest
import sqlalchemy as sa

from service.core import api_keys
from service.core.settings import Settings
from tests.api.conftest import answering
from tests.api.doors import TINY, bearing, make

LARGE = gzip.compress(
    b"model," + b",".join(b"q%d" % i for i in range(20_000)) + b"\n"
    + b"".join(b"m%d," % m + b",".join(b"%d" % ((m * 7 + i * i) % 3 % 2) for i in range(20_000)) + b"\n"
               for m in range(100))
)  # fmt: skip
ROWS = {"orientation": "models_as_rows"}


@pytest.fixture(scope="module")
def api(postgres_url: str, redis_url: str) -> Iterator[httpx.Client]:
    few = Settings(
        database_url=postgres_url,
        redis_url=redis_url,
        auth="required",
        upload_wait_seconds=2,
        uploads_per_workspace=1,
        upload_threads=2,
        max_failed_keys_per_minute=20,
    )
    with answering(few) as client:
        yield client


def upload(api: httpx.Client, key: str) -> int:
    # Named differently, so that each is read and stored.
    answer = api.post(
        "/matrices", content=LARGE, headers=bearing(key), params={"orientation": "models_as_rows"}
    )
    return answer.status_code


def test_one_workspaces_uploads_leave_room_for_anothers(api: httpx.Client, db: sa.Engine) -> None:
    many, one = make(db, "many"), make(db, "one")
    with ThreadPoolExecutor(20) as pool:
        sent = [pool.submit(upload, api, many) for _ in range(16)]
        live, own = [], []
        while not all(future.done() for future in sent):
            began = time.perf_counter()
            assert api.get("/livez").status_code == 200
            assert api.get("/readyz").status_code == 200
            live.append(time.perf_counter() - began)
            answer = api.post("/matrices", json=TINY, headers=bearing(one))
            own.append(answer.status_code)
        codes = {future.result() for future in sent}
    assert codes <= {201, 503}
    assert 201 in codes
    assert set(own) == {201}
    assert median(live) < 0.5


def test_uploads_beyond_a_workspaces_slots_are_told_when_to_come_again(
    postgres_url: str, redis_url: str, db: sa.Engine
) -> None:
    key = make(db, "impatient")
    few = Settings(
        database_url=postgres_url,
        redis_url=redis_url,
        upload_wait_seconds=0.05,
        uploads_per_workspace=1,
    )
    with answering(few) as api, ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(
                lambda _: api.post("/matrices", content=LARGE, headers=bearing(key), params=ROWS),
                range(6),
            )
        )
    refused = [answer for answer in answers if answer.status_code == 503]
    assert refused
    assert {answer.headers["Retry-After"] for answer in refused} == {"10"}
    assert any(answer.status_code == 201 for answer in answers)


def test_a_flood_of_wrong_keys_is_refused_without_the_database(api: httpx.Client, db: sa.Engine) -> None:
    good = make(db, "calm")
    assert api.get("/matrices", headers=bearing(good)).status_code == 200
    asked: list[str] = []

    def hear(*args: object) -> None:
        if "api_keys" in str(args[2]):
            asked.append(str(args[2]))

    sa.event.listen(sa.Engine, "before_cursor_execute", hear)
    try:
        codes = [api.get("/matrices", headers=bearing(str(api_keys.new()))).status_code for _ in range(60)]
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", hear)
    assert codes[:20] == [401] * 20
    assert set(codes[21:]) == {429}
    assert len(asked) <= 21
    # Whoever was known before is not kept out by others who share the address.
    assert api.get("/matrices", headers=bearing(good)).status_code == 200


def test_the_same_wrong_key_is_looked_up_once_in_a_while(
    postgres_url: str, redis_url: str, db: sa.Engine
) -> None:
    strict = Settings(database_url=postgres_url, redis_url=redis_url, auth="required")
    wrong = bearing(str(api_keys.new()))
    looked: list[str] = []

    def hear(*args: object) -> None:
        if "FROM api_keys" in str(args[2]):
            looked.append("")

    with answering(strict) as api:
        sa.event.listen(sa.Engine, "before_cursor_execute", hear)
        try:
            assert {api.get("/matrices", headers=wrong).status_code for _ in range(10)} == {401}
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", hear)
    assert len(looked) == 1

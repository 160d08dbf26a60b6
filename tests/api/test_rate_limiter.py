"""Requests a minute."""

from __future__ import annotations

import socket
import time

import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.conftest import answering
from tests.api.doors import bearing, locked, make
from tests.api.test_http import problem


@pytest.fixture(scope="module")
def settings(postgres_url: str, redis_url: str) -> Settings:
    return locked(postgres_url, redis_url)


def test_a_key_may_send_so_many_requests_a_minute(settings: Settings, db: sa.Engine) -> None:
    busy, other = make(db), make(db)
    with answering(settings.model_copy(update={"max_requests_per_minute": 3})) as api:
        for _ in range(3):
            assert api.get("/matrices", headers=bearing(busy)).status_code == 200
        answer = api.get("/matrices", headers=bearing(busy))
        problem(answer, 429, "too-many-requests")
        assert 0 < int(answer.headers["Retry-After"]) <= 60
        assert answer.headers["RateLimit-Policy"] == '"requests";q=3;w=60'
        assert answer.headers["RateLimit"].startswith('"requests";r=0;t=')
        assert api.get("/matrices", headers=bearing(other)).status_code == 200
        assert api.get("/livez").status_code == 200


@pytest.mark.parametrize("state", ["down", "frozen"])
def test_without_redis_requests_are_not_counted_and_hardly_wait(
    settings: Settings, db: sa.Engine, state: str
) -> None:
    given = make(db)
    with socket.socket() as frozen:
        # A frozen server's machine still takes connections.
        frozen.bind(("127.0.0.1", 0))
        if state == "frozen":
            frozen.listen()
        url = f"redis://127.0.0.1:{frozen.getsockname()[1]}/0"
        with answering(settings.model_copy(update={"redis_url": url, "max_requests_per_minute": 1})) as api:
            waited = []
            for _ in range(5):
                begun = time.perf_counter()
                assert api.get("/matrices", headers=bearing(given)).status_code == 200
                waited.append(time.perf_counter() - begun)
    assert sum(waited) < 3

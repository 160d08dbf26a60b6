"""Browsers, and a service without keys: what a page of another site must not do."""

from __future__ import annotations

from collections.abc import Iterator

import click
import httpx
import pytest
import sqlalchemy as sa

import migrations
from service.cli.serve import check_exposure
from service.core.settings import Settings
from service.store import keys as stored
from tests.api.conftest import answering
from tests.api.doors import TINY, bearing, locked, make
from tests.api.test_http import problem


@pytest.fixture(scope="module")
def settings(postgres_url: str, redis_url: str) -> Settings:
    return locked(postgres_url, redis_url)


@pytest.fixture(scope="module")
def key(db: sa.Engine) -> str:
    return make(db)


def test_a_browser_gives_the_key_as_password(api: httpx.Client, key: str) -> None:
    assert api.get("/", auth=("anyone", key)).status_code == 200
    assert api.get("/static/app.js", auth=("", key)).status_code == 200
    own = {"Origin": str(api.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert api.post("/matrices", json=TINY, auth=("", key), headers=own).status_code == 201


CROSS_SITE = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-origin"},
]


@pytest.mark.parametrize("headers", CROSS_SITE, ids=str)
def test_another_sites_page_may_not_write_in_a_persons_name(
    api: httpx.Client, key: str, headers: dict[str, str]
) -> None:
    answer = api.post("/matrices", json=TINY, auth=("", key), headers=headers)
    assert problem(answer, 403, "forbidden")["errors"][0]["code"] == "cross_site"
    # A page that holds the key itself acts in its own name.
    assert api.post("/matrices", json=TINY, headers=headers | bearing(key)).status_code == 201


LOCAL = [
    "localhost:8000",
    "127.0.0.1",
    "[::1]:80",
    "a.localhost",
    "bench.example",
    "Other.Example:9",
    "api:80",
]
STRANGE = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "[2001:db8::1]"]


@pytest.fixture
def keyless(empty_postgres_url: str, settings: Settings) -> Iterator[httpx.Client]:
    migrations.upgrade(empty_postgres_url)
    open_ = settings.model_copy(
        update={"auth": "auto", "database_url": empty_postgres_url, "hosts": "bench.example, other.example"}
    )
    engine = sa.create_engine(empty_postgres_url)
    with engine.begin() as conn:
        conn.execute(sa.text("DELETE FROM api_keys"))
    engine.dispose()
    with answering(open_) as client:
        yield client


@pytest.mark.parametrize("host", LOCAL)
def test_without_keys_local_and_named_hosts_are_answered(keyless: httpx.Client, host: str) -> None:
    assert keyless.get("/matrices", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", STRANGE)
def test_without_keys_a_rebound_name_is_refused(keyless: httpx.Client, host: str) -> None:
    answer = keyless.get("/matrices", headers={"Host": host})
    assert problem(answer, 403, "forbidden")["errors"][0]["code"] == "unknown_host"


@pytest.mark.parametrize("headers", CROSS_SITE, ids=str)
def test_without_keys_another_sites_page_may_not_write(
    keyless: httpx.Client, headers: dict[str, str]
) -> None:
    assert keyless.get("/matrices", headers=headers).status_code == 200
    problem(keyless.post("/matrices", json=TINY, headers=headers), 403, "forbidden")


def test_a_named_host_may_write_from_its_own_pages(keyless: httpx.Client) -> None:
    headers = {"Host": "internal:8000", "Origin": "https://bench.example"}
    assert (
        keyless.post("/matrices", json=TINY, headers=headers | {"Host": "bench.example"}).status_code == 201
    )


def test_the_first_key_closes_the_service(keyless: httpx.Client, empty_postgres_url: str) -> None:
    matrix = keyless.post("/matrices", json=TINY).json()["id"]
    engine = sa.create_engine(empty_postgres_url)
    first, other = make(engine), make(engine, "other")
    assert keyless.get(f"/matrices/{matrix}").status_code == 401
    # What was there belongs to the default workspace.
    assert keyless.get(f"/matrices/{matrix}", headers=bearing(first)).status_code == 200
    assert keyless.get(f"/matrices/{matrix}", headers=bearing(other)).status_code == 404
    with engine.begin() as conn:
        for one in stored.listed(conn, None):
            stored.revoke(conn, one.id)
    engine.dispose()
    assert keyless.get(f"/matrices/{matrix}").status_code == 401


def test_a_public_address_needs_a_key_first(settings: Settings, empty_postgres_url: str) -> None:
    """Also where the database has not been migrated; this machine alone may do without."""
    auto = settings.model_copy(update={"auth": "auto", "database_url": empty_postgres_url})
    engine = sa.create_engine(empty_postgres_url)
    with engine.begin() as conn:
        conn.execute(sa.text("DROP SCHEMA public CASCADE; CREATE SCHEMA public"))
    for _ in range(2):
        for host in ("127.0.0.1", "localhost", "::1"):
            assert check_exposure(host, auto)
        for host in ("0.0.0.0", "::", "192.0.2.1", "a-name"):
            with pytest.raises(click.ClickException, match="tastetest keys create NAME"):
                check_exposure(host, auto)
        migrations.upgrade(empty_postgres_url)
    assert not check_exposure("0.0.0.0", auto.model_copy(update={"auth": "required"}))
    make(engine)
    engine.dispose()
    assert not check_exposure("0.0.0.0", auto)


def test_without_a_database_a_public_address_is_refused_for_that(settings: Settings) -> None:
    away = settings.model_copy(update={"auth": "auto", "database_url": "postgresql://127.0.0.1:9/x"})
    assert check_exposure("127.0.0.1", away)
    with pytest.raises(click.ClickException, match="database does not answer"):
        check_exposure("0.0.0.0", away)

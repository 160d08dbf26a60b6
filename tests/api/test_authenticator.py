"""Who is let in: keys, scopes, browsers, and a service without keys."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
import structlog
from click.testing import CliRunner

from service.cli.main import main
from service.core import api_keys
from service.core.api_keys import SCOPES
from service.core.settings import Settings, get_settings
from service.store import keys as stored
from tests.api.conftest import answering
from tests.api.doors import UNKNOWN, Operation, Request, ask, bearing, locked, make, operations, statements
from tests.api.test_http import problem

ANYTHING = {name: UNKNOWN for operation in operations() for name in re.findall(r"{(\w+)}", operation.path)}


@pytest.fixture(scope="module")
def settings(postgres_url: str, redis_url: str) -> Settings:
    return locked(postgres_url, redis_url)


@pytest.fixture(scope="module")
def key(db: sa.Engine) -> str:
    return make(db)


@pytest.fixture(scope="module")
def by_scope(db: sa.Engine) -> dict[str, str]:
    return {scope: make(db, "default", scope) for scope in SCOPES}


@pytest.mark.parametrize("operation", operations(), ids=lambda o: o.name)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_key_opens_what_its_scope_does(
    api: httpx.Client, by_scope: dict[str, str], operation: Operation, scope: str
) -> None:
    answer = ask(api, by_scope[scope], operation, ANYTHING, Request())
    if operation.scope in (scope, None):
        assert answer.status_code not in (401, 403)
        return
    (error,) = problem(answer, 403, "forbidden")["errors"]
    assert error["code"] == "missing_scope"
    assert f"scope {operation.scope!r}" in error["message"]


def test_reading_writing_and_the_rest_have_their_scopes() -> None:
    found = {operation.name: operation.scope for operation in operations()}
    assert {name for name, scope in found.items() if scope is None} == {"live", "ready"}
    admin = {name for name, scope in found.items() if scope == "admin"}
    assert admin == {
        "metrics",
        *(name for name in found if "webhook" in name),
        "list_deliveries",
        "rotate_secret",
        "redeliver",
    }
    for operation in operations():
        if operation.scope == "read":
            assert operation.method == "GET" or operation.name in ("compare", "measure_power")
        if operation.scope == "write":
            assert operation.method != "GET"


@pytest.mark.parametrize("operation", operations(), ids=lambda o: o.name)
def test_nothing_is_open_without_a_key_but_what_says_so(api: httpx.Client, operation: Operation) -> None:
    answer = ask(api, "", operation, ANYTHING, Request())
    if operation.scope is None:
        assert answer.status_code == 200
    else:
        problem(answer, 401, "unauthenticated")


@pytest.mark.parametrize(
    "path", ["/no-such-path", "/static/app.js", "/docs-x", "/docs/x", "/livez/", "//livez", "/jobs/"]
)
def test_unknown_paths_are_closed_too(api: httpx.Client, path: str) -> None:
    assert api.build_request("GET", path).url.path == path or path.startswith("//")
    problem(api.send(httpx.Request("GET", f"{str(api.base_url).rstrip('/')}{path}")), 401, "unauthenticated")


@pytest.mark.parametrize(
    "path", ["/docs", "/openapi.json", "/docs/swagger-ui.css", "/docs/swagger-ui.js", "/docs/favicon.png"]
)
def test_the_documentation_is_open(api: httpx.Client, path: str) -> None:
    assert api.get(path).status_code == 200


WRONG: dict[str, Any] = {
    "another secret": lambda key: key[:-1] + ("A" if key[-1] != "A" else "B"),
    "another id": lambda key: f"tt_{'0' * 16}_{key[20:]}",
    "no secret": lambda key: key[:20],
    "longer": lambda key: key + "A",
    "upper case": lambda key: key.upper(),
    "nothing but spaces between": lambda key: "  x",
    "long": lambda key: "tt_" + "a" * 7000,
    "not ASCII": lambda key: "tt_é",
    "SQL": lambda key: "tt_' OR 1=1 --_x",
}


@pytest.mark.parametrize("kind", ["Bearer", "Basic"])
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_key_is_refused_alike(api: httpx.Client, key: str, wrong: str, kind: str) -> None:
    given = WRONG[wrong](key).encode()
    sent = base64.b64encode(b"me:" + given) if kind == "Basic" else given
    answer = api.get("/jobs", headers=[(b"Authorization", kind.encode() + b" " + sent)])
    assert problem(answer, 401, "unauthenticated")["detail"].startswith("This API key is not valid.")
    assert answer.headers.get_list("WWW-Authenticate") == [
        'Basic realm="Tastetest"',
        'Bearer realm="Tastetest"',
    ]


@pytest.mark.parametrize(
    "sent", ["Basic", "Basic !!!", "Basic bm9jb2xvbg==", "Digest x", "Bearer", "tt_x", ""]
)
def test_other_credentials_are_refused(api: httpx.Client, sent: str) -> None:
    problem(api.get("/jobs", headers={"Authorization": sent}), 401, "unauthenticated")


def test_expired_and_revoked_keys_are_refused_as_if_unknown(api: httpx.Client, db: sa.Engine) -> None:
    expired, revoked = make(db, lasts=timedelta(seconds=-1)), make(db)
    assert api.get("/jobs", headers=bearing(revoked)).status_code == 200
    with db.begin() as conn:
        stored.revoke(conn, api_keys.parse(revoked).id)
    details = {
        problem(api.get("/jobs", headers=bearing(given)), 401, "unauthenticated")["detail"]
        for given in (expired, revoked, str(api_keys.new()))
    }
    assert len(details) == 1


def test_every_refusal_costs_the_same(
    api: httpx.Client, db: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One comparison in constant time and one look-up, whether the id is known or not."""
    compared: list[int] = []

    def spied(a: bytes, b: bytes) -> bool:
        compared.append(len(a) - len(b))
        return compare(a, b)

    compare = hmac.compare_digest
    monkeypatch.setattr("service.api.authenticator.hmac.compare_digest", spied)
    known, revoked = make(db), make(db)
    with db.begin() as conn:
        stored.revoke(conn, api_keys.parse(revoked).id)
    given = {
        "unknown": str(api_keys.new()),
        "malformed": "x",
        "wrong": f"{known[:20]}{api_keys.new().secret}",
        "expired": make(db, lasts=timedelta(seconds=-1)),
        "revoked": revoked,
    }
    costs = {}
    for name, sent in given.items():
        compared.clear()
        with statements() as asked:
            assert api.get("/jobs", headers=bearing(sent)).status_code == 401
        costs[name] = (list(compared), list(asked))
    assert {tuple(of) for of, _ in costs.values()} == {(0,)}
    assert len({tuple(asked) for _, asked in costs.values()}) == 1


def test_a_key_is_looked_up_once_in_its_time(settings: Settings, db: sa.Engine) -> None:
    given = make(db)
    looked = []
    sa.event.listen(
        sa.Engine,
        "before_cursor_execute",
        lambda *args: looked.append(1) if "FROM api_keys" in args[2] else None,
    )
    with answering(settings.model_copy(update={"key_cache_seconds": 600.0})) as api:
        for _ in range(5):
            assert api.get("/jobs", headers=bearing(given)).status_code == 200
        assert len(looked) == 1
        wrong = f"{given[:20]}{api_keys.new().secret}"
        assert api.get("/jobs", headers=bearing(wrong)).status_code == 401


def test_the_last_use_is_noted_at_most_once_a_minute(api: httpx.Client, db: sa.Engine) -> None:
    given = make(db)
    moments = []
    for _ in range(3):
        api.get("/jobs", headers=bearing(given))
        with db.connect() as conn:
            moments.append(stored.get(conn, api_keys.parse(given).id).last_used_at)
    assert moments[0] is not None
    assert len(set(moments)) == 1
    with db.begin() as conn:
        conn.execute(sa.text("UPDATE api_keys SET last_used_at = now() - interval '61 seconds'"))
    api.get("/jobs", headers=bearing(given))
    with db.connect() as conn:
        assert (stored.get(conn, api_keys.parse(given).id).last_used_at or moments[0]) >= moments[0]


def test_no_line_of_the_log_holds_a_secret(api: httpx.Client, db: sa.Engine) -> None:
    given, wrong = make(db), str(api_keys.new())
    with structlog.testing.capture_logs() as lines:
        for sent in (given, wrong):
            api.get("/jobs", headers=bearing(sent))
            api.get("/jobs", auth=("me", sent))
    said = repr(lines)
    assert api_keys.parse(given).id in said
    for sent in (given, wrong):
        assert api_keys.parse(sent).secret not in said


def test_only_the_hash_of_a_secret_is_stored(db: sa.Engine) -> None:
    given = api_keys.parse(make(db))
    with db.connect() as conn:
        row = conn.execute(sa.text("SELECT * FROM api_keys WHERE id = :id"), {"id": given.id}).one()
    assert given.secret not in repr(row)
    assert given.sha256 in row


@pytest.fixture
def run(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    get_settings.cache_clear()
    yield lambda *words: CliRunner().invoke(main, ["keys", *words])
    get_settings.cache_clear()


def test_keys_are_made_listed_and_ended(run: Any, api: httpx.Client) -> None:
    made = run("create", "ci of team a", "--workspace", "team-a", "--scopes", "write,read", "--days", "30")
    given = made.stdout.strip()
    assert api.get("/matrices", headers=bearing(given)).json()["items"] == []
    key_id = api_keys.parse(given).id
    (line,) = [line for line in run("list", "--workspace", "team-a").stdout.splitlines() if key_id in line]
    for word in ("team-a", "read,write", "until", "ci of team a"):
        assert word in line
    assert api_keys.parse(given).secret not in run("list").output
    assert "is revoked" in run("revoke", key_id).stdout
    assert api.get("/matrices", headers=bearing(given)).status_code == 401
    assert "revoked" in run("list", "--workspace", "team-a").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("create", "x", "--workspace", "Team A"),
        ("create", "x", "--scopes", "all"),
        ("create", "x", "--scopes", ""),
        ("create", " "),
        ("create", "a\nb"),
        ("create", "x", "--days", "0"),
        ("revoke", "0000000000000000"),
    ],
)
def test_what_makes_no_key_is_told(run: Any, words: tuple[str, ...]) -> None:
    told = run(*words)
    assert told.exit_code != 0
    assert "Traceback" not in told.output
    assert told.stderr

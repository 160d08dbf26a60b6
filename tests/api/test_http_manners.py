"""HEAD, OPTIONS, CORS and the headers of every answer."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator

import httpx
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.conftest import answering
from tests.api.doors import TINY, bearing, make

ORIGIN = "https://eval.example.org"


@pytest.fixture(scope="module")
def keyed(postgres_url: str, api_postgres_url: str, redis_url: str) -> Iterator[httpx.Client]:
    settings = Settings(
        database_url=postgres_url,
        api_database_url=api_postgres_url,
        redis_url=redis_url,
        auth="required",
        cors_origins=f"{ORIGIN}, https://other.example.org",
        max_requests_per_minute=50,
    )
    with answering(settings) as client:
        yield client


@pytest.mark.parametrize("path", ["/livez", "/openapi.json", "/docs", "/matrices", "/jobs", "/metrics", "/"])
def test_head_is_get_without_a_body(api: httpx.Client, path: str) -> None:
    whole, head = api.get(path), api.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    same = {"content-type", "etag", "cache-control", "content-security-policy"}
    assert {k: head.headers.get(k) for k in same} == {k: whole.headers.get(k) for k in same}
    if path not in ("/metrics", "/"):
        assert head.headers["content-length"] == str(len(whole.content))


def test_head_of_what_is_not_there_is_404(api: httpx.Client) -> None:
    answer = api.head("/matrices/0198c0de-7a57-7e57-8000-000000000001")
    assert (answer.status_code, answer.content) == (404, b"")
    assert answer.headers["content-type"] == "application/problem+json"


def test_head_of_a_stream_ends(api: httpx.Client) -> None:
    matrix = api.post("/matrices", json=TINY).json()["id"]
    job = api.post("/mdad", json={"matrix_id": matrix, "methods": ["random"], "trials": 5}).json()["id"]
    answer = api.head(f"/jobs/{job}/events", timeout=5)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/matrices", "GET, HEAD, OPTIONS, POST"),
        ("/compare", "OPTIONS, POST"),
        ("/matrices/0198c0de-7a57-7e57-8000-000000000001/models/a", "GET, HEAD, OPTIONS, PATCH, PUT"),
    ],
)
def test_options_names_the_methods(api: httpx.Client, path: str, allowed: str) -> None:
    answer = api.options(path)
    assert (answer.status_code, answer.headers["allow"]) == (204, allowed)


def test_options_of_no_path_is_404(api: httpx.Client) -> None:
    assert api.options("/nowhere").status_code == 404


def test_no_answer_is_guessed_at_or_stored(api: httpx.Client) -> None:
    for path in ("/livez", "/matrices", "/nowhere", "/openapi.json", "/", "/static/app.js"):
        answer = api.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers
        if "json" in answer.headers["content-type"]:
            assert answer.headers["cache-control"] == "no-store"


def test_the_documentation_runs_no_script_but_its_own(api: httpx.Client) -> None:
    page = api.get("/docs")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
    (script,) = re.findall(r"<script>(.*?)</script>", page.text, flags=re.DOTALL)
    assert f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy


def test_only_named_origins_may_call_from_a_browser(keyed: httpx.Client, api: httpx.Client) -> None:
    ask = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    preflight = keyed.options("/compare", headers=ask | {"Access-Control-Request-Headers": "authorization"})
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == ORIGIN
    stranger = keyed.options("/compare", headers=ask | {"Origin": "https://evil.example.org"})
    assert "access-control-allow-origin" not in stranger.headers
    assert keyed.get("/livez", headers={"Origin": ORIGIN}).headers["access-control-allow-origin"] == ORIGIN
    assert "access-control-allow-origin" not in api.get("/livez", headers={"Origin": ORIGIN}).headers


def test_an_answer_says_what_is_left_of_the_limit(keyed: httpx.Client, db: sa.Engine) -> None:
    headers = bearing(make(db, "counted"))
    left = []
    for _ in range(3):
        answer = keyed.get("/matrices", headers=headers)
        assert answer.headers["ratelimit-policy"] == '"requests";q=50;w=60'
        found = re.fullmatch(r'"requests";r=(\d+);t=(\d+)', answer.headers["ratelimit"])
        assert found is not None
        left.append(int(found[1]))
        assert 1 <= int(found[2]) <= 60
    assert left == [49, 48, 47] or left[0] > 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a\u200db", "U+200D"),
        ("a\u2028b", "U+2028"),
        ("a\u202eb", "U+202E"),
        ("cafe\u0301", "composed"),
    ],
)
def test_ids_that_look_like_others_are_refused(api: httpx.Client, name: str, said: str) -> None:
    answer = api.post("/matrices", json=TINY | {"models": ["a", "b", "c", name]})
    assert answer.status_code == 422
    assert said in answer.json()["detail"]


def test_composed_ids_of_any_script_are_taken(api: httpx.Client) -> None:
    names = ["café", "模型", "модель", "a b"]
    answer = api.post("/matrices", json=TINY | {"models": names})
    assert answer.status_code == 201, answer.text

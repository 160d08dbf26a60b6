"""A second workspace's key tries every route with the first's ids, and finds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.conftest import answering
from tests.api.doors import CSV, ONE_MODEL, TINY, UNKNOWN, Operation, Request, ask, bearing, make, operations
from tests.api.working import Worker

Ids = dict[str, str]


@pytest.fixture(scope="module")
def settings(postgres_url: str, api_postgres_url: str, redis_url: str) -> Settings:
    return Settings(
        database_url=postgres_url,
        api_database_url=api_postgres_url,
        redis_url=redis_url,
        auth="required",
        webhook_private_addresses=True,
        max_webhooks=1000,
    )


@pytest.fixture(scope="module")
def api(settings: Settings) -> Iterator[httpx.Client]:
    with answering(settings) as client:
        yield client


@pytest.fixture(scope="module")
def first(db: sa.Engine) -> str:
    return make(db, "first")


@pytest.fixture(scope="module")
def second(db: sa.Engine) -> str:
    return make(db, "second")


@pytest.fixture(scope="module")
def unchanged(api: httpx.Client, db: sa.Engine, settings: Settings, first: str) -> Ids:
    """One of everything, for those who only look."""
    return everything(api, db, settings, first)


@pytest.fixture
def ids(api: httpx.Client, db: sa.Engine, settings: Settings, first: str) -> Ids:
    """The same, newly made."""
    return everything(api, db, settings, first)


def everything(api: httpx.Client, db: sa.Engine, settings: Settings, first: str) -> Ids:
    """One of everything, in the first workspace."""
    worker = Worker(db, settings)
    seed = next(SEEDS)
    api.headers.update(bearing(first))
    try:
        matrix = api.post("/matrices", json=TINY).json()["id"]
        webhook = api.post("/webhooks", json={"url": f"http://127.0.0.1/{seed}"}).json()["id"]
        select = {"matrix_id": matrix, "method": "random", "size": 2, "seed": seed}
        selection = worker.result(api, "/select", select)["selection_id"]
        mdad = {"matrix_id": matrix, "methods": ["random"], "sizes": [2], "trials": 2, "seed": seed}
        worker.result(api, "/mdad", mdad)
        job = api.post("/mdad", json=mdad).json()["id"]
        compare = {"selection_id": selection, "baseline": "a", "candidate": "b"}
        comparison = api.post("/compare", json=compare).json()["id"]
        asked = {"matrix_id": matrix, "question": {"kind": "compare", "baseline": "a"}, "batch": 2}
        session = api.post("/sessions", json=asked).json()["id"]
        delivery = api.get(f"/webhooks/{webhook}/deliveries").json()["items"][0]["id"]
    finally:
        del api.headers["Authorization"]
    ids = {"matrix_id": matrix, "webhook_id": webhook, "delivery_id": delivery}
    return (
        ids
        | {"selection_id": selection, "job_id": job, "comparison_id": comparison, "session_id": session}
        | NAMES
    )


SEEDS = iter(range(1000))
# A model, and the names of figures and tables, which are the same for everybody.
NAMES = {"model": "a", "name": "mdad"}
FIGURE = {"get_figure_svg": "agreement", "get_figure_png": "agreement"}

# What is sent beside the ids in the path. An operation with a body that is not here fails the test.
BODIES: dict[str, Callable[[Ids], Request]] = {
    "create_matrix": lambda ids: Request(sent={"json": TINY}),
    "put_model": lambda ids: Request(sent={"content": ONE_MODEL, "headers": CSV}),
    "estimate": lambda ids: Request(
        params={"orientation": "models_as_rows"}, sent={"content": ONE_MODEL, "headers": CSV}
    ),
    "submit_select": lambda ids: Request(
        sent={"json": {"matrix_id": ids["matrix_id"], "method": "random", "size": 1, "seed": 5000}}
    ),
    "submit_mdad": lambda ids: Request(
        sent={"json": {"matrix_id": ids["matrix_id"], "methods": ["random"], "trials": 3, "seed": 5000}}
    ),
    "compare": lambda ids: Request(
        sent={"json": {"selection_id": ids["selection_id"], "baseline": "a", "candidate": "b"}}
    ),
    "measure_power": lambda ids: Request(
        sent={"json": {"matrix_id": ids["matrix_id"], "difference": 0.1, "models": ["a", "b"]}}
    ),
    "create_session": lambda ids: Request(
        sent={"json": {"matrix_id": ids["matrix_id"], "question": {"kind": "score", "precision": 0.1}}}
    ),
    "post_answers": lambda ids: Request(sent={"json": {"answers": {}}}),
    "patch_model": lambda ids: Request(sent={"json": {"family": "theirs"}}),
    "create_webhook": lambda ids: Request(sent={"json": {"url": "http://127.0.0.1/other"}}),
}
# Operations that name nobody's id: what they tell must hold nothing of the first workspace's.
OF_NOBODY = {
    "create_matrix", "list_matrices", "list_jobs", "list_selections", "list_comparisons", "list_sessions",
    "create_webhook", "list_webhooks", "get_home", "live", "ready", "metrics",
}  # fmt: skip
# Found, but in a state that forbids it.
STATES = {("cancel_job", 409), ("get_partial_result", 409), ("delete_matrix", 409)}
FILTERED = ("list_jobs", "list_selections", "list_comparisons", "list_sessions")


@pytest.mark.parametrize("operation", operations(), ids=lambda o: o.name)
def test_anothers_ids_are_as_unknown_as_any(
    api: httpx.Client, first: str, second: str, operation: Operation, request: pytest.FixtureRequest
) -> None:
    ids: Ids = request.getfixturevalue("unchanged" if operation.method == "GET" else "ids")
    try_with(api, first, second, ids, operation)


def try_with(api: httpx.Client, first: str, second: str, ids: Ids, operation: Operation) -> None:
    request = BODIES[operation.name](ids) if operation.takes_body else Request()
    ids = ids | {"name": FIGURE.get(operation.name, ids["name"])}
    if operation.name in OF_NOBODY:
        told = ask(api, second, operation, ids, request)
        assert told.status_code < 300
        assert not [own for name, own in ids.items() if name.endswith("_id") and own in told.text]
        return
    theirs = ask(api, second, operation, ids, request)
    assert theirs.status_code == 404, theirs.text
    unknown = {name: UNKNOWN if name.endswith("_id") else value for name, value in ids.items()}
    nobodys = BODIES[operation.name](unknown) if operation.takes_body else request
    nothing = ask(api, second, operation, unknown, nobodys)
    assert said(theirs, ids) == said(nothing, unknown)
    # The same request finds what it names when the owner sends it.
    own = ask(api, first, operation, ids, request)
    assert own.status_code < 300 or (operation.name, own.status_code) in STATES, own.text


def said(answer: httpx.Response, ids: Ids) -> str:
    """The answer without what differs between any two."""
    text = answer.text.replace(answer.json()["request_id"], "")
    for name, value in ids.items():
        text = text.replace(value, "ID") if name.endswith("_id") else text
    return text


@pytest.mark.parametrize("operation", [o for o in operations() if o.name in FILTERED], ids=lambda o: o.name)
def test_a_list_filtered_by_anothers_matrix_is_empty(
    api: httpx.Client, first: str, second: str, unchanged: Ids, operation: Operation
) -> None:
    ids = unchanged
    only = Request(params={"matrix_id": ids["matrix_id"]})
    assert ask(api, second, operation, ids, only).json()["items"] == []
    assert ask(api, first, operation, ids, only).json()["items"] != []


def test_equal_requests_of_two_workspaces_are_two(
    api: httpx.Client, db: sa.Engine, settings: Settings, first: str, second: str
) -> None:
    """Neither finds the other's job, selection, or answer under an idempotency key."""
    worker = Worker(db, settings)
    found = []
    for key in (first, second):
        headers = bearing(key) | {"Idempotency-Key": "the-same"}
        upload = api.post("/matrices", json=TINY, headers=headers)
        assert "Idempotency-Replayed" not in upload.headers
        body = {"matrix_id": upload.json()["id"], "method": "random", "size": 3, "seed": 9}
        job = api.post("/select", json=body, headers=bearing(key)).json()
        worker.finish(job["id"])
        chosen = api.get(job["links"]["result"], headers=bearing(key)).json()
        found.append((upload.json(), job["id"], chosen))
    (mine, job, chosen), (yours, other, same) = found
    assert mine["content_hash"] == yours["content_hash"]
    assert chosen["examples"] == same["examples"]
    assert job != other
    assert chosen["selection_id"] != same["selection_id"]


def test_only_the_workspaces_own_webhooks_are_told(
    api: httpx.Client, db: sa.Engine, second: str, ids: Ids
) -> None:
    theirs = api.post("/webhooks", json={"url": "http://127.0.0.1/"}, headers=bearing(second)).json()["id"]
    with db.connect() as conn:
        told = sa.text("SELECT count(*) FROM deliveries WHERE webhook_id = :id")
        assert conn.scalar(told, {"id": theirs}) == 0
        assert conn.scalar(told, {"id": ids["webhook_id"]}) == 2


def test_every_operation_is_tried() -> None:
    names = {operation.name for operation in operations()}
    assert names >= OF_NOBODY
    assert set(BODIES) == {operation.name for operation in operations() if operation.takes_body}

"""Random requests, and random walks along the document's links, while a worker does the jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from service.core.settings import Settings
from tests.api.conftest import answering
from tests.api.doors import bearing, make
from tests.api.working import Worker
from tests.contract.document import document

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}
# What data must fit beyond their schema cannot be told in one: sizes within N, files that can be read.
BEYOND_SCHEMAS = [positive_data_acceptance]
CASES = int(os.environ.get("FUZZ_CASES", "8"))
"""Requests of each operation; by hand `FUZZ_CASES=60 python -m pytest tests/contract/test_fuzz.py`."""
QUEUED = sa.text("SELECT DISTINCT job_id FROM parts WHERE status = 'queued'")
EMPTY = sa.text("TRUNCATE matrices, idempotency_keys CASCADE")


@pytest.fixture(scope="module")
def own(postgres_url: str, redis_url: str) -> Settings:
    limits = {"max_trials": 3, "max_sizes": 3}
    return Settings(database_url=postgres_url, redis_url=redis_url, auth="required", **limits)


@pytest.fixture(scope="module")
def shown(db: sa.Engine) -> dict[str, str]:
    """The headers that show a key; without them nothing but 401 is to be had."""
    return bearing(make(db))


@pytest.fixture(scope="module")
def schema(own: Settings) -> Iterator[Any]:
    with answering(own) as client:
        yield schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")


def test_random_walks_along_the_links(
    schema: Any, own: Settings, shown: dict[str, str], db: sa.Engine
) -> None:
    """Each walk starts with an empty database, and every job is done before the next step."""
    reached: set[tuple[str, int]] = set()
    worker = Worker(db, own)

    class Walk(schema.as_state_machine()):  # type: ignore[misc]
        def setup(self) -> None:
            with db.begin() as conn:
                conn.execute(EMPTY)

        def before_call(self, case: Any) -> None:
            _work(db, worker)
            name = _name(case)
            case.headers = {**(case.headers or {}), **shown}
            if name == "create_matrix":
                # Random bytes are hardly ever a matrix, and without one there is nowhere to go.
                case.body, case.media_type, case.query = MATRIX, "application/json", {}
            elif name in ASK and isinstance(case.body, dict):
                case.body = {"matrix_id": case.body.get("matrix_id"), **ASK[name]}

        def after_call(self, response: Any, case: Any) -> None:
            reached.add((_name(case), response.status_code))

        def validate_response(self, response: Any, case: Any, **kwargs: Any) -> None:
            case.validate_response(response, excluded_checks=BEYOND_SCHEMAS, **kwargs)

    Walk.run(settings=settings(max_examples=3 * CASES, stateful_step_count=8, derandomize=True, **QUIET))
    assert ("create_matrix", 201) in reached
    assert len({name for name, status in reached if status < 300}) >= 5, sorted(reached)


@pytest.mark.parametrize(
    "name", [o["operationId"] for path in document()["paths"].values() for o in path.values()]
)
def test_random_requests(schema: Any, own: Settings, shown: dict[str, str], db: sa.Engine, name: str) -> None:
    worker = Worker(db, own)
    operation = next(
        r.ok() for r in schema.get_all_operations() if r.ok().definition.raw["operationId"] == name
    )

    @given(operation.as_strategy())
    @settings(max_examples=CASES, derandomize=True, **QUIET)
    def ask(case: Any) -> None:
        _work(db, worker)
        case.call_and_validate(headers=shown, excluded_checks=BEYOND_SCHEMAS)

    ask()


def _work(db: sa.Engine, worker: Worker) -> None:
    with db.connect() as conn:
        queued = list(conn.scalars(QUEUED))
    for job_id in queued:
        worker.finish(str(job_id))


def _name(case: Any) -> str:
    return str(case.operation.definition.raw["operationId"])


ASK: dict[str, dict[str, Any]] = {
    "submit_select": {"method": "stratified", "size": 2},
    "submit_mdad": {"methods": ["random"], "trials": 2},
}

MATRIX = {
    "models": ["a", "b", "c", "d"],
    "examples": ["u", "v", "w", "x", "y", "z"],
    "scores": [[1, 0, 1, 1, 0, 0], [1, 1, 0, 0, 1, 0], [0, 1, 1, 1, 1, 1], [0, 0, 1, 0, 0, 1]],
}

"""What dashboards see."""

from __future__ import annotations

import math
import re

import httpx
import pytest
import sqlalchemy as sa

from service.store import maintenance_state
from tests.api.routes.test_jobs import document_of


def value(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found, name
    return float(found.group(1))


def test_requests_are_counted_by_template_not_by_id(api: httpx.Client) -> None:
    name = 'tastetest_requests_total{method="GET",route="/jobs/{job_id}",status="404"}'
    api.get("/jobs/nothing")
    before = value(api.get("/metrics").text, name)
    api.get("/jobs/nothing-else")
    after = api.get("/metrics")
    assert value(after.text, name) == before + 1
    assert "nothing-else" not in after.text
    assert value(after.text, 'tastetest_request_seconds_count{route="/jobs/{job_id}"}') >= 2


@pytest.mark.parametrize("path", ["/wp-login.php", "/jobs/a/b/c"])
def test_paths_that_lead_nowhere_share_one_label(api: httpx.Client, path: str) -> None:
    api.get(path)
    assert 'tastetest_requests_total{method="",route="",status="404"}' in api.get("/metrics").text


def test_jobs_are_counted_by_status_and_the_queue_has_an_age(api: httpx.Client) -> None:
    before = api.get("/metrics").text
    assert value(before, 'tastetest_jobs{status="queued"}') == 0
    assert value(before, "tastetest_oldest_queued_seconds") == 0
    matrix = api.post("/matrices", json=document_of()).json()["id"]
    assert api.post("/select", json={"matrix_id": matrix, "method": "random", "size": 2}).status_code == 202
    after = api.get("/metrics").text
    assert value(after, 'tastetest_jobs{status="queued"}') == 1
    assert value(after, 'tastetest_parts{status="queued"}') == 1
    assert value(after, "tastetest_oldest_queued_seconds") > 0
    assert value(after, "tastetest_notification_failures_total") == 0


def test_the_scheduler_is_missed(api: httpx.Client, db: sa.Engine) -> None:
    assert value(api.get("/metrics").text, "tastetest_reconciled_ago_seconds") == math.inf
    with db.begin() as conn:
        maintenance_state.count(conn, expired=0, repeated=0)
    assert value(api.get("/metrics").text, "tastetest_reconciled_ago_seconds") < 60

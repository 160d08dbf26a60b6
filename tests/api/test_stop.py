"""A service that is told to stop does not wait for those who wait."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx

from tests.acceptance.running import serving
from tests.api.routes.test_jobs import document_of


def test_those_who_follow_a_job_are_sent_home_when_the_service_stops(tmp_path: Path) -> None:
    with (
        serving("--workers", "0", "--data-dir", str(tmp_path)) as served,
        httpx.Client(base_url=served.address, timeout=60) as client,
    ):
        matrix = client.post("/matrices", json=document_of()).json()["id"]
        job = client.post("/select", json={"matrix_id": matrix, "method": "random", "size": 1}).json()
        with client.stream("GET", job["links"]["events"]) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "event: job"
            served.process.send_signal(signal.SIGTERM)
            assert list(lines)[-1] == "", "the stream ends as it should; it is not cut off"
        assert served.process.wait(30) == 0

"""Do a job's work in this thread, as a worker does."""

from __future__ import annotations

from typing import Any

import httpx
import sqlalchemy as sa

from service.core.settings import Settings
from service.jobs.notifier import WorkerNotifier
from workers.run_part import WorkerContext, work


class Worker:
    """A worker process's desk, without the process."""

    def __init__(self, db: sa.Engine, settings: Settings) -> None:
        self._desk = WorkerContext(
            engine=db,
            quick=db.execution_options(isolation_level="AUTOCOMMIT"),
            notifier=WorkerNotifier(settings.redis_url),
            settings=settings,
            worker="test",
            shutting_down=lambda: False,
        )

    def finish(self, job_id: str) -> None:
        """Every part of a job, and its assembly."""
        with self._desk.engine.connect() as conn:
            total = conn.scalar(sa.text("SELECT parts_total FROM jobs WHERE id = :id"), {"id": job_id})
        for index in range(total or 0):
            self.part(job_id, index)

    def part(self, job_id: str, index: int) -> None:
        """One part, and the assembly if it was the last."""
        work(self._desk, job_id, index)

    def result(self, api: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The result of a request that must succeed."""
        answer = api.post(path, json=body)
        assert answer.status_code == 202, answer.text
        job = answer.json()
        self.finish(job["id"])
        result = api.get(job["links"]["result"])
        assert result.status_code == 200, result.text
        told: dict[str, Any] = result.json()
        return told

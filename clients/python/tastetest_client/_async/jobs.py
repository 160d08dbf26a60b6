"""Jobs: what workers compute."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Literal, Unpack

from tastetest_client import models
from tastetest_client._async.resource import AsyncResource
from tastetest_client._figure import Figure
from tastetest_client._ids import JobLike, MatrixLike, job_id, matrix_id
from tastetest_client._progress import progress_of
from tastetest_client._protocol import Call, idempotent, path
from tastetest_client.errors import JobFailed, NotFound, WaitTimeout
from tastetest_client.options import MdadOptions, SelectOptions
from tastetest_client.results import MdadResult, SelectionResult

LONGEST_WAIT = 25
Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class AsyncJobs(AsyncResource):
    """Submit, follow and cancel jobs; `client.mdad` and `client.select` do all of it in one call."""

    async def submit_mdad(
        self, matrix: MatrixLike, *, idempotency_key: str | None = None, **options: Unpack[MdadOptions]
    ) -> models.JobView:
        """Start measuring the reliability of smaller benchmarks."""
        body = {"matrix_id": matrix_id(matrix), **options}
        return await self._read(
            models.JobView, Call("POST", "/mdad", json=body, headers=idempotent(idempotency_key))
        )

    async def submit_select(
        self,
        matrix: MatrixLike,
        method: str,
        *,
        idempotency_key: str | None = None,
        **options: Unpack[SelectOptions],
    ) -> models.JobView:
        """Start choosing examples."""
        body = {"matrix_id": matrix_id(matrix), "method": method, **options}
        return await self._read(
            models.JobView, Call("POST", "/select", json=body, headers=idempotent(idempotency_key))
        )

    async def get(self, job: JobLike, *, wait: int = 0) -> models.JobView:
        """A job as it is now, or when it ends within `wait` seconds (at most 25)."""
        return await self._read(models.JobView, Call("GET", path("jobs", job_id(job)), {"wait": wait}))

    async def wait(
        self, job: JobLike, *, progress: bool | None = None, timeout: float | None = None
    ) -> models.JobView:
        """Wait until a job has succeeded.

        Parameters
        ----------
        progress : bool, optional
            Show a bar; by default in terminals and notebooks.
        timeout : float, optional
            Seconds to wait at most; by default as long as it takes.

        Raises
        ------
        JobFailed
            It failed or was cancelled.
        WaitTimeout
            It is not done within `timeout`; it goes on.
        """
        bar = progress_of(progress)
        deadline = None if timeout is None else time.monotonic() + timeout
        pace = LONGEST_WAIT if bar is None else 1
        try:
            while True:
                left = pace if deadline is None else max(0, min(pace, int(deadline - time.monotonic())))
                current = await self.get(job, wait=left)
                if bar is not None:
                    bar.update(current)
                if current.finished_at is not None:
                    return _succeeded(current)
                if deadline is not None and time.monotonic() >= deadline:
                    message = f"The {current.kind} job {current.id} is {current.status} after {timeout:g} s."
                    raise WaitTimeout(f"{message} It goes on; wait for it again with client.jobs.wait.")
        finally:
            if bar is not None:
                bar.close()

    async def mdad_result(self, job: JobLike) -> MdadResult:
        """The result of a finished `/mdad` job, with its figure."""
        result = await self._read(MdadResult, Call("GET", path("jobs", job_id(job), "result")))
        result._job_id = job_id(job)
        result._figure = await self.figure(job)
        return result

    async def selection_result(self, job: JobLike) -> SelectionResult:
        """The result of a finished `/select` job."""
        return await self._read(SelectionResult, Call("GET", path("jobs", job_id(job), "result")))

    async def figure(self, job: JobLike, name: str = "mdad") -> Figure | None:
        """A figure of a job's report; None where it has no such figure."""
        to = path("jobs", job_id(job), "report", "figures", f"{name}.svg")
        try:
            return Figure((await self._transport.send(Call("GET", to))).text)
        except NotFound:
            return None

    async def report(self, job: JobLike) -> str:
        """A job's report as an HTML page."""
        return (await self._transport.send(Call("GET", path("jobs", job_id(job), "report")))).text

    def report_url(self, job: JobLike) -> str:
        """Where a browser finds the report."""
        return self._transport.connection.address + path("jobs", job_id(job), "report")

    def list(
        self,
        *,
        status: Status | None = None,
        kind: str | None = None,
        matrix: MatrixLike | None = None,
        limit: int = 100,
    ) -> AsyncIterator[models.JobView]:
        """All jobs, newest first."""
        of = None if matrix is None else matrix_id(matrix)
        return self._pages(
            models.JobView, "/jobs", {"status": status, "kind": kind, "matrix_id": of, "limit": limit}
        )

    async def cancel(self, job: JobLike) -> models.JobView:
        """Ask a job to stop."""
        return await self._read(models.JobView, Call("POST", path("jobs", job_id(job), "cancel")))


def _succeeded(job: models.JobView) -> models.JobView:
    if job.status != "succeeded":
        raise JobFailed(job.id, job.kind, job.status, job.error.detail if job.error else "")
    return job

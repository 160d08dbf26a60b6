"""What is counted, in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from service.api.context import ContextDep
from service.api.route_classes import AdminRoute
from service.schemas.problems import refusals
from service.store import job_counts
from service.store.job_counts import JobCounts

router = APIRouter(tags=["operation"], route_class=AdminRoute)

STATUSES = ("queued", "running", "succeeded", "failed", "cancelled")


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **refusals()},
)
def metrics(context: ContextDep) -> Response:
    """Requests by route template, jobs by status, the age of the oldest queued part, failures."""
    with context.everywhere.begin() as conn:
        counted = job_counts.take(conn)
    jobs = CollectorRegistry()
    jobs.register(_Jobs(counted, context.notifier.failures))
    return Response(generate_latest() + generate_latest(jobs), media_type=CONTENT_TYPE_LATEST)


class _Jobs(Collector):
    """A census as metrics; every status is always there, so that a graph has no holes."""

    def __init__(self, counted: JobCounts, ring_failures: int) -> None:
        self._census = counted
        self._ring_failures = ring_failures

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        jobs = GaugeMetricFamily("tastetest_jobs", "Jobs, by status.", labels=["status"])
        for status in STATUSES:
            jobs.add_metric([status], self._census.jobs.get(status, 0))
        yield jobs
        parts = GaugeMetricFamily(
            "tastetest_parts", "Parts of unfinished jobs, by status.", labels=["status"]
        )
        for status in ("queued", "running"):
            parts.add_metric([status], self._census.parts.get(status, 0))
        yield parts
        yield GaugeMetricFamily(
            "tastetest_oldest_queued_seconds",
            "How long the part that waits longest has waited.",
            value=self._census.oldest_queued_seconds,
        )
        yield GaugeMetricFamily(
            "tastetest_part_failures",
            "Attempts that failed or lost their worker, of all jobs kept.",
            value=self._census.failures,
        )
        yield GaugeMetricFamily(
            "tastetest_reconciled_ago_seconds",
            "Since the reconciler last ran.",
            value=self._census.reconciled_ago_seconds,
        )
        yield GaugeMetricFamily(
            "tastetest_webhooks_paused",
            "Webhooks that nothing is sent to after many failures.",
            value=self._census.webhooks_paused,
        )
        yield GaugeMetricFamily(
            "tastetest_oldest_delivery_seconds",
            "How long the message has waited that waits longest for a webhook that takes messages.",
            value=self._census.oldest_delivery_seconds,
        )
        kept = self._census.upkeep
        yield CounterMetricFamily(
            "tastetest_leases_expired", "Attempts whose worker was lost.", value=kept.leases_expired
        )
        yield CounterMetricFamily(
            "tastetest_rings_repeated", "Rings that nobody had answered.", value=kept.rings_repeated
        )
        failed = CounterMetricFamily(
            "tastetest_maintenance_failures", "Tasks of maintenance that failed.", labels=["task"]
        )
        for task, count in ({"check": 0} | dict(kept.failures)).items():
            failed.add_metric([task], count)
        yield failed
        yield GaugeMetricFamily(
            "tastetest_broken_rules", "Invariants found broken at the last check.", value=len(kept.violations)
        )
        yield CounterMetricFamily(
            "tastetest_ring_failures", "Rings that did not reach the broker.", value=self._ring_failures
        )

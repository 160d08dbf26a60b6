"""`GET /metrics`: counters and gauges in the Prometheus text format."""

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
        counts = job_counts.count_jobs(conn)
    jobs = CollectorRegistry()
    jobs.register(_JobMetrics(counts, context.notifier.failures))
    return Response(generate_latest() + generate_latest(jobs), media_type=CONTENT_TYPE_LATEST)


class _JobMetrics(Collector):
    """Job counts as metrics. Every status is always present, so that a graph has no gaps."""

    def __init__(self, counts: JobCounts, notification_failures: int) -> None:
        self._counts = counts
        self._notification_failures = notification_failures

    def collect(self) -> Iterator[Metric]:
        """All metrics of jobs."""
        jobs = GaugeMetricFamily("tastetest_jobs", "Jobs, by status.", labels=["status"])
        for status in STATUSES:
            jobs.add_metric([status], self._counts.jobs.get(status, 0))
        yield jobs
        parts = GaugeMetricFamily(
            "tastetest_parts", "Parts of unfinished jobs, by status.", labels=["status"]
        )
        for status in ("queued", "running"):
            parts.add_metric([status], self._counts.parts.get(status, 0))
        yield parts
        yield GaugeMetricFamily(
            "tastetest_oldest_queued_seconds",
            "Seconds that the longest-waiting queued part has been ready for a worker.",
            value=self._counts.oldest_queued_seconds,
        )
        yield GaugeMetricFamily(
            "tastetest_part_failures",
            "Attempts that failed or lost their worker, over all stored jobs.",
            value=self._counts.failures,
        )
        yield GaugeMetricFamily(
            "tastetest_reconciled_ago_seconds",
            "Seconds since the reconciler last ran.",
            value=self._counts.reconciled_ago_seconds,
        )
        yield GaugeMetricFamily(
            "tastetest_webhooks_paused",
            "Webhooks that are paused after many failures.",
            value=self._counts.webhooks_paused,
        )
        yield GaugeMetricFamily(
            "tastetest_oldest_delivery_seconds",
            "How long the longest-waiting message to an active webhook has waited.",
            value=self._counts.oldest_delivery_seconds,
        )
        maintenance = self._counts.maintenance
        yield CounterMetricFamily(
            "tastetest_leases_expired", "Attempts whose worker was lost.", value=maintenance.leases_expired
        )
        yield from _renamed_counter(
            "tastetest_notifications_repeated",
            "Notifications to workers that were sent again because no worker had answered in time.",
            maintenance.notifications_repeated,
            old_name="tastetest_rings_repeated",
        )
        failed = CounterMetricFamily(
            "tastetest_maintenance_failures",
            "Failed tasks of the reconciler and of maintenance.",
            labels=["task"],
        )
        for task, count in ({"check": 0} | dict(maintenance.failures)).items():
            failed.add_metric([task], count)
        yield failed
        yield GaugeMetricFamily(
            "tastetest_broken_rules",
            "Number of data invariants violated at the last check.",
            value=len(maintenance.violations),
        )
        yield from _renamed_counter(
            "tastetest_notification_failures",
            "Notifications to workers that did not reach the broker.",
            self._notification_failures,
            old_name="tastetest_ring_failures",
        )


def _renamed_counter(name: str, text: str, value: int, *, old_name: str) -> Iterator[Metric]:
    """A counter, and the same counter under its old name, which is kept for two minor versions."""
    yield CounterMetricFamily(name, text, value=value)
    yield CounterMetricFamily(old_name, f"Deprecated: use {name}_total.", value=value)

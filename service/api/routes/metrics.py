"""`GET /metrics`: counters and gauges in the Prometheus text format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class JobMetric:
    """One metric of the jobs.

    Attributes
    ----------
    value : JobCounts → number, or numbers by value of the label
    label : str, optional
    counter : bool
        Whether it only ever grows; Prometheus' name then ends in `_total`.
    old_name : str, optional
        A name it had, which is kept for two minor versions.
    """

    name: str
    text: str
    value: Callable[[JobCounts], float | Mapping[str, float]]
    label: str | None = None
    counter: bool = False
    old_name: str | None = None

    def families(self, counts: JobCounts) -> Iterator[Metric]:
        """What is exposed."""
        yield self._family(self.name, self.text, self.value(counts))
        if self.old_name is not None:
            yield self._family(self.old_name, f"Deprecated: use {self.name}_total.", self.value(counts))

    def _family(self, name: str, text: str, value: float | Mapping[str, float]) -> Metric:
        kind = CounterMetricFamily if self.counter else GaugeMetricFamily
        if not isinstance(value, Mapping):
            return kind(name, text, value=value)
        family = kind(name, text, labels=[self.label or ""])
        for label, count in value.items():
            family.add_metric([label], count)
        return family


def _each(counts: Mapping[str, int], *statuses: str) -> dict[str, float]:
    """Every status is always present, so that a graph has no gaps."""
    return {status: counts.get(status, 0) for status in statuses}


METRICS = (
    JobMetric(
        "tastetest_jobs",
        "Jobs, by status.",
        lambda counts: _each(counts.jobs, *STATUSES),
        label="status",
    ),
    JobMetric(
        "tastetest_parts",
        "Parts of unfinished jobs, by status.",
        lambda counts: _each(counts.parts, "queued", "running"),
        label="status",
    ),
    JobMetric(
        "tastetest_oldest_queued_seconds",
        "Seconds that the longest-waiting queued part has been ready for a worker.",
        lambda counts: counts.oldest_queued_seconds,
    ),
    JobMetric(
        "tastetest_part_failures",
        "Attempts that failed or lost their worker, over all stored jobs.",
        lambda counts: counts.failures,
    ),
    JobMetric(
        "tastetest_reconciled_ago_seconds",
        "Seconds since the reconciler last ran.",
        lambda counts: counts.reconciled_ago_seconds,
    ),
    JobMetric(
        "tastetest_webhooks_paused",
        "Webhooks that are paused after many failures.",
        lambda counts: counts.webhooks_paused,
    ),
    JobMetric(
        "tastetest_oldest_delivery_seconds",
        "How long the longest-waiting message to an active webhook has waited.",
        lambda counts: counts.oldest_delivery_seconds,
    ),
    JobMetric(
        "tastetest_leases_expired",
        "Attempts whose worker was lost.",
        lambda counts: counts.maintenance.leases_expired,
        counter=True,
    ),
    JobMetric(
        "tastetest_notifications_repeated",
        "Notifications to workers that were sent again because no worker had answered in time.",
        lambda counts: counts.maintenance.notifications_repeated,
        counter=True,
        old_name="tastetest_rings_repeated",
    ),
    JobMetric(
        "tastetest_maintenance_failures",
        "Failed tasks of the reconciler and of maintenance.",
        lambda counts: {"check": 0} | dict(counts.maintenance.failures),
        label="task",
        counter=True,
    ),
    JobMetric(
        "tastetest_broken_rules",
        "Number of data invariants violated at the last check.",
        lambda counts: len(counts.maintenance.violations),
    ),
)


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
    jobs.register(_Collected(counts, context.notifier.failures))
    return Response(generate_latest() + generate_latest(jobs), media_type=CONTENT_TYPE_LATEST)


class _Collected(Collector):
    """All metrics of the jobs, and what this process knows of its notifications."""

    def __init__(self, counts: JobCounts, notification_failures: int) -> None:
        self._counts = counts
        self._failures = notification_failures

    def collect(self) -> Iterator[Metric]:
        """Called by the registry."""
        failures = JobMetric(
            "tastetest_notification_failures",
            "Notifications to workers that did not reach the broker.",
            lambda _: self._failures,
            counter=True,
            old_name="tastetest_ring_failures",
        )
        for metric in (*METRICS, failures):
            yield from metric.families(self._counts)

"""What is counted about requests, in the format of Prometheus."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

REQUESTS = Counter(
    "tastetest_requests", "Requests answered, by route template.", ["method", "route", "status"]
)
SECONDS = Histogram("tastetest_request_seconds", "Time to answer, by route template.", ["route"])

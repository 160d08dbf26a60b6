"""Metrics of requests, recorded by the middleware and served by the metrics route."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

REQUESTS = Counter("tastetest_requests", "Requests answered, by route.", ["method", "route", "status"])
SECONDS = Histogram("tastetest_request_seconds", "Seconds to answer, by route.", ["route"])

"""`python -m service.cli.healthcheck api|worker|webhooks|beat`: health checks of containers."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.store.job_counts import JobCounts

# Many times the reconciler's interval: a busy worker may start it late.
RECENT_SECONDS = 60.0


def api(address: str = "http://127.0.0.1:8000") -> bool:
    """Whether the server at this address is ready."""
    import httpx

    return httpx.get(f"{address}/readyz", timeout=4).is_success


def worker() -> bool:
    """Whether the worker of this machine answers over the broker."""
    from celery import Celery

    from service.core.settings import get_settings
    from service.jobs import broker

    app = broker.connect(Celery("tastetest.probe"), get_settings().redis_url)
    return bool(app.control.ping([f"celery@{socket.gethostname()}"], timeout=5))


def beat() -> bool:
    """Whether the reconciler, which the scheduler starts, ran recently."""
    return _counts().reconciled_ago_seconds < RECENT_SECONDS


def webhooks() -> bool:
    """Whether no message waits that could have been sent long ago."""
    return _counts().oldest_delivery_seconds < RECENT_SECONDS


def _counts() -> JobCounts:
    from service.core.settings import get_settings
    from service.store import job_counts
    from service.store.database import make_engine

    engine = make_engine(get_settings().database_url, pool_size=1, application="tastetest-probe")
    try:
        with engine.begin() as conn:
            return job_counts.count_jobs(conn)
    finally:
        engine.dispose()


PROBES: dict[str, Callable[..., bool]] = {"api": api, "worker": worker, "webhooks": webhooks, "beat": beat}


def main(arguments: list[str]) -> int:
    """Run one check and print in one line what is wrong."""
    name, *rest = arguments
    try:
        if PROBES[name](*rest):
            return 0
        print(f"{name} does not answer", file=sys.stderr)
    except Exception as error:
        print(f"{name}: {error!r}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Celery's settings, which are the same for the API and the workers.

Redis only carries notifications. Messages hold ids only, are acknowledged when they are received, and
may be lost or duplicated without harm, because the state is in Postgres. So there is no result backend,
no retries and no delays: these are columns of the part's row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import structlog
from celery import Celery
from kombu import Exchange, Queue

from service.core import tracing

WORK = "tastetest.work"
RECONCILE = "tastetest.reconcile"
MAINTAIN = "tastetest.maintain"

# One queue for each job's first part and for assemblies, one for all other parts; workers alternate between
# them, so that a job with many parts does not block small jobs.
FIRST = "tastetest.first"
MORE = "tastetest.more"
CONTROL = "tastetest.control"
WORK_QUEUES = (FIRST, MORE)
REQUEST_ID = "tastetest_request_id"


def outgoing_request() -> dict[str, str]:
    """The id of the current request, as a header for the workers' logs."""
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    return {REQUEST_ID: request_id} if request_id else {}


@contextlib.contextmanager
def asked_by(headers: Mapping[str, Any]) -> Iterator[None]:
    """Log and trace with the request id and trace of these headers, unless they are set already."""
    known = structlog.contextvars.get_contextvars()
    bound = {"request_id": headers[REQUEST_ID]} if REQUEST_ID in headers else {}
    with tracing.continue_trace(headers), structlog.contextvars.bound_contextvars(**bound | known):
        yield


def connect(app: Celery, redis_url: str) -> Celery:
    """Connect an app to Redis; a frozen or dead Redis fails in seconds instead of blocking."""
    app.conf.update(
        broker_url=redis_url,
        broker_transport_options={
            "socket_timeout": 5,
            "socket_connect_timeout": 1,
            "socket_keepalive": True,
            "health_check_interval": 30,
        },
        broker_connection_timeout=1,
        broker_connection_retry_on_startup=True,
        task_queues=[Queue(name, Exchange(name), routing_key=name) for name in (*WORK_QUEUES, CONTROL)],
        task_default_queue=CONTROL,
        task_publish_retry=False,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
    )
    return app

"""Celery's settings, the same for who rings and who answers.

Redis is a doorbell: messages carry ids only, are acknowledged when taken, and may
be lost or doubled without harm, because the truth is in Postgres. So no result
backend, no retries, no delays: those live in the row.
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

# One for each job's first part and for assemblies, one for all other parts, taken in turn:
# so a job of many parts does not keep small jobs waiting.
FIRST = "tastetest.first"
MORE = "tastetest.more"
CONTROL = "tastetest.control"
WORK_QUEUES = (FIRST, MORE)
REQUEST_ID = "tastetest_request_id"


def outgoing_request() -> dict[str, str]:
    """The id of the request that this process is about, as a header for its workers' logs."""
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    return {REQUEST_ID: request_id} if request_id else {}


@contextlib.contextmanager
def asked_by(headers: Mapping[str, Any]) -> Iterator[None]:
    """Log and trace as on behalf of whose headers these are; the first to be told so counts."""
    known = structlog.contextvars.get_contextvars()
    told = {"request_id": headers[REQUEST_ID]} if REQUEST_ID in headers else {}
    with tracing.continued(headers), structlog.contextvars.bound_contextvars(**told | known):
        yield


def connect(app: Celery, redis_url: str) -> Celery:
    """Point an app at Redis; a frozen or dead one fails in seconds instead of hanging."""
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

"""Notifies workers that something is queued; the queue itself is in Postgres."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import redis
import structlog
from celery import Celery
from kombu import Connection
from kombu.exceptions import OperationalError
from opentelemetry.trace import SpanKind

from service.core import tracing
from service.core.settings import get_settings
from service.jobs import broker

log = structlog.get_logger(__name__)


class WorkerNotifier:
    """Sends notifications over one pool of connections and counts the failures."""

    def __init__(self, redis_url: str) -> None:
        self._app = broker.connect(Celery("tastetest.notifier", set_as_current=False), redis_url)
        self._lock = threading.Lock()
        self.failures = 0

    def notify(self, job_id: str, index: int = 0) -> bool:
        """Notify the workers of a part; never raises, but returns whether the notification was sent.

        Call it after the commit, and not on the event loop.
        """
        return self._send(broker.WORK, broker.MORE if index else broker.FIRST, job_id, index)

    def _send(self, task: str, queue: str, *args: str | int) -> bool:
        try:
            try:
                self._publish(task, queue, args)
            except OperationalError as error:
                # A restarted broker has closed the pooled connections, so try again; a frozen one is not
                # tried twice.
                if not isinstance(error.__cause__, redis.ConnectionError):
                    raise
                self._publish(task, queue, args)
        except Exception as error:
            # Whatever the error, the reconciler repeats the notification.
            with self._lock:
                self.failures += 1
            log.warning("notification failed", task=task, args=args, error=repr(error))
            return False
        return True

    def notify_all(self, parts: Iterable[tuple[str, int]]) -> None:
        """Notify of several parts; after the first failure, leave the others to the reconciler."""
        for job_id, index in parts:
            if not self.notify(job_id, index):
                return

    def _publish(self, task: str, queue: str, args: tuple[str | int, ...]) -> None:
        with tracing.child_span(f"notify {task}", SpanKind.PRODUCER):
            # As headers, not arguments, so that workers of another release can ignore them.
            headers = tracing.trace_headers() | broker.outgoing_request()
            self._app.send_task(task, args=args, queue=queue, ignore_result=True, headers=headers)

    def reachable(self) -> bool:
        """Whether Redis answers."""
        try:
            with self._app.connection_for_write() as connection:
                channel: Any = connection.default_channel
                channel.client.ping()
        except Exception as error:
            log.warning("broker unreachable", error=repr(error))
            return False
        return True

    def waiting(self) -> int:
        """Number of notifications that no worker has received yet; 0 also if Redis does not answer."""
        try:
            with self._app.connection_for_write() as connection:
                return sum(_length(connection, queue) for queue in broker.WORK_QUEUES)
        except Exception as error:
            log.warning("cannot count notifications", error=repr(error))
            return 0


def _length(connection: Connection, queue: str) -> int:
    channel: Any = connection.default_channel
    return int(channel.queue_declare(queue).message_count)


@lru_cache
def default() -> WorkerNotifier:
    """The notifier of this process."""
    return WorkerNotifier(get_settings().redis_url)

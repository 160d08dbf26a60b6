"""Send messages about the end of jobs, signed as standardwebhooks.com says.

At least once: a receiver knows repeats by the `webhook-id`. This runs in a process of its own, which
works off the outbox in Postgres, so that no receiver can hold a worker or the reconciler. One message
is under way to an address, and to a few addresses of a workspace, at a time; an address that fails
rests, doubling, and is paused after many failures in a row.
"""

from __future__ import annotations

import base64
import secrets
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from standardwebhooks import Webhook

from service.core.errors import Conflict, FieldError
from service.jobs.webhook_client import SECONDS, Outbound
from service.store import webhooks
from service.store.database import lock
from service.store.records import DueDelivery, WebhookRecord
from service.store.webhooks import Rest
from service.store.workspace_scope import owner

log = structlog.get_logger(__name__)

# Of one message, from the first failure to giving up: a day and a half.
WAITS = tuple(timedelta(seconds=s) for s in (5, 60, 300, 1800, 7200, 28800, 86400))
REST = Rest(timedelta(seconds=5), timedelta(seconds=300))
AT_ONCE = 32
PER_WORKSPACE = 4
# Longer than an attempt can take: after that its process has died.
LEASE = timedelta(seconds=SECONDS + 20)
POLL_SECONDS = 1.0


def new_secret() -> str:
    """A secret as receivers' libraries take it."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def register(engine: Engine, *, url: str, secret: str, most: int) -> WebhookRecord:
    """Add an address to the workspace.

    Raises
    ------
    Conflict
        The workspace has this address, or as many as it may have.
    """
    with engine.begin() as conn:
        lock(conn, f"tastetest.webhooks.{owner(conn)}")
        if webhooks.has(conn, url):
            message = "The workspace has a webhook with this address; rotate its secret or delete it first."
            raise Conflict(message, [FieldError("/url", "duplicate", message)])
        if (found := webhooks.count(conn)) >= most:
            message = f"The workspace has {found} webhooks, and at most {most} are allowed; delete one first."
            raise Conflict(message, [FieldError("", "too_many_webhooks", message)])
        return webhooks.add(conn, url=url, secret=secret)


def headers(message: DueDelivery) -> dict[str, str]:
    """What a receiver needs to believe the message."""
    used = [message.secret, *([message.previous_secret] if message.previous_secret else [])]
    return {
        "content-type": "application/json",
        "user-agent": "tastetest",
        "webhook-id": message.id,
        "webhook-timestamp": str(int(message.now.timestamp())),
        "webhook-signature": " ".join(
            Webhook(secret).sign(message.id, message.now, message.body) for secret in used
        ),
    }


class Deliverer:
    """Works off the outbox; a slow receiver delays nobody but itself."""

    def __init__(self, engine: Engine, outbound: Outbound, *, pause_after: int) -> None:
        self._engine = engine
        self._outbound = outbound
        self._pause_after = pause_after
        self._threads = ThreadPoolExecutor(AT_ONCE, "deliver")
        self._under_way: set[Future[None]] = set()
        self._wake = threading.Event()
        self._stopping = False

    def start_due(self) -> list[Future[None]]:
        """Begin to send what is due now, as far as threads are free."""
        self._under_way = {sent for sent in self._under_way if not sent.done()}
        free = AT_ONCE - len(self._under_way)
        if not free:
            return []
        with self._engine.begin() as conn:
            due = webhooks.take_due(conn, WAITS, limit=free, per_workspace=PER_WORKSPACE, lease=LEASE)
        started = [self._threads.submit(self._send, message) for message in due]
        self._under_way.update(started)
        return started

    def run(self) -> None:
        """Deliver until stopped; what is under way then is finished."""
        while not self._stopping:
            # Cleared before looking, so that what ends meanwhile is noticed.
            self._wake.clear()
            try:
                started = self.start_due()
            except SQLAlchemyError as error:
                log.warning("outbox not read", error=repr(error))
                started = []
            if not started:
                self._wake.wait(POLL_SECONDS)
        self._threads.shutdown()

    def stop(self) -> None:
        """Let `run` return; safe in a signal handler."""
        self._stopping = True
        self._wake.set()

    def _send(self, message: DueDelivery) -> None:
        try:
            failure = self._outbound.post(message.url, headers(message), message.body.encode())
            if failure is not None:
                log.warning("webhook failed", url=message.url, attempt=message.attempt, failure=failure)
            with self._engine.begin() as conn:
                webhooks.settle(
                    conn,
                    message,
                    failure,
                    last=message.attempt > len(WAITS),
                    pause_after=self._pause_after,
                    rest=REST,
                )
        except SQLAlchemyError as error:
            # It is sent once more after its wait; receivers know repeats by the id.
            log.warning("delivery not noted", webhook=message.webhook_id, error=repr(error))
        finally:
            self._wake.set()

"""Tell callers of the end of jobs, signed as standardwebhooks.com says.

At least once: a receiver tells repeats by the `webhook-id`.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import structlog
from sqlalchemy import Engine
from standardwebhooks import Webhook

from service.jobs.webhook_client import Outbound
from service.store import webhooks
from service.store.records import DueDelivery

log = structlog.get_logger(__name__)

# From the first failure to giving up: a day and a half.
WAITS = tuple(timedelta(seconds=s) for s in (5, 60, 300, 1800, 7200, 28800, 86400))
BATCH = 64
AT_ONCE = 8


def new_secret() -> str:
    """A secret as receivers' libraries take it."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def deliver_due(engine: Engine, outbound: Outbound) -> int:
    """Send what is to be sent now; how many messages that were."""
    with engine.begin() as conn:
        due = webhooks.take_due(conn, WAITS, BATCH)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(_one(engine, outbound), due))
    return len(due)


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


def _one(engine: Engine, outbound: Outbound) -> Callable[[DueDelivery], None]:
    def send(message: DueDelivery) -> None:
        failure = outbound.post(message.url, headers(message), message.body.encode())
        if failure is not None:
            log.warning("webhook failed", url=message.url, attempt=message.attempt, failure=failure)
        with engine.begin() as conn:
            webhooks.settle(conn, message.id, failure, last=message.attempt > len(WAITS))

    return send

"""Addresses that receive a message when a job ends, and the outbox, which `parts.end_job` fills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, insert, null, select, text, update
from sqlalchemy import delete as delete_from
from uuid6 import uuid7

from service.core.errors import NotFound
from service.store import cursors
from service.store.records import DeliveryRecord, DueDelivery, Page, WebhookRecord
from service.store.tables import deliveries, webhooks
from service.store.workspace_scope import mine, owner

_WEBHOOK = (
    webhooks.c.id,
    webhooks.c.url,
    webhooks.c.created_at,
    webhooks.c.failures,
    webhooks.c.paused_at,
)
_RECORD = (
    deliveries.c.id,
    deliveries.c.job_id,
    deliveries.c.attempt,
    deliveries.c.delivered_at,
    deliveries.c.given_up_at,
    deliveries.c.last_failure,
    deliveries.c.created_at,
)

# The oldest message of every address that has one due and is neither busy, resting nor paused; of each
# workspace as many addresses as fit beside those that are busy. Only one process sees an address.
_TAKE = text("""
WITH due AS (
    SELECT DISTINCT ON (d.webhook_id) d.webhook_id, d.id, d.available_at FROM deliveries d
    WHERE d.delivered_at IS NULL AND d.given_up_at IS NULL AND d.available_at <= now()
    ORDER BY d.webhook_id, d.available_at, d.id
), free AS (
    SELECT w.id AS webhook_id, due.id, due.available_at, w.workspace,
        row_number() OVER (PARTITION BY w.workspace ORDER BY due.available_at) + (
            SELECT count(*) FROM webhooks b WHERE b.workspace = w.workspace AND b.sending_until > now()
        ) AS place
    FROM due JOIN webhooks w ON w.id = due.webhook_id
    WHERE w.paused_at IS NULL AND coalesce(w.sending_until < now(), true)
    AND coalesce(w.resting_until <= now(), true)
), chosen AS (
    SELECT w.id AS webhook_id, free.id FROM webhooks w JOIN free ON free.webhook_id = w.id
    WHERE free.place <= :per_workspace AND coalesce(w.sending_until < now(), true)
    ORDER BY free.place, free.available_at LIMIT :limit FOR UPDATE OF w SKIP LOCKED
)
UPDATE webhooks w SET sending_until = now() + :lease FROM chosen
WHERE w.id = chosen.webhook_id RETURNING chosen.id
""")


@dataclass(frozen=True, slots=True)
class Rest:
    """How long an address is left alone after a failure: doubling, up to the longest."""

    first: timedelta
    longest: timedelta


def add(conn: Connection, *, url: str, secret: str) -> WebhookRecord:
    """Store an address."""
    webhook_id = str(uuid7())
    values = {"id": webhook_id, "url": url, "secret": secret, "workspace": owner(conn)}
    conn.execute(insert(webhooks).values(created_at=func.now(), **values))
    return get(conn, webhook_id)


def get(conn: Connection, webhook_id: str) -> WebhookRecord:
    """One address.

    Raises
    ------
    NotFound
        No such webhook.
    """
    known = webhooks.c.id == cursors.known_id(webhook_id, "webhook")
    row = conn.execute(select(*_WEBHOOK).where(known, mine(conn, webhooks))).one_or_none()
    if row is None:
        raise NotFound(f"There is no webhook {webhook_id!r}.")
    return WebhookRecord(**row._mapping)


def page(conn: Connection, cursor: str | None, limit: int) -> Page[WebhookRecord]:
    """Addresses, oldest first."""
    w = webhooks.c
    query = select(*_WEBHOOK).where(mine(conn, webhooks)).order_by(w.id).limit(limit + 1)
    if cursor is not None:
        query = query.where(w.id > cursors.decode_id(cursor))
    found = [WebhookRecord(**row._mapping) for row in conn.execute(query)]
    return cursors.page(found, [webhook.id for webhook in found], limit)


def delete(conn: Connection, webhook_id: str) -> None:
    """Delete an address and its undelivered messages."""
    known = get(conn, webhook_id).id
    conn.execute(delete_from(webhooks).where(webhooks.c.id == known, mine(conn, webhooks)))


def rotate(conn: Connection, webhook_id: str, *, secret: str, overlap: timedelta) -> None:
    """Replace the secret; for a while, messages are also signed with the old one."""
    known = get(conn, webhook_id).id
    conn.execute(
        update(webhooks)
        .where(webhooks.c.id == known, mine(conn, webhooks))
        .values(previous_secret=webhooks.c.secret, previous_until=func.now() + overlap, secret=secret)
    )


def count(conn: Connection) -> int:
    """How many addresses the workspace has."""
    return int(conn.scalar(select(func.count()).select_from(webhooks).where(mine(conn, webhooks))) or 0)


def has(conn: Connection, url: str) -> bool:
    """Whether the workspace has this address."""
    return bool(conn.scalar(select(exists().where(webhooks.c.url == url, mine(conn, webhooks)))))


def resume(conn: Connection, webhook_id: str) -> WebhookRecord:
    """Send again to an address that was paused, beginning with what waits."""
    known = get(conn, webhook_id).id
    fresh = {"failures": 0, "paused_at": None, "resting_until": None}
    conn.execute(update(webhooks).where(webhooks.c.id == known, mine(conn, webhooks)).values(fresh))
    waiting = and_(deliveries.c.webhook_id == known, _open())
    conn.execute(update(deliveries).where(waiting).values(available_at=func.now()))
    return get(conn, known)


def redeliver(conn: Connection, webhook_id: str, delivery_id: str) -> DeliveryRecord:
    """Send a message once more from the start, whatever became of it.

    Raises
    ------
    NotFound
        No such webhook, or none of its messages has this id.
    """
    known = get(conn, webhook_id).id
    d = deliveries.c
    one = and_(d.webhook_id == known, d.id == cursors.known_id(delivery_id, "delivery"))
    again = {"attempt": 0, "delivered_at": None, "given_up_at": None, "available_at": func.now()}
    row = conn.execute(update(deliveries).where(one).values(again).returning(*_RECORD)).one_or_none()
    if row is None:
        raise NotFound(f"The webhook has no delivery {delivery_id!r}.")
    return DeliveryRecord(**row._mapping)


def take_due(
    conn: Connection, waits: Sequence[timedelta], *, limit: int, per_workspace: int, lease: timedelta
) -> list[DueDelivery]:
    """Take what is to be sent now: one message an address, a few addresses a workspace.

    A message comes again after its next wait, and an address after `lease`, unless settled before.
    """
    taken = {"limit": limit, "per_workspace": per_workspace, "lease": lease}
    found = list(conn.scalars(_TAKE, taken))
    if not found:
        return []
    d, w = deliveries.c, webhooks.c
    pause = case(*((d.attempt == i, wait) for i, wait in enumerate(waits)), else_=waits[-1])
    both = and_(w.previous_until > func.now(), w.previous_secret.isnot(None))
    rows = conn.execute(
        update(deliveries)
        .where(d.id.in_(found), w.id == d.webhook_id)
        .values(attempt=d.attempt + 1, available_at=func.now() + pause)
        .returning(
            d.id,
            d.webhook_id,
            d.body,
            d.attempt,
            w.url,
            w.secret,
            case((both, w.previous_secret), else_=null()).label("previous_secret"),
            func.now().label("now"),
        )
    )
    return [DueDelivery(**row._mapping) for row in rows]


def settle(
    conn: Connection, sent: DueDelivery, failure: str | None, *, last: bool, pause_after: int, rest: Rest
) -> None:
    """Note how an attempt went; after `pause_after` failures in a row nothing more is sent to the address."""
    ended = {"delivered_at": func.now()} if failure is None else {"given_up_at": func.now()} if last else {}
    conn.execute(update(deliveries).where(deliveries.c.id == sent.id).values(last_failure=failure, **ended))
    w = webhooks.c
    if failure is None:
        well = {"failures": 0, "sending_until": None, "resting_until": None}
        conn.execute(update(webhooks).where(w.id == sent.webhook_id).values(well))
        return
    doubled = rest.first * func.power(2.0, func.least(w.failures, 30))
    paused = conn.execute(
        update(webhooks)
        .where(w.id == sent.webhook_id)
        .values(
            failures=w.failures + 1,
            sending_until=None,
            resting_until=func.now() + func.least(doubled, rest.longest),
            paused_at=case((w.failures + 1 >= pause_after, func.coalesce(w.paused_at, func.now()))),
        )
        .returning(w.paused_at)
    ).one_or_none()
    if paused is not None and paused.paused_at is not None:
        waiting = and_(deliveries.c.webhook_id == sent.webhook_id, _open())
        conn.execute(update(deliveries).where(waiting).values(available_at=text("'infinity'")))


def recent_deliveries(conn: Connection, webhook_id: str, limit: int) -> list[DeliveryRecord]:
    """The latest messages, delivered or not, newest first."""
    known = get(conn, webhook_id).id
    d = deliveries.c
    query = select(*_RECORD).where(d.webhook_id == known).order_by(d.created_at.desc(), d.id).limit(limit)
    return [DeliveryRecord(**row._mapping) for row in conn.execute(query)]


def _open() -> ColumnElement[bool]:
    return and_(deliveries.c.delivered_at.is_(None), deliveries.c.given_up_at.is_(None))

"""Addresses to tell of a job's end, and the outbox; `parts.end_job` fills it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, Connection, and_, case, func, insert, null, select, update
from sqlalchemy import delete as delete_from
from uuid6 import uuid7

from service.core.errors import NotFound
from service.store import cursors
from service.store.records import DeliveryRecord, DueDelivery, Page, WebhookRecord
from service.store.tables import deliveries, webhooks
from service.store.workspace_scope import mine, owner


def add(conn: Connection, *, url: str, secret: str) -> WebhookRecord:
    """Keep an address."""
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
    w = webhooks.c
    known = w.id == cursors.known_id(webhook_id, "webhook")
    row = conn.execute(select(w.id, w.url, w.created_at).where(known, mine(conn, webhooks))).one_or_none()
    if row is None:
        raise NotFound(f"There is no webhook {webhook_id!r}.")
    return WebhookRecord(**row._mapping)


def page(conn: Connection, cursor: str | None, limit: int) -> Page[WebhookRecord]:
    """Addresses, oldest first."""
    w = webhooks.c
    query = select(w.id, w.url, w.created_at).where(mine(conn, webhooks)).order_by(w.id).limit(limit + 1)
    if cursor is not None:
        query = query.where(w.id > cursors.decode_id(cursor))
    found = [WebhookRecord(**row._mapping) for row in conn.execute(query)]
    return cursors.page(found, [webhook.id for webhook in found], limit)


def delete(conn: Connection, webhook_id: str) -> None:
    """Forget an address, with what was still to be told it."""
    known = get(conn, webhook_id).id
    conn.execute(delete_from(webhooks).where(webhooks.c.id == known, mine(conn, webhooks)))


def rotate(conn: Connection, webhook_id: str, *, secret: str, overlap: timedelta) -> None:
    """A new secret; for a while messages are signed with the old one too."""
    known = get(conn, webhook_id).id
    conn.execute(
        update(webhooks)
        .where(webhooks.c.id == known, mine(conn, webhooks))
        .values(previous_secret=webhooks.c.secret, previous_until=func.now() + overlap, secret=secret)
    )


def any_due(conn: Connection) -> bool:
    """Whether something is to be sent now."""
    return conn.scalar(select(deliveries.c.id).where(_due()).limit(1)) is not None


def take_due(conn: Connection, waits: Sequence[timedelta], limit: int) -> list[DueDelivery]:
    """Take what is to be sent now; it comes again after the next wait unless it is settled before."""
    d, w = deliveries.c, webhooks.c
    due = (
        select(d.id)
        .where(_due())
        .order_by(d.available_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("due")
    )
    pause = case(*((d.attempt == i, wait) for i, wait in enumerate(waits)), else_=waits[-1])
    both = and_(w.previous_until > func.now(), w.previous_secret.isnot(None))
    rows = conn.execute(
        update(deliveries)
        .where(d.id == due.c.id, w.id == d.webhook_id)
        .values(attempt=d.attempt + 1, available_at=func.now() + pause)
        .returning(
            d.id,
            d.body,
            d.attempt,
            w.url,
            w.secret,
            case((both, w.previous_secret), else_=null()).label("previous_secret"),
            func.now().label("now"),
        )
    )
    return [DueDelivery(**row._mapping) for row in rows]


def settle(conn: Connection, delivery_id: str, failure: str | None, *, last: bool) -> None:
    """Note how an attempt went: told, failed, or failed for the last time."""
    ended = {"delivered_at": func.now()} if failure is None else {"given_up_at": func.now()} if last else {}
    conn.execute(
        update(deliveries).where(deliveries.c.id == delivery_id).values(last_failure=failure, **ended)
    )


def told(conn: Connection, webhook_id: str, limit: int) -> list[DeliveryRecord]:
    """What was last told, or tried to, newest first."""
    known = get(conn, webhook_id).id
    d = deliveries.c
    columns = (d.id, d.job_id, d.attempt, d.delivered_at, d.given_up_at, d.last_failure, d.created_at)
    query = select(*columns).where(d.webhook_id == known).order_by(d.created_at.desc(), d.id).limit(limit)
    return [DeliveryRecord(**row._mapping) for row in conn.execute(query)]


def _due() -> ColumnElement[bool]:
    d = deliveries.c
    return and_(d.delivered_at.is_(None), d.given_up_at.is_(None), d.available_at <= func.now())

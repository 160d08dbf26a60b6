"""Webhooks: addresses that receive a message when a job ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Response

from service.api.context import ContextDep
from service.api.parameters import Cursor, Limit
from service.api.route_classes import AdminRoute
from service.core.errors import Conflict, FieldError, InvalidRequest
from service.jobs.outbound_addresses import RefusedAddress
from service.jobs.webhook_client import Outbound
from service.jobs.webhook_delivery import new_secret, register
from service.schemas.problems import refusals
from service.schemas.webhooks import (
    DeliveryList,
    DeliveryView,
    WebhookPage,
    WebhookRequest,
    WebhookSecret,
    WebhookView,
)
from service.store import webhooks
from service.store.records import DeliveryRecord, WebhookRecord

router = APIRouter(prefix="/webhooks", tags=["webhooks"], route_class=AdminRoute)

WebhookId = Annotated[str, Path(description="From the answer to `POST /webhooks`.")]

DeliveryId = Annotated[str, Path(description="From `GET /webhooks/{webhook_id}/deliveries`.")]


@router.post("", status_code=201, responses=refusals(409, 413, 415))
def create_webhook(
    ask: Annotated[WebhookRequest, Body(examples=[{"url": "https://ci.example.org/hooks/tastetest"}])],
    response: Response,
    context: ContextDep,
) -> WebhookSecret:
    """Send a message to an address whenever a job succeeds, fails or is cancelled.

    Messages are signed as standardwebhooks.com says, one at a time, and sent again for a day and a half
    until they are answered 2xx; `webhook-id` stays the same. After many failures in a row the webhook is
    paused. A workspace has at most 20, each with an address of its own. The secret is shown this once.
    """
    try:
        Outbound.of(context.settings).check(ask.url)
    except RefusedAddress as refusal:
        raise InvalidRequest(f"/url: {refusal}", [FieldError("/url", "refused", str(refusal))]) from None
    secret = new_secret()
    record = register(context.engine, url=ask.url, secret=secret, most=context.settings.max_webhooks)
    response.headers["Location"] = f"/webhooks/{record.id}"
    return WebhookSecret(**_fields(record), secret=secret)


@router.get("", responses=refusals())
def list_webhooks(context: ContextDep, cursor: Cursor = None, limit: Limit = 50) -> WebhookPage:
    """All webhooks, oldest first, without their secrets."""
    with context.engine.begin() as conn:
        found = webhooks.page(conn, cursor, limit)
    return WebhookPage(
        items=[WebhookView(**_fields(record)) for record in found.items], next_cursor=found.next_cursor
    )


@router.get("/{webhook_id}", responses=refusals(404))
def get_webhook(webhook_id: WebhookId, context: ContextDep) -> WebhookView:
    """One webhook, without its secret."""
    with context.engine.begin() as conn:
        return WebhookView(**_fields(webhooks.get(conn, webhook_id)))


@router.get("/{webhook_id}/deliveries", responses=refusals(404))
def list_deliveries(webhook_id: WebhookId, context: ContextDep, limit: Limit = 50) -> DeliveryList:
    """The newest messages to this address, with the outcome of each."""
    with context.engine.begin() as conn:
        found = webhooks.recent_deliveries(conn, webhook_id, limit)
    return DeliveryList(items=[_delivery(record) for record in found])


@router.post("/{webhook_id}/rotate", responses=refusals(404))
def rotate_secret(webhook_id: WebhookId, context: ContextDep) -> WebhookSecret:
    """Replace the secret; for a day, messages are also signed with the old one."""
    secret = new_secret()
    overlap = timedelta(hours=context.settings.webhook_overlap_hours)
    with context.engine.begin() as conn:
        webhooks.rotate(conn, webhook_id, secret=secret, overlap=overlap)
        record = webhooks.get(conn, webhook_id)
    return WebhookSecret(**_fields(record), secret=secret)


@router.post("/{webhook_id}/resume", responses=refusals(404))
def resume_webhook(webhook_id: WebhookId, context: ContextDep) -> WebhookView:
    """Send to a paused webhook again, beginning at once with the messages that waited meanwhile."""
    with context.engine.begin() as conn:
        return WebhookView(**_fields(webhooks.resume(conn, webhook_id)))


@router.post(
    "/{webhook_id}/deliveries/{delivery_id}/redeliver", status_code=202, responses=refusals(404, 409)
)
def redeliver(webhook_id: WebhookId, delivery_id: DeliveryId, context: ContextDep) -> DeliveryView:
    """Send a message once more, with the same `webhook-id`, whether it was delivered or given up."""
    with context.engine.begin() as conn:
        if webhooks.get(conn, webhook_id).paused_at is not None:
            raise Conflict("The webhook is paused; `POST /webhooks/{webhook_id}/resume` comes first.")
        return _delivery(webhooks.redeliver(conn, webhook_id, delivery_id))


@router.delete("/{webhook_id}", status_code=204, response_class=Response, responses=refusals(404))
def delete_webhook(webhook_id: WebhookId, context: ContextDep) -> None:
    """Delete an address and the messages that were not yet delivered to it."""
    with context.engine.begin() as conn:
        webhooks.delete(conn, webhook_id)


def _fields(record: WebhookRecord) -> dict[str, Any]:
    state = "paused" if record.paused_at else "failing" if record.failures else "active"
    return {
        "id": record.id,
        "url": record.url,
        "created_at": record.created_at,
        "state": state,
        "failures": record.failures,
        "paused_at": record.paused_at,
    }


def _delivery(record: DeliveryRecord) -> DeliveryView:
    return DeliveryView(
        id=record.id,
        job_id=record.job_id,
        attempt=record.attempt,
        delivered_at=record.delivered_at,
        given_up_at=record.given_up_at,
        last_failure=record.last_failure,
        created_at=record.created_at,
    )

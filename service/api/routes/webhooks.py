"""Webhooks: addresses that are told of the end of jobs."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Response

from service.api.context import ContextDep
from service.api.parameters import Cursor, Limit
from service.api.route_classes import AdminRoute
from service.core.errors import FieldError, InvalidRequest
from service.jobs.webhook_client import Outbound, RefusedAddress
from service.jobs.webhook_delivery import new_secret
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


@router.post("", status_code=201, responses=refusals(413, 415))
def create_webhook(
    ask: Annotated[WebhookRequest, Body(examples=[{"url": "https://ci.example.org/hooks/tastetest"}])],
    response: Response,
    context: ContextDep,
) -> WebhookSecret:
    """Have an address told when a job succeeds, fails or is cancelled.

    Messages are signed as standardwebhooks.com says, and sent again for a day and a half until they
    are answered 2xx; `webhook-id` stays the same. The secret is shown this once.
    """
    try:
        Outbound(allow_private=context.settings.webhook_private_addresses).check(ask.url)
    except RefusedAddress as refusal:
        raise InvalidRequest(f"/url: {refusal}", [FieldError("/url", "refused", str(refusal))]) from None
    secret = new_secret()
    with context.engine.begin() as conn:
        record = webhooks.add(conn, url=ask.url, secret=secret)
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
    """The newest messages to this address, and how they fared."""
    with context.engine.begin() as conn:
        found = webhooks.told(conn, webhook_id, limit)
    return DeliveryList(items=[_delivery(record) for record in found])


@router.post("/{webhook_id}/rotate", responses=refusals(404))
def rotate_secret(webhook_id: WebhookId, context: ContextDep) -> WebhookSecret:
    """Replace the secret; for a day messages are signed with the old one too."""
    secret = new_secret()
    overlap = timedelta(hours=context.settings.webhook_overlap_hours)
    with context.engine.begin() as conn:
        webhooks.rotate(conn, webhook_id, secret=secret, overlap=overlap)
        record = webhooks.get(conn, webhook_id)
    return WebhookSecret(**_fields(record), secret=secret)


@router.delete("/{webhook_id}", status_code=204, response_class=Response, responses=refusals(404))
def delete_webhook(webhook_id: WebhookId, context: ContextDep) -> None:
    """Forget an address, with what was still to be told it."""
    with context.engine.begin() as conn:
        webhooks.delete(conn, webhook_id)


def _fields(record: WebhookRecord) -> dict[str, Any]:
    return {"id": record.id, "url": record.url, "created_at": record.created_at}


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

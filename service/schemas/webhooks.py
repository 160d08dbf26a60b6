"""Webhooks as the API takes and tells them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from service.schemas.base import RequestModel, ResponseModel


class WebhookRequest(RequestModel):
    """Where to tell of the end of jobs."""

    url: str = Field(max_length=2000, description="http:// or https://; answered 2xx within five seconds.")


class WebhookView(ResponseModel):
    """An address that is told of the end of every job."""

    id: str
    url: str
    created_at: datetime


class WebhookSecret(WebhookView):
    """A webhook with its secret, which is not shown again."""

    secret: str = Field(description="Verify messages with it, by any library of standardwebhooks.com.")


class WebhookPage(ResponseModel):
    """A page of webhooks, oldest first."""

    items: list[WebhookView]
    next_cursor: str | None


class DeliveryView(ResponseModel):
    """One message, and how it fared."""

    id: str = Field(description="The `webhook-id` header: the same at every attempt.")
    job_id: str
    attempt: int
    delivered_at: datetime | None
    given_up_at: datetime | None
    last_failure: str | None
    created_at: datetime


class DeliveryList(ResponseModel):
    """The newest messages to one address."""

    items: list[DeliveryView]

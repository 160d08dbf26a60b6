"""Webhooks as the API takes and tells them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from service.schemas.base import RequestModel, ResponseModel


class WebhookRequest(RequestModel):
    """Where to tell of the end of jobs."""

    url: str = Field(max_length=2000, description="http:// or https://; answered 2xx within ten seconds.")


class WebhookView(ResponseModel):
    """An address that gets a message at the end of every job."""

    id: str = Field(description="Id of the webhook.")
    url: str = Field(description="The address that messages are sent to.")
    created_at: datetime = Field(description="When it was registered.")
    state: Literal["active", "failing", "paused"] = Field(
        description="`failing` since the last attempt failed; `paused` after many failures in a row: messages"
        " wait until `POST /webhooks/{webhook_id}/resume`."
    )
    failures: int = Field(description="Attempts that failed since the last that was answered 2xx.")
    paused_at: datetime | None = Field(description="Since when nothing is sent.")


class WebhookSecret(WebhookView):
    """A webhook with its secret, which is not shown again."""

    secret: str = Field(description="Verify messages with it, by any library of standardwebhooks.com.")


class WebhookPage(ResponseModel):
    """A page of webhooks, oldest first."""

    items: list[WebhookView] = Field(description="The webhooks of this page.")
    next_cursor: str | None = Field(
        description="Send it back as `cursor` for the next page; null on the last."
    )


class DeliveryView(ResponseModel):
    """One message, and how it fared."""

    id: str = Field(description="The `webhook-id` header: the same at every attempt.")
    job_id: str = Field(description="The job whose end the message reports.")
    attempt: int = Field(description="How often sending was tried.")
    delivered_at: datetime | None = Field(description="When the receiver answered 2xx; null before.")
    given_up_at: datetime | None = Field(
        description="When the last attempt failed; null while more are to come."
    )
    last_failure: str | None = Field(
        description="Why the latest attempt failed; null before the first, and once delivered."
    )
    created_at: datetime = Field(description="When the job ended.")


class DeliveryList(ResponseModel):
    """The newest messages to one address."""

    items: list[DeliveryView] = Field(description="The messages, newest first.")

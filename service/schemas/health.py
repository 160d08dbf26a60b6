"""How the service is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.schemas.base import ResponseModel


class Live(ResponseModel):
    """The process answers."""

    status: Literal["ok"]


class Ready(ResponseModel):
    """Whether requests can be served, and what is wanting."""

    status: Literal["ready", "degraded"] = Field(
        description="`degraded`: jobs are accepted, but start only when the broker is back."
    )
    database: Literal["ok"]
    broker: Literal["ok", "unreachable"]

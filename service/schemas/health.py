"""How the service is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.schemas.base import Tell


class Live(Tell):
    """The process answers."""

    status: Literal["ok"]


class Ready(Tell):
    """Whether requests can be served, and what is wanting."""

    status: Literal["ready", "degraded"] = Field(
        description="`degraded`: jobs are accepted, but start only when the broker is back."
    )
    database: Literal["ok"]
    broker: Literal["ok", "unreachable"]

"""Whether the service is up and ready."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.schemas.base import ResponseModel


class Live(ResponseModel):
    """The process answers."""

    status: Literal["ok"] = Field(description="Always `ok`: a process that cannot answer does not.")


class Ready(ResponseModel):
    """Whether requests can be served, and what is missing."""

    status: Literal["ready", "degraded"] = Field(
        description="`degraded`: jobs start only when the broker is back, or space is short."
    )
    database: Literal["ok"] = Field(
        description="The database answers and has the schema of this release; otherwise the answer is a 503."
    )
    broker: Literal["ok", "unreachable"] = Field(
        description="Whether Redis answers, which wakes the workers."
    )
    disk: Literal["ok", "low", "full", "unknown"] = Field(
        description="Space in the data directory: `low` before it is short, `full` when no more is stored;"
        " `unknown` where the database has a server of its own."
    )

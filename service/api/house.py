"""What a running application holds, and how a request reaches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import Engine

from service.api.listener import Listener
from service.api.standings import Standings
from service.jobs.bell import Bell
from service.settings import Settings


@dataclass(frozen=True, slots=True)
class House:
    """Settings, the pool of connections, the ear on job changes, the bell to the workers, what is kept."""

    settings: Settings
    engine: Engine
    listener: Listener
    bell: Bell
    standings: Standings


async def house_of(request: Request) -> House:
    """The application's house; async, for a synchronous dependency costs a thread."""
    house: House = request.app.state.house
    return house


HouseDep = Annotated[House, Depends(house_of)]

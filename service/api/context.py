"""What a running application holds, and how a request reaches it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import Engine

from service.api.authenticator import Access, Caller
from service.api.rate_limiter import Pace
from service.core.settings import Settings
from service.jobs.listener import Listener
from service.jobs.notifier import Bell
from service.store import workspace_scope
from service.usecases.evaluator_cache import Standings


@dataclass(frozen=True, slots=True)
class House:
    """Settings, the pool of connections, the ear on job changes, the bell to the workers, what is kept.

    `engine` is bound to the workspace of whoever asks; `everywhere` to none, for the operator's figures.
    """

    settings: Settings
    everywhere: Engine
    listener: Listener
    bell: Bell
    standings: Standings
    access: Access
    pace: Pace
    workspace: str = workspace_scope.NOBODY
    engine: Engine = field(init=False)
    _rooms: dict[str, House] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "engine", workspace_scope.within(self.everywhere, self.workspace))

    def seen_from(self, workspace: str) -> House:
        """The house as this workspace sees it."""
        if workspace not in self._rooms:
            self._rooms[workspace] = replace(self, workspace=workspace)
        return self._rooms[workspace]


async def house_of(request: Request) -> House:
    """The house as the caller sees it; async, for a synchronous dependency costs a thread."""
    house: House = request.app.state.house
    caller: Caller = request.state.caller
    return house.seen_from(caller.workspace)


HouseDep = Annotated[House, Depends(house_of)]

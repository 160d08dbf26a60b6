"""The application's context and the dependency by which routes get it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import Engine

from service.api.authenticator import Authenticator, Caller
from service.api.rate_limiter import RateLimiter
from service.api.thread_pools import CheckPool, UploadSlots
from service.core.settings import Settings
from service.jobs.listener import Listener
from service.jobs.notifier import WorkerNotifier
from service.store import workspace_scope
from service.usecases.evaluator_cache import EvaluatorCache
from service.usecases.session_cache import SessionCache


@dataclass(frozen=True, slots=True)
class AppContext:
    """Settings, database engines, the listener for job changes, the notifier of workers, and caches.

    `engine` is bound to the workspace of the caller, and connects as the API's role (`callers`);
    `everywhere` is bound to none and connects as the owner, for the operator's figures.
    """

    settings: Settings
    everywhere: Engine
    callers: Engine
    listener: Listener
    notifier: WorkerNotifier
    evaluators: EvaluatorCache
    sessions: SessionCache
    authenticator: Authenticator
    rate_limiter: RateLimiter
    checks: CheckPool
    uploads: UploadSlots
    workspace: str = workspace_scope.ANONYMOUS
    engine: Engine = field(init=False)
    _by_workspace: dict[str, AppContext] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "engine", workspace_scope.within(self.callers, self.workspace))

    def for_workspace(self, workspace: str) -> AppContext:
        """The context for this workspace."""
        if workspace not in self._by_workspace:
            self._by_workspace[workspace] = replace(self, workspace=workspace)
        return self._by_workspace[workspace]


async def get_context(request: Request) -> AppContext:
    """The context for the caller's workspace; async, because a synchronous dependency costs a thread."""
    context: AppContext = request.app.state.context
    caller: Caller = request.state.caller
    return context.for_workspace(caller.workspace)


ContextDep = Annotated[AppContext, Depends(get_context)]

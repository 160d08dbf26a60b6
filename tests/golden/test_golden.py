"""The service's answers are those stored, to the last number, unless ENGINE_VERSION says otherwise."""

from __future__ import annotations

import httpx
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from service.jobs.kinds import ENGINE_VERSION
from tests.api.conftest import api, settings
from tests.api.working import Worker
from tests.golden import stored
from tests.golden.caller import Caller
from tests.golden.changes import complaint
from tests.golden.groups import GROUPS, ask, tolerance

__all__ = ["api", "settings"]


@pytest.fixture(scope="module")
def caller(api: httpx.Client, db: sa.Engine, settings: Settings) -> Caller:
    return Caller(api, Worker(db, settings))


@pytest.mark.parametrize("group", GROUPS)
def test_the_answers_are_those_stored(caller: Caller, group: str) -> None:
    now = ask(caller, group)
    if why := complaint(group, stored.read(group), (ENGINE_VERSION, now), tolerance(group)):
        pytest.fail(why, pytrace=False)

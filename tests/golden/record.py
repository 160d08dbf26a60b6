"""Ask the service as it is now and store its answers: `make golden`.

Refuses while a number differs and ENGINE_VERSION does not, as the test does.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from threadpoolctl import threadpool_limits

import migrations
from service.cli import default_stack
from service.core.settings import Settings
from service.jobs.kinds import ENGINE_VERSION
from service.store.database import make_engine
from tests.api.conftest import answering
from tests.api.working import Worker
from tests.golden import stored
from tests.golden.caller import Answer, Caller
from tests.golden.changes import changes, complaint
from tests.golden.groups import GROUPS, ask, tolerance


def main() -> int:
    with (
        tempfile.TemporaryDirectory() as folder,
        default_stack.running(Path(folder)) as stack,
        threadpool_limits(1),
    ):
        migrations.upgrade(stack.database_url)
        settings = Settings(database_url=stack.database_url, redis_url=stack.redis_url)
        engine = make_engine(stack.database_url)
        with answering(settings) as api:
            caller = Caller(api, Worker(engine, settings))
            refused = [why for group in GROUPS if (why := _record(group, ask(caller, group)))]
        engine.dispose()
    if not refused:
        for path in {*stored.FOLDER.glob("*.json")} - {stored.path(group) for group in GROUPS}:
            path.unlink()
    print(*refused or [f"{len(GROUPS)} files in {stored.FOLDER}"], sep="\n")
    return 1 if refused else 0


def _record(group: str, answers: dict[str, Answer]) -> str | None:
    """Store them, unless that would hide a changed number; why not."""
    version, old = stored.read(group)
    allowed = tolerance(group)
    both = {name: old[name] for name in old if name in answers}
    same_names = {name: answers[name] for name in both}
    if version == ENGINE_VERSION and any(not c.words for c in changes(both, same_names, allowed)):
        return complaint(group, (version, both), (ENGINE_VERSION, same_names), allowed)
    if version != ENGINE_VERSION or complaint(group, (version, old), (ENGINE_VERSION, answers), allowed):
        stored.write(group, ENGINE_VERSION, answers)
    return None


if __name__ == "__main__":
    sys.exit(main())

"""Whether the database has the schema that this release needs."""

from __future__ import annotations

from functools import lru_cache

from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

import migrations
from service.core.errors import Unavailable


def check_schema(engine: Engine) -> None:
    """Return where it has that schema, or a later one.

    Raises
    ------
    Unavailable
        It has an older schema or none.
    """
    with engine.connect() as conn:
        found = set(MigrationContext.configure(conn).get_current_heads())
    known, needed = _revisions()
    # An unknown revision is of a later release, whose migrations are compatible with this release's code.
    if found != needed and not found - known:
        raise Unavailable(
            f"The database's schema is at {', '.join(sorted(found)) or 'nothing'}, but this release needs "
            f"{', '.join(sorted(needed))}; run `tastetest migrate`."
        )


@lru_cache
def _revisions() -> tuple[set[str], set[str]]:
    """All revisions that this release knows, and the newest."""
    scripts = ScriptDirectory.from_config(migrations.config())
    return {script.revision for script in scripts.walk_revisions()}, set(scripts.get_heads())

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Engine, text

from service.core.settings import Settings
from service.jobs.maintenance import run_due_maintenance
from service.store import maintenance_state

HOUR = timedelta(hours=1)


def test_what_reconcilers_did_adds_up(db: Engine) -> None:
    with db.connect() as conn:
        maintenance_state.count(conn, expired=2, repeated=3)
        maintenance_state.count(conn, expired=1, repeated=0)
        now = maintenance_state.read(conn)
        assert (now.leases_expired, now.notifications_repeated, now.violations) == (3, 3, {})
        assert now.reconciled_at is not None


def test_a_chore_is_due_once_in_its_time(db: Engine) -> None:
    with db.connect() as conn:
        assert maintenance_state.due(conn, "swept_at", HOUR)
        assert not maintenance_state.due(conn, "swept_at", HOUR)
        assert maintenance_state.due(conn, "checked_at", HOUR)
        conn.execute(text("UPDATE upkeep SET swept_at = now() - interval '2 hours'"))
        assert maintenance_state.due(conn, "swept_at", HOUR)


def test_broken_rules_are_found_and_kept(db: Engine) -> None:
    settings = Settings(check_seconds=1e-6)
    with db.begin() as conn:
        conn.execute(
            text(
                "INSERT INTO matrices SELECT gen_random_uuid(), 'm', 1, now(), 9, '', '[]', '', NULL, '', ''"
            )
        )
        conn.execute(
            text(
                "INSERT INTO matrix_rows"
                " SELECT id, 'a', 1, NULL, true, 9, 1, '', 'x', NULL, NULL FROM matrices"
            )
        )
    run_due_maintenance(db, settings)
    with db.begin() as conn:
        matrix = conn.scalar(text("SELECT id::text FROM matrices"))
        assert maintenance_state.read(conn).violations == {"stored length does not match shape": [matrix]}
        conn.execute(text("DELETE FROM matrices"))
    run_due_maintenance(db, settings)
    with db.connect() as conn:
        assert maintenance_state.read(conn).violations == {}

"""Every setting is documented with its default, and some test shows that it does something."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from pydantic_core import PydanticUndefined
from sqlalchemy import Engine, text

from service import ingest
from service.api.received_upload import limits_of
from service.core.errors import TooLarge
from service.core.settings import RENAMED, Settings, env_name, get_settings
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.lifecycle import LeaseTerms
from service.jobs.maintenance import run_due_maintenance
from service.jobs.submit import submit
from service.main import create_app
from service.store import matrices
from service.store.database import make_quick_engine
from service.store.records import Claim, JobRecord
from tests.api.conftest import answering
from tests.api.test_http import problem
from workers.lease_renewer import LeaseRenewer

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations" / "settings.md"
HERE = "operations/test_settings.py::"
PROOF = {
    "database_url": "acceptance/test_compose.py::test_the_composed_service_runs_a_job",
    "redis_url": "acceptance/test_compose.py::test_the_composed_service_runs_a_job",
    "api_database_url": "store/test_row_level_security.py::test_a_forgotten_condition_finds_nothing",
    "database_pool": HERE + "test_the_pool_is_as_large_as_set",
    "max_body_bytes": "api/test_http.py::test_a_body_over_the_limit_is_refused_by_its_declared_length",
    "max_expanded_bytes": HERE + "test_an_upload_over_a_limit_is_refused",
    "max_models": HERE + "test_an_upload_over_a_limit_is_refused",
    "max_examples": HERE + "test_an_upload_over_a_limit_is_refused",
    "max_cells": HERE + "test_an_upload_over_a_limit_is_refused",
    "max_trials": HERE + "test_a_request_for_too_much_is_refused",
    "max_sizes": HERE + "test_a_request_for_too_much_is_refused",
    "auth": "api/test_browsers.py::test_a_public_address_needs_a_key_first",
    "key_cache_seconds": "api/test_authenticator.py::test_a_key_is_looked_up_once_in_its_time",
    "hosts": "api/test_browsers.py::test_without_keys_local_and_named_hosts_are_answered",
    "max_job_cpu_seconds": "api/test_limits.py::test_a_request_that_would_compute_for_too_long_is_refused",
    "max_unfinished_jobs": "api/test_limits.py::test_a_workspace_has_so_many_unfinished_jobs",
    "data_dir": "api/test_disk.py::test_a_full_disk_is_said_before_postgres_stops",
    "min_free_mib": "api/test_disk.py::test_a_full_disk_is_said_before_postgres_stops",
    "max_connections": "api/test_connections.py::test_no_more_connections_than_so_many_are_open",
    "header_seconds": "api/test_connections.py::test_half_a_header_does_not_stay",
    "body_seconds": "api/test_connections.py::test_a_body_that_does_not_come_is_not_waited_for",
    "upload_threads": "api/test_isolation.py::test_one_workspaces_uploads_leave_room_for_anothers",
    "uploads_per_workspace": (
        "api/test_isolation.py::test_uploads_beyond_a_workspaces_slots_are_told_when_to_come_again"
    ),
    "upload_wait_seconds": (
        "api/test_isolation.py::test_uploads_beyond_a_workspaces_slots_are_told_when_to_come_again"
    ),
    "max_failed_keys_per_minute": (
        "api/test_isolation.py::test_a_flood_of_wrong_keys_is_refused_without_the_database"
    ),
    "max_running_parts": "jobs/test_fair_queue.py::test_a_workspace_runs_so_many_parts_at_once",
    "max_open_sessions": (
        "api/routes/test_sessions.py::test_a_silent_caller_loses_the_session_and_the_limit_counts_open_ones"
    ),
    "session_idle_days": (
        "api/routes/test_sessions.py::test_a_silent_caller_loses_the_session_and_the_limit_counts_open_ones"
    ),
    "max_stored_bytes": "api/test_limits.py::test_a_workspace_stores_so_much",
    "max_requests_per_minute": "api/test_rate_limiter.py::test_a_key_may_send_so_many_requests_a_minute",
    "max_attempts": HERE + "test_a_job_keeps_the_terms_it_was_accepted_under",
    "job_seconds": HERE + "test_a_job_keeps_the_terms_it_was_accepted_under",
    "worker_memory_mib": "workers/test_run_part.py::test_a_hog_fails_its_job_after_its_attempts_and_says_why",
    "lease_seconds": "jobs/test_reconcile.py::test_a_lost_part_goes_back_and_is_rung_when_it_has_rested",
    "lease_renewal_seconds": HERE + "test_a_worker_renews_its_lease_as_often_as_set",
    "reconcile_seconds": HERE + "test_the_scheduler_and_workers_keep_their_times",
    "requeue_seconds": "jobs/test_reconcile.py::test_what_was_heard_by_nobody_is_rung_again",
    "retry_seconds": HERE + "test_rests_double_up_to_the_longest",
    "retry_seconds_max": HERE + "test_rests_double_up_to_the_longest",
    "check_seconds": HERE + "test_maintenance_runs_as_often_as_set",
    "delete_expired_seconds": HERE + "test_maintenance_runs_as_often_as_set",
    "delete_expired_budget_seconds": (
        "jobs/test_maintenance.py::test_a_sweep_that_runs_out_of_time_is_due_again_at_once"
    ),
    "keep_jobs_days": HERE + "test_what_is_older_than_set_is_let_go",
    "keep_revisions_days": HERE + "test_what_is_older_than_set_is_let_go",
    "keep_selections_days": HERE + "test_what_is_older_than_set_is_let_go",
    "webhook_private_addresses": (
        "api/routes/test_webhooks.py::test_private_addresses_are_refused_unless_allowed"
    ),
    "webhook_ports": "jobs/test_outbound_addresses.py::test_only_the_configured_ports_are_sent_to",
    "webhook_proxy": "jobs/test_outbound_addresses.py::test_messages_go_through_the_proxy",
    "webhook_failures": (
        "jobs/test_webhook_delivery.py::test_an_address_that_keeps_failing_is_paused_until_it_is_resumed"
    ),
    "cors_origins": "api/test_http_manners.py::test_only_named_origins_may_call_from_a_browser",
    "max_webhooks": "api/routes/test_webhooks.py::test_no_address_twice_and_no_more_than_so_many",
    "webhook_overlap_hours": HERE + "test_a_replaced_secret_signs_for_as_long_as_set",
    "stop_seconds": (
        "faults/test_workers.py::test_a_cancelled_part_gives_its_worker_back_within_five_seconds"
    ),
    "shutdown_grace_seconds": HERE + "test_the_scheduler_and_workers_keep_their_times",
}
TABLE = b"model,q1,q2,q3\na,1,0,1\nb,0,1,1\nc,1,1,1\n"
MONTH_OLD = "now() - interval '31 days'"


def _ignore(_: object) -> None:
    """Nothing is given up."""


def rows() -> dict[str, tuple[str, str]]:
    """Default and meaning by name, as the page has them."""
    found = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", PAGE.read_text(), re.MULTILINE)
    return {name: (default, meaning) for name, default, meaning in found}


def shown(default: object) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, int | float):
        return f"{default:,.0f}" if default == int(default) else f"{default:g}"
    return "none" if default is None else str(default) or "–"


def test_every_setting_is_documented_with_its_default() -> None:
    documented = rows()
    for name, field in Settings.model_fields.items():
        default, meaning = documented[env_name(name)]
        assert default == shown(field.default), name
        assert meaning.endswith("."), name
    ours = {name for name in documented if not name.startswith("OTEL_")}
    assert ours == {env_name(name) for name in Settings.model_fields}


def test_every_setting_has_a_default_and_a_test() -> None:
    assert PROOF.keys() == Settings.model_fields.keys()
    for field in Settings.model_fields.values():
        assert field.default is not PydanticUndefined
    for proof in PROOF.values():
        file, _, name = proof.partition("::")
        tree = ast.parse((ROOT / "tests" / file).read_text())
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, proof


def test_a_setting_is_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("url", "postgresql://u:p@h/d\n"), ("models", "7\n")):
        (tmp_path / name).write_text(value)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("DATABASE_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("TASTETEST_MAX_MODELS_FILE", str(tmp_path / "models"))
    assert (Settings().database_url, Settings().max_models) == ("postgresql://u:p@h/d", 7)
    monkeypatch.setenv("TASTETEST_MAX_MODELS", "8")
    assert Settings().max_models == 8
    monkeypatch.setenv("DATABASE_URL_FILE", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="DATABASE_URL_FILE names a file that cannot be read"):
        Settings()


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_a_former_name_works_and_warns_once(
    old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(env_name(new), raising=False)
    monkeypatch.setenv(env_name(old), "7.5")
    with pytest.warns(FutureWarning, match=f"{env_name(old)} is deprecated; set {env_name(new)}") as caught:
        assert getattr(Settings(), new) == 7.5
    assert len(caught) == 1
    monkeypatch.delenv(env_name(old))
    (tmp_path / "value").write_text("6.5\n")
    monkeypatch.setenv(f"{env_name(old)}_FILE", str(tmp_path / "value"))
    with pytest.warns(FutureWarning):
        assert getattr(Settings(), new) == 6.5
    monkeypatch.setenv(env_name(new), "8.5")
    with pytest.warns(FutureWarning):
        assert getattr(Settings(), new) == 8.5


@pytest.mark.parametrize("name", ["max_models", "lease_seconds", "keep_jobs_days"])
def test_a_setting_out_of_its_range_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(env_name(name), "0")
    with pytest.raises(ValidationError, match="greater than 0"):
        Settings()


def test_the_pool_is_as_large_as_set(postgres_url: str, redis_url: str) -> None:
    app = create_app(Settings(database_url=postgres_url, redis_url=redis_url, database_pool=3))

    async def pool() -> Any:
        async with app.router.lifespan_context(app):
            return app.state.context.engine.pool

    # In a thread of its own: the browser tests leave a loop running in this one.
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: asyncio.run(pool())).result().size() == 3


@pytest.mark.parametrize(
    "limit", [{"max_models": 2}, {"max_examples": 2}, {"max_cells": 8}, {"max_expanded_bytes": 20}]
)
def test_an_upload_over_a_limit_is_refused(limit: dict[str, int]) -> None:
    options = ingest.Options(orientation="models_as_rows")

    def read(**settings: int) -> ingest.Upload:
        file, limits = io.BytesIO(TABLE), limits_of(Settings(**settings))
        return ingest.read(file, filename="t.csv", options=options, limits=limits)

    assert read().matrix.scores.shape == (3, 3)
    with pytest.raises(TooLarge, match=str(next(iter(limit.values())))):
        read(**limit)


def test_a_request_for_too_much_is_refused(postgres_url: str, redis_url: str) -> None:
    little = Settings(database_url=postgres_url, redis_url=redis_url, max_trials=3, max_sizes=2)
    with answering(little) as api:
        for field, value in (("trials", 4), ("sizes", [1, 2, 3])):
            body = {"matrix_id": "x", "trials": 3, field: value}
            told = problem(api.post("/mdad", json=body), 422, "invalid-request")
            assert told["errors"][0]["pointer"] == f"/{field}"


def accepted(db: Engine, **settings: Any) -> JobRecord:
    made = Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]]))
    with db.begin() as conn:
        matrix = matrices.create(conn, made, name="m")
        return submit(conn, kind="errand", settings=settings, matrix=matrix, parts=[{}])[0]


def test_a_job_keeps_the_terms_it_was_accepted_under(db: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASTETEST_MAX_ATTEMPTS", "7")
    monkeypatch.setenv("TASTETEST_JOB_SECONDS", "100")
    get_settings.cache_clear()
    job = accepted(db)
    get_settings.cache_clear()
    terms = text("SELECT max_attempts, deadline_at - created_at FROM jobs WHERE id = :id")
    with db.connect() as conn:
        assert conn.execute(terms, {"id": job.id}).one() == (7, timedelta(seconds=100))


def claimed(db: Engine, job: JobRecord) -> Claim:
    with db.begin() as conn:
        claim, _ = lifecycle.claim(conn, job.id, 0, worker="w", terms=LeaseTerms.of(Settings()))
    assert claim is not None
    return claim


def test_a_worker_renews_its_lease_as_often_as_set(db: Engine, postgres_url: str) -> None:
    job = accepted(db)
    claim = claimed(db, job)
    told = text("SELECT fraction FROM parts WHERE job_id = :id")

    def fraction() -> float:
        with db.connect() as conn:
            return float(conn.scalar(told, {"id": job.id}) or 0)

    quick = make_quick_engine(postgres_url, pool_size=1, application="test")
    with LeaseRenewer(quick, claim, Settings(lease_renewal_seconds=3600), lambda: False, _ignore) as rare:
        rare.check(0.25)
        assert fraction() == 0
    assert fraction() == 0
    with LeaseRenewer(quick, claim, Settings(lease_renewal_seconds=0.001), lambda: False, _ignore) as often:
        often.check(0.5)
        while fraction() != 0.5:
            os.sched_yield()
    quick.dispose()


def test_the_scheduler_and_workers_keep_their_times() -> None:
    code = "import json, workers.app as w; c = w.app.conf; print(json.dumps(["
    code += "c.beat_schedule['reconcile']['schedule'], c.worker_soft_shutdown_timeout]))"
    env = {"TASTETEST_RECONCILE_SECONDS": "7.5", "TASTETEST_SHUTDOWN_GRACE_SECONDS": "11"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | env, cwd=ROOT, capture_output=True, check=True
    )
    reconcile, shutdown = json.loads(ran.stdout)
    assert reconcile == 7.5
    assert shutdown > 11


def test_rests_double_up_to_the_longest() -> None:
    terms = LeaseTerms.of(Settings(retry_seconds=2, retry_seconds_max=7))
    assert [terms.after(n).total_seconds() for n in (1, 2, 3, 9)] == [2, 4, 7, 7]


def test_maintenance_runs_as_often_as_set(db: Engine) -> None:
    def done(**settings: Any) -> tuple[Any, Any]:
        run_due_maintenance(db, Settings(**settings))
        with db.connect() as conn:
            return tuple(conn.execute(text("SELECT checked_at, swept_at FROM upkeep")).one())

    first = done()
    assert done() == first
    checked, swept = done(check_seconds=1e-6)
    assert checked > first[0]
    assert swept == first[1]
    assert done(delete_expired_seconds=1e-6)[1] > swept


def test_what_is_older_than_set_is_let_go(db: Engine) -> None:
    job = accepted(db, old=True)
    selection = "5f9c7a52-6a0e-5d0b-9d52-0000000000aa"
    insert = (
        "INSERT INTO selections (id, matrix_id, revision, method, size, body, content_hash, created_at)"
        f" VALUES (:id, :matrix, 1, 'random', 1, '{{}}', '', {MONTH_OLD})"
    )
    with db.begin() as conn:
        lifecycle.cancel(conn, job.id)
        conn.execute(text(insert), {"id": selection, "matrix": job.matrix_id})
        conn.execute(text("ALTER TABLE jobs DISABLE TRIGGER guard"))
        conn.execute(text(f"UPDATE jobs SET finished_at = {MONTH_OLD} WHERE id = :id"), {"id": job.id})
        conn.execute(text("ALTER TABLE jobs ENABLE TRIGGER guard"))
        row = Matrix.build(["a"], ["x", "y"], np.array([[1, 1]]))
        matrices.put_model(conn, job.matrix_id, row)
        conn.execute(text(f"UPDATE matrix_revisions SET created_at = {MONTH_OLD} WHERE revision = 1"))

    def left(**settings: Any) -> list[int]:
        run_due_maintenance(db, Settings(delete_expired_seconds=1e-6, **settings))
        kept = (
            "SELECT (SELECT count(*) FROM jobs WHERE id = :job),"
            " (SELECT count(*) FROM selections WHERE id = :selection),"
            " (SELECT count(*) FROM matrix_revisions WHERE matrix_id = :matrix)"
        )
        names = {"job": job.id, "selection": selection, "matrix": job.matrix_id}
        with db.connect() as conn:
            return list(conn.execute(text(kept), names).one())

    assert left(keep_jobs_days=None, keep_revisions_days=None) == [1, 1, 2]
    assert left(keep_jobs_days=40, keep_selections_days=40, keep_revisions_days=40) == [1, 1, 2]
    assert left(keep_jobs_days=30, keep_revisions_days=None) == [0, 1, 2]
    assert left(keep_selections_days=30, keep_revisions_days=None) == [0, 0, 2]
    assert left(keep_revisions_days=30) == [0, 0, 1]


def test_a_replaced_secret_signs_for_as_long_as_set(postgres_url: str, redis_url: str, db: Engine) -> None:
    own = Settings(database_url=postgres_url, redis_url=redis_url, webhook_overlap_hours=2)
    with answering(own) as api:
        webhook = api.post("/webhooks", json={"url": "https://1.1.1.1/hook"}).json()["id"]
        assert api.post(f"/webhooks/{webhook}/rotate").status_code == 200
    until = text("SELECT round(extract(epoch FROM previous_until - now()) / 3600) FROM webhooks")
    with db.connect() as conn:
        assert conn.scalar(until) == 2

"""The life of jobs as a state machine: any order of steps, on a real database whose clock we turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Connection, Engine, text

from service.core.errors import Conflict
from service.core.settings import Settings
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.notifier import WorkerNotifier
from service.jobs.reconcile import reconcile
from service.jobs.submit import submit
from service.store import invariants, jobs, matrices, parts
from service.store.database import make_engine
from service.store.records import Claim

SETTINGS = Settings(lease_seconds=30, requeue_seconds=5, retry_seconds=1, max_attempts=3)
TERMS = lifecycle.LeaseTerms.of(SETTINGS)
FINAL = ("succeeded", "failed", "cancelled")

# now() of this schema hides the database's own: it comes first in the search path.
CLOCK = """
CREATE SCHEMA clock;
CREATE TABLE clock.hands (ahead interval NOT NULL);
INSERT INTO clock.hands VALUES ('0');
CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE
    AS 'SELECT pg_catalog.now() + ahead FROM clock.hands';
"""


@pytest.fixture(scope="module")
def turned(postgres_url: str) -> Iterator[Engine]:
    """An engine on a database whose clock can be turned forward."""
    engine = make_engine(postgres_url)
    with engine.begin() as conn:
        conn.execute(text(CLOCK))
        name = conn.scalar(text("SELECT current_database()"))
        conn.execute(text(f'ALTER DATABASE "{name}" SET search_path = clock, public, pg_catalog'))
        conn.execute(text(f'ALTER DATABASE "{name}" SET synchronous_commit = off'))
    engine.dispose()
    yield engine
    engine.dispose()


class Silent(WorkerNotifier):
    """Keeps what it was asked to ring for; the machine itself decides who answers."""

    def __init__(self) -> None:
        self.failures = 0
        self.notified: list[tuple[str, int]] = []

    def notify(self, job_id: str, index: int = 0) -> bool:
        self.notified.append((job_id, index))
        return True

    def waiting(self) -> int:
        return 0


class Life(RuleBasedStateMachine):
    """Submits, workers that hold or have lost their claims, cancellations, time, reconcilers."""

    engine: Engine
    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.notifier = Silent()
        self.jobs: list[str] = []
        self.results: dict[str, bytes] = {}

    @initialize()
    def begin(self) -> None:
        with self.engine.begin() as conn:
            conn.execute(text("TRUNCATE jobs CASCADE"))
            matrix = Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]]))
            self.matrix = matrices.create(conn, matrix, name="m")
        self.submit(2, 0)
        self.submit(1, 0)

    @rule(n=st.integers(1, 3), seed=st.integers(0, 3))
    def submit(self, n: int, seed: int) -> None:
        with self.engine.begin() as conn:
            asked = {"n": n, "seed": seed}
            job, created = submit(
                conn, kind="errand", settings=asked, matrix=self.matrix, parts=[{"i": i} for i in range(n)]
            )
        assert created == (job.id not in self.jobs)
        if created:
            self.jobs.append(job.id)

    @rule(target=claims, data=st.data())
    def claim(self, data: st.DataObject) -> Any:
        with self.engine.begin() as conn:
            queued = conn.execute(
                text("SELECT job_id, index FROM parts WHERE status = 'queued' ORDER BY job_id, index")
            ).all()
            if not queued:
                return multiple()
            job_id, index = data.draw(st.sampled_from(queued))
            part, _ = lifecycle.claim(conn, str(job_id), index, worker=f"w{len(self.jobs)}", terms=TERMS)
            again, _ = lifecycle.claim(conn, str(job_id), index, worker="thief", terms=TERMS)
        assert again is None
        return multiple() if part is None else part

    @rule(part=claims, fraction=st.floats(0, 1))
    def beat(self, part: Claim, fraction: float) -> None:
        with self.engine.begin() as conn:
            held = self._held(conn, part)
            pulse = parts.renew_lease(conn, part, fraction=fraction, lease=TERMS.lease)
            assert (pulse is None) != held
            if pulse is not None:
                assert (pulse == "cancelled") == jobs.get(conn, part.job_id).cancel_requested

    @rule(target=claims, part=consumes(claims))
    def finish(self, part: Claim) -> Any:
        """Compute and hand in; the last part goes on to assemble."""
        last = self._carry_out(part)
        return multiple() if last is None else last

    @rule(part=consumes(claims), how=st.sampled_from(["fails", "will be retried", "is handed back"]))
    def give_up(self, part: Claim, how: str) -> None:
        with self.engine.connect() as conn:
            held = self._held(conn, part)
        if how == "fails":
            self._step(part, lambda conn: lifecycle.fail(conn, part, {"detail": "bad data"}))
        elif how == "will be retried":
            self._step(part, lambda conn: lifecycle.retry(conn, part, "it ended with MemoryError", TERMS))
        else:
            self._step(part, lambda conn: lifecycle.hand_back(conn, part))
        with self.engine.connect() as conn:
            job = jobs.get(conn, part.job_id)
            assert job.finished or not held or (job.status == "running") == parts.running(conn, job.id)

    @rule(target=claims, part=claims)
    def take_over(self, part: Claim) -> Any:
        """The worker sleeps past its lease and another takes its part; the sleeper still has its claim."""
        self.time_passes(100)
        self.reconcile()
        self.time_passes(100)
        with self.engine.begin() as conn:
            taken, _ = lifecycle.claim(conn, part.job_id, part.index, worker=part.worker, terms=TERMS)
        return multiple() if taken is None else taken

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), times=st.integers(1, 4))
    def poison(self, data: st.DataObject, times: int) -> None:
        """One part fails again and again; never more often than allowed."""
        job_id = data.draw(st.sampled_from(self.jobs))
        for _ in range(times):
            self.time_passes(100)
            with self.engine.begin() as conn:
                part, _ = lifecycle.claim(conn, job_id, 0, worker="w", terms=TERMS)
            if part is None:
                return
            self._step(part, lambda conn, part=part: lifecycle.retry(conn, part, "it died", TERMS))
        with self.engine.connect() as conn:
            failures = "SELECT failures FROM parts WHERE job_id = :id AND index = 0"
            count = conn.scalar(text(failures), {"id": job_id})
            assert (jobs.get(conn, job_id).status == "failed") == (count == SETTINGS.max_attempts)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def work(self, data: st.DataObject) -> None:
        """A worker that does all it can for a job."""
        job_id = data.draw(st.sampled_from(self.jobs))
        self.notifier.notified = [(job_id, index) for index in range(4)]
        self._answer()

    @rule(part=consumes(claims))
    def die(self, part: Claim) -> None:
        """The worker is gone without a word; only the lease tells."""

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job_id = data.draw(st.sampled_from(self.jobs))
        with self.engine.begin() as conn:
            before = jobs.get(conn, job_id).status
            try:
                after = lifecycle.cancel(conn, job_id)
            except Conflict:
                assert before in ("succeeded", "failed")
            else:
                assert after.cancel_requested
                assert before not in ("succeeded", "failed")

    @rule(seconds=st.sampled_from([1, 6, 31, 100]))
    def time_passes(self, seconds: int) -> None:
        with self.engine.begin() as conn:
            conn.execute(
                text("UPDATE clock.hands SET ahead = ahead + :by"), {"by": timedelta(seconds=seconds)}
            )

    @rule()
    def reconcile(self) -> None:
        report = reconcile(self.engine, self.notifier, SETTINGS)
        assert report is not None
        with self.engine.connect() as conn:
            dead = "SELECT count(*) FROM parts WHERE status = 'running' AND lease_until < clock.now()"
            assert conn.scalar(text(dead)) == 0
            grace = timedelta(minutes=1)
            assert invariants.violations(conn, invariants.JOBS, patience=grace) == {}

    @invariant()
    def nothing_is_broken(self) -> None:
        with self.engine.connect() as conn:
            # Between reconciliations leases may be over and notifications missed: all else must hold.
            assert invariants.violations(conn, invariants.JOBS, patience=timedelta(days=999)) == {}

    @invariant()
    def ends_are_final(self) -> None:
        with self.engine.connect() as conn:
            for job_id, status, result in conn.execute(text("SELECT id::text, status, result FROM jobs")):
                known = self.results.setdefault(job_id, (status, result)) if status in FINAL else None
                assert known in (None, (status, result))
                if status == "succeeded":
                    count = conn.scalar(text("SELECT parts_total FROM jobs WHERE id = :id"), {"id": job_id})
                    assert bytes(result) == b"|".join(f"{job_id}/{i}".encode() for i in range(count))

    def teardown(self) -> None:
        """Left alone with a working worker and a reconciler, every job ends."""
        for _ in range(40):
            with self.engine.begin() as conn:
                open_ = [job.id for job in jobs.page(conn, None, 99).items if not job.finished]
            if not open_:
                return
            self.time_passes(100)
            self.reconcile()
            self._answer()
        raise AssertionError(f"still open: {open_}")

    def _answer(self) -> None:
        notified, self.notifier.notified = self.notifier.notified, []
        for job_id, index in notified:
            with self.engine.begin() as conn:
                part, others = lifecycle.claim(conn, job_id, index, worker="good", terms=TERMS)
            self.notifier.notify_all(others)
            while part is not None:
                part = self._carry_out(part)

    def _carry_out(self, part: Claim) -> Claim | None:
        made = f"{part.job_id}/{part.index}".encode()
        if part.spec is None:
            # Reading is not fenced, writing is; of an ended job nothing is left to read.
            with self.engine.connect() as conn:
                made = b"|".join(piece or b"" for _, piece in parts.results(conn, part.job_id))
        if part.spec is None or part.parts_total == 1:
            self._step(part, lambda conn: lifecycle.finish_job(conn, part, made))
            return None
        return self._step(part, lambda conn: lifecycle.finish_part(conn, part, made, terms=TERMS))

    def _step(self, part: Claim, step: Callable[[Connection], Any]) -> Any:
        """A step succeeds exactly when the claim is still held."""
        with self.engine.connect() as conn:
            held = self._held(conn, part)
        try:
            with self.engine.begin() as conn:
                made = step(conn)
        except lifecycle.LeaseLost:
            assert not held
            return None
        assert held
        return made

    def _held(self, conn: Connection, part: Claim) -> bool:
        query = "SELECT status = 'running' AND attempt = :a FROM parts WHERE job_id = :j AND index = :i"
        return bool(conn.scalar(text(query), {"a": part.attempt, "j": part.job_id, "i": part.index}))


def test_any_order_of_steps_keeps_every_invariant(turned: Engine) -> None:
    machine = type("Bound", (Life,), {"engine": turned})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=15,
            stateful_step_count=40,
            deadline=None,
            # Shrinking a run of real transactions takes longer than reading it.
            phases=(Phase.generate,),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )

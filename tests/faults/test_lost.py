from __future__ import annotations

import signal
from pathlib import Path

from sqlalchemy import text

from service.cli import default_stack
from service.jobs.notifier import WorkerNotifier
from tests.workers.rig import Rig


def test_killing_the_worker_mid_job_costs_time_only(rig: Rig, tmp_path: Path) -> None:
    matrix, gate = rig.matrix(), tmp_path / "gate"
    parts = [{"n": 0}, {"until": str(gate)}, {"n": 2}]
    victim = rig.worker()
    job = rig.submit(matrix, parts)
    rig.wait(job.id, lambda job: job.parts_done >= 1 and job.progress > 1 / 3)
    rig.kill(victim)
    gate.touch()
    rig.worker()
    done = rig.wait(job.id)
    assert (done.status, done.attempt) == ("succeeded", 2)
    undisturbed = rig.wait(rig.submit(matrix, parts, run=2).id)
    assert undisturbed.attempt == 1
    assert rig.result(job.id) == rig.result(undisturbed.id)


def test_killing_the_worker_while_it_assembles_costs_time_only(rig: Rig, tmp_path: Path) -> None:
    matrix, gate = rig.matrix(), tmp_path / "gate"
    victim = rig.worker()
    job = rig.submit(matrix, [{"n": 0}, {"n": 1}], until=str(gate))
    rig.wait(job.id, lambda job: job.parts_done == 2)
    rig.kill(victim)
    gate.touch()
    rig.worker()
    assert rig.wait(job.id).status == "succeeded"


def test_a_worker_that_wakes_after_its_lease_writes_nothing(rig: Rig, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    sleeper = rig.worker(beat=False)
    job = rig.submit(rig.matrix(), [{"until": str(gate)}])
    rig.wait(job.id, lambda job: job.progress == 0.5)
    rig.signal(sleeper, signal.SIGSTOP)
    gate.touch()
    rig.worker()
    done = rig.wait(job.id)
    assert (done.status, done.attempt) == ("succeeded", 2)
    result = rig.result(job.id)
    rig.signal(sleeper, signal.SIGCONT)
    # The sleeper answers the next ring only when it is through with the old part.
    again = rig.wait(rig.submit(rig.matrix("other"), [{"n": 1}, {"n": 2}]).id)
    assert again.status == "succeeded"
    assert rig.job(job.id).attempt == 2
    assert rig.result(job.id) == result


def test_a_broker_that_forgets_everything_loses_no_job(rig: Rig, tmp_path: Path, redis_url: str) -> None:
    matrix = rig.matrix()
    with default_stack.valkey(tmp_path) as url:
        rig.use_broker(url)
        waiting = [rig.submit(matrix, [{"n": 0}, {"n": 1}], run=i) for i in range(5)]
        assert rig.notifier.waiting() == 5
    rig.use_broker(redis_url)
    rig.worker()
    assert {rig.wait(job.id).status for job in waiting} == {"succeeded"}


def test_rings_for_a_dead_broker_are_counted_and_repeated(rig: Rig, tmp_path: Path) -> None:
    dead = WorkerNotifier(f"redis+socket://{tmp_path}/nobody.sock")
    notifier, rig.notifier = rig.notifier, dead
    job = rig.submit(rig.matrix(), [{"n": 0}])
    assert dead.failures == 1
    rig.notifier = notifier
    rig.worker()
    assert rig.wait(job.id).status == "succeeded"


def test_doubled_rings_claim_nothing(rig: Rig) -> None:
    rig.worker()
    job = rig.submit(rig.matrix(), [{"n": i, "steps": 2, "pause": 0.05} for i in range(3)])
    rig.notifier.notify_all([(job.id, i) for i in range(4)] * 5)
    done = rig.wait(job.id)
    assert (done.status, done.attempt) == ("succeeded", 1)


def test_workers_whose_sessions_are_cut_carry_on(rig: Rig, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    rig.worker()
    job = rig.submit(rig.matrix(), [{"until": str(gate)}, {"n": 1}])
    rig.wait(job.id, lambda job: job.progress > 0)
    with rig.engine.begin() as conn:
        cut = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'tastetest-worker' AND datname = current_database()"
        )
        assert conn.execute(text(cut)).rowcount > 0
    gate.touch()
    done = rig.wait(job.id)
    assert (done.status, done.attempt) == ("succeeded", 1)

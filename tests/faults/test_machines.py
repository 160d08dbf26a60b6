"""Three machines, each with its own cables to the database and the broker; one is cut off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.faults.cable import Cable
from tests.workers.rig import Rig


class Machine:
    """A worker that reaches the servers over cables of its own."""

    def __init__(self, rig: Rig, folder: Path, *, beat: bool) -> None:
        folder.mkdir()
        database = make_url(rig.postgres_url)
        socket = ".s.PGSQL.5432"
        self._cables = [
            Cable(folder / socket, Path(str(database.query["host"])) / socket),
            Cable(folder / "valkey.sock", Path(rig.redis_url.removeprefix("redis+socket://"))),
        ]
        rig.worker(
            beat=beat,
            DATABASE_URL=database.set(query={"host": str(folder)}).render_as_string(hide_password=False),
            REDIS_URL=f"redis+socket://{folder}/valkey.sock",
        )

    def cut_off(self) -> None:
        for cable in self._cables:
            cable.pull()

    def connect(self) -> None:
        for cable in self._cables:
            cable.plug()

    def close(self) -> None:
        for cable in self._cables:
            cable.close()


@pytest.fixture
def machines(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    # Short paths: the system allows a socket's some hundred bytes.
    folder = tmp_path_factory.mktemp("m")
    made = [Machine(rig, folder / "1", beat=True), Machine(rig, folder / "2", beat=True)]
    made.append(Machine(rig, folder / "3", beat=True))
    yield made
    rig.stop_all()
    for machine in made:
        machine.close()


def test_a_machine_cut_off_mid_job_changes_no_byte(rig: Rig, machines: list[Machine], tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    matrix = rig.matrix()
    parts = [{"n": i, "until": str(gate)} for i in range(3)] + [{"n": i} for i in range(3, 6)]
    job = rig.submit(matrix, parts)
    # Each machine is at one of the first three parts.
    rig.wait(job.id, lambda job: job.progress >= 3 * 0.5 / 6, seconds=60)
    machines[0].cut_off()
    gate.touch()
    done = rig.wait(job.id, seconds=60)
    assert (done.status, done.attempt) == ("succeeded", 2)
    result = rig.result(job.id)
    machines[0].connect()
    undisturbed = rig.wait(rig.submit(matrix, parts, run=2).id)
    assert undisturbed.status == "succeeded"
    assert rig.result(undisturbed.id) == result
    assert rig.job(job.id).attempt == 2
    assert rig.result(job.id) == result

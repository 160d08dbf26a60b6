from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.jobs.notifier import WorkerNotifier
from tools.chaos.world import Broker


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    made = Broker(tmp_path_factory.mktemp("b"))
    yield made
    made.stop()


def test_rings_wait_until_they_are_answered(broker: Broker) -> None:
    notifier = WorkerNotifier(broker.url)
    assert notifier.notify("job")
    notifier.notify_all([("job", 1), ("job", 2)])
    assert (notifier.waiting(), notifier.failures) == (3, 0)


def test_a_restarted_broker_costs_no_ring(broker: Broker) -> None:
    notifier = WorkerNotifier(broker.url)
    assert notifier.notify("job")
    broker.stop()
    broker.start()
    assert notifier.notify("job")
    assert (notifier.waiting(), notifier.failures) == (1, 0)


def test_a_dead_broker_is_given_up_in_seconds(tmp_path: Path) -> None:
    notifier = WorkerNotifier(f"redis+socket://{tmp_path}/nobody.sock")
    start = time.monotonic()
    notifier.notify_all([("job", i) for i in range(1000)])
    assert notifier.failures == 1
    assert notifier.waiting() == 0
    assert not notifier.reachable()
    assert time.monotonic() - start < 15


def test_a_frozen_broker_is_given_up_in_seconds(broker: Broker) -> None:
    notifier = WorkerNotifier(broker.url)
    assert notifier.notify("job")
    broker.send(signal.SIGSTOP)
    start = time.monotonic()
    assert not notifier.notify("job")
    assert time.monotonic() - start < 8
    broker.send(signal.SIGCONT)

"""Fifty callers uploading, submitting and polling, with two worker processes; TASTETEST_LOAD_SECONDS of it.

Set it to 600 for a soak: memory must stay flat.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import httpx
import psutil

from benchmarks.callers import Heard, call
from benchmarks.latency import smallest, yardsticks
from benchmarks.row import Row
from benchmarks.standing import Watcher, servers
from tests.acceptance.running import finished, serving

CALLERS = 50
SECONDS = float(os.environ.get("TASTETEST_LOAD_SECONDS", "60"))
READ_SECONDS = 2.0
READ_ROUNDS = 6
GROWTH = 1.15


def rows() -> Iterator[Row]:
    with (
        servers() as (folder, env),
        serving("--workers", "2", "--data-dir", folder, env=env) as served,
        yardsticks(env) as bare,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process,
    ):
        job = _some_job(served.address)
        with _Memory(psutil.Process(served.process.pid)) as memory:
            mixed = process.submit(call, served.address, CALLERS, SECONDS).result()
        reads, ones = Heard(), Heard()
        for _ in range(READ_ROUNDS):
            # In turn, so that the machine's drift meets both alike.
            for heard, address, path in (
                (reads, served.address, f"/jobs/{job}"),
                (ones, bare, f"/one/{job}"),
            ):
                heard.add(process.submit(call, address, CALLERS, READ_SECONDS, path).result())
        yield from _table(mixed, reads, ones, memory)


def _table(mixed: Heard, reads: Heard, ones: Heard, memory: _Memory) -> Iterator[Row]:
    heard = mixed.statuses + reads.statuses
    yield Row("answers that were errors", sum(heard[status] for status in heard if status >= 400), None, 0)
    good = mixed.jobs["succeeded"]
    yield Row("jobs lost or failed", mixed.jobs.total() - good, None, 0)
    yield Row("jobs done a second", good / mixed.seconds)
    yield Row("requests answered a second, mixed", mixed.statuses.total() / mixed.seconds)
    yield Row("GET /jobs/{id} in the mixture, median", statistics.median(mixed.reads))
    yield Row("the same, 99th percentile / bare route, reads alone", p99(mixed.reads), p99(ones.reads))
    yield Row("GET /jobs/{id}, reads alone, 99th percentile / bare route", p99(reads.reads), p99(ones.reads))
    rate, bare_rate = len(reads.reads) / reads.seconds, len(ones.reads) / ones.seconds
    yield Row("seconds a read, reads alone / bare route", 1 / rate, 1 / bare_rate, 2.5)
    for name, (early, late) in memory.thirds().items():
        yield Row(f"memory of {name}, MiB, last third / second", late / 2**20, early / 2**20, GROWTH)


def p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98]


def _some_job(address: str) -> str:
    with httpx.Client(base_url=address, timeout=60) as client:
        matrix = client.post("/matrices", json=smallest()).raise_for_status().json()["id"]
        body = {"matrix_id": matrix, "methods": ["random"]}
        return str(finished(client, client.post("/mdad", json=body))["id"])


class _Memory(Watcher):
    """Looks at the API's memory, and at the largest worker's, once a second."""

    def __init__(self, api: psutil.Process) -> None:
        super().__init__(1.0)
        self._api = api
        self._seen: dict[str, list[float]] = {"the API": [], "the largest worker": []}

    def look(self) -> None:
        """Note both."""
        workers = [p for p in self._api.children(recursive=True) if "workers.app" in " ".join(p.cmdline())]
        self._seen["the API"].append(self._api.memory_info().rss)
        self._seen["the largest worker"].append(max(p.memory_info().rss for p in workers))

    def thirds(self) -> dict[str, tuple[float, float]]:
        """Medians of the second and the last third: the first is for warming up."""
        found = {}
        for name, seen in self._seen.items():
            third = len(seen) // 3
            found[name] = statistics.median(seen[third : 2 * third]), statistics.median(seen[-third:])
        return found

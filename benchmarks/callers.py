"""Many callers at once, each in a thread over one kept connection: run in a process of their own."""

from __future__ import annotations

import http.client
import json
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from benchmarks.latency import smallest

POLL = 0.2
PATIENCE = 60.0
ENDS = ("succeeded", "failed", "cancelled")


@dataclass
class Heard:
    """What one caller, or all of them, were answered."""

    reads: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    jobs: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, other: Heard) -> None:
        """Another caller's too."""
        self.reads += other.reads
        self.statuses += other.statuses
        self.jobs += other.jobs
        self.seconds += other.seconds


class Caller:
    """One caller."""

    def __init__(self, address: str, number: int) -> None:
        parts = urlsplit(address)
        self.heard = Heard()
        self._conn = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
        self._number = number

    def mixed(self, until: float) -> Heard:
        """Upload, ask for an experiment, poll it to its end, and again."""
        table, turn = json.dumps(smallest()).encode(), 0
        while time.monotonic() < until:
            matrix = self._ask("POST", "/matrices", table)["id"]
            body = {"matrix_id": matrix, "methods": ["random"], "seed": turn * 1000 + self._number}
            job = self._ask("POST", "/mdad", json.dumps(body).encode())
            self.heard.jobs[self._end_of(job["id"])] += 1
            turn += 1
        return self.heard

    def read(self, until: float, path: str) -> Heard:
        """The same address again and again."""
        while time.monotonic() < until:
            self._read(path)
        return self.heard

    def _end_of(self, job_id: str) -> str:
        patience = time.monotonic() + PATIENCE
        while time.monotonic() < patience:
            status = str(self._read(f"/jobs/{job_id}")["status"])
            if status in ENDS:
                return status
            time.sleep(POLL)
        return "lost"

    def _read(self, path: str) -> dict[str, Any]:
        began = time.perf_counter()
        told = self._ask("GET", path)
        self.heard.reads.append(time.perf_counter() - began)
        return told

    def _ask(self, method: str, path: str, body: bytes | None = None) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"} if body else {}
        self._conn.request(method, path, body, headers)
        answer = self._conn.getresponse()
        self.heard.statuses[answer.status] += 1
        told: dict[str, Any] = json.loads(answer.read())
        return told


def call(address: str, callers: int, seconds: float, path: str | None = None) -> Heard:
    """All callers at once for so long: mixed work, or reads of one path."""
    began, until = time.monotonic(), time.monotonic() + seconds
    todo: Callable[[Caller], Heard] = (
        (lambda caller: caller.mixed(until)) if path is None else (lambda caller: caller.read(until, path))
    )
    all_heard = Heard()
    with ThreadPoolExecutor(callers) as pool:
        for heard in pool.map(todo, [Caller(address, number) for number in range(callers)]):
            all_heard.add(heard)
    all_heard.seconds = time.monotonic() - began
    return all_heard

"""Clients that do not give up: until a request is answered it is sent again, and sometimes after that."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx
from sqlalchemy.exc import DBAPIError

from service.jobs.submit import submit
from tools.chaos.world import World

CLIENTS = 8
PATIENCE = 120.0
TWICE = 0.2
SESSION_EVERY = 10
T = TypeVar("T")


class Clients:
    """Submit so many jobs over so many seconds: experiments over HTTP, errands, and one in ten poisoned."""

    def __init__(self, world: World, address: str, seed: int) -> None:
        self._rig = world.rig
        self._http = httpx.Client(base_url=address, timeout=10)
        self._dice = random.Random(seed + 1)
        self._matrix = world.rig.matrix()
        self.resent = 0
        self.doubled = 0
        self.good: set[str] = set()
        self.poison: set[str] = set()
        self.sessions: set[str] = set()

    def send_all(self, count: int, seconds: float) -> None:
        """Returns when every request has its answer."""
        with ThreadPoolExecutor(CLIENTS) as pool:
            sent = []
            for number in range(count):
                sent.append(pool.submit(self._send, number, self._dice.random() < TWICE))
                time.sleep(seconds / count)
            for future in sent:
                future.result()
        self._http.close()

    def _send(self, number: int, twice: bool) -> None:
        if number % SESSION_EVERY == 1:
            self.sessions.add(self._session(number, twice))
        poisoned = number % 10 == 0
        if poisoned:
            grief = "killed" if number % 50 == 0 else "memory"
            send = self._errand(number, [{"grief": grief}, {"n": number}])
        elif number % 2:
            send = self._experiment(number)
        else:
            send = self._errand(number, [{"n": i, "steps": 5, "pause": 0.05} for i in range(1 + number % 4)])
        job_id = self._until_answered(send)
        (self.poison if poisoned else self.good).add(job_id)
        if twice and not poisoned:
            self.doubled += 1
            if self._until_answered(send) != job_id:
                raise AssertionError(f"request {number} was sent twice and became two jobs")

    def _errand(self, number: int, parts: list[dict[str, Any]]) -> Callable[[], str]:
        def send() -> str:
            asked = {"number": number, "parts": parts}
            with self._rig.engine.begin() as conn:
                job, _ = submit(conn, kind="errand", settings=asked, matrix=self._matrix, parts=parts)
            self._rig.notifier.notify(job.id)
            return job.id

        return send

    def _experiment(self, number: int) -> Callable[[], str]:
        asked = {
            "matrix_id": self._matrix.id,
            "methods": ["random"],
            "sizes": [3, 5],
            "trials": 5,
            "seed": number,
        }

        def send() -> str:
            answer = self._http.post("/mdad", json=asked, headers={"Idempotency-Key": f"chaos-{number}"})
            return str(answer.raise_for_status().json()["id"])

        return send

    def _session(self, number: int, twice: bool) -> str:
        """A session to its end, every request sent until it is answered, sometimes once more."""
        question = {"kind": "compare", "baseline": "m0", "preset": "non_inferiority"}
        asked = {"matrix_id": self._matrix.id, "question": question, "batch": 4, "seed": number}
        key = {"Idempotency-Key": f"session-{number}"}
        session = self._until_answered(lambda: self._post("/sessions", asked, key))
        while session["status"] == "open":
            answers = {"answers": {example: int(example[1:]) % 2 for example in session["outstanding"]}}
            path = f"/sessions/{session['id']}/answers"
            for _ in range(1 + twice):
                session = self._until_answered(lambda path=path, sent=answers: self._post(path, sent, {}))
        return str(session["id"])

    def _post(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        told: dict[str, Any] = self._http.post(path, json=body, headers=headers).raise_for_status().json()
        return told

    def _until_answered(self, send: Callable[[], T]) -> T:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return send()
            except (httpx.HTTPError, DBAPIError):
                if time.monotonic() > deadline:
                    raise
                self.resent += 1
                time.sleep(0.2)

"""Asks a running service, and keeps its answers without what differs from run to run."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from tests.api.working import Worker
from tests.golden.matrices import TABLES

Answer = dict[str, Any]
Named = Iterator[tuple[str, Answer]]

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


class Caller:
    """A client and a worker; matrices and selections are made once, under names of our own."""

    def __init__(self, api: httpx.Client, worker: Worker) -> None:
        self.api = api
        self._worker = worker
        self._matrices: dict[str, str] = {}

    def matrix(self, name: str) -> str:
        """The id of one of the `TABLES`."""
        if name not in self._matrices:
            self._matrices[name] = self.upload(TABLES[name])
        return self._matrices[name]

    def upload(self, table: dict[str, Any]) -> str:
        """The id of a new matrix."""
        answer = self.api.post("/matrices", json=table)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def selection(self, matrix: str, method: str, size: int = 15, **more: Any) -> str:
        """The id of a selection, the newest models left for others to be judged on."""
        ask = {"matrix_id": self.matrix(matrix), "method": method, "size": size, **more}
        ask.setdefault("source_models", TABLES[matrix]["models"][::2])
        return str(self._worker.result(self.api, "/select", ask)["selection_id"])

    def job(self, path: str, ask: dict[str, Any], *, parts: int | None = None) -> httpx.Response:
        """Submit, and do all the work or its first parts; a refusal comes back as it is."""
        answer = self.api.post(path, json=ask)
        if answer.status_code == 202:
            job_id = answer.json()["id"]
            if parts is None:
                self._worker.finish(job_id)
            for part in range(parts or 0):
                self._worker.part(job_id, part)
        return answer

    def result(self, path: str, ask: dict[str, Any]) -> Answer:
        """The result of a job, or its refusal."""
        answer = self.job(path, ask)
        return kept(self.api.get(answer.json()["links"]["result"]) if answer.status_code == 202 else answer)

    def post(self, path: str, ask: dict[str, Any], **params: str) -> Answer:
        """The answer to a question."""
        return kept(self.api.post(path, json=ask, params=params))

    def get(self, path: str, **params: str) -> Answer:
        """What is there."""
        return kept(self.api.get(path, params=params))


Group = Callable[[Caller], Named]
"""Questions, and the answers to them by name."""


def kept(answer: httpx.Response) -> Answer:
    """Status and content: JSON as it is, CSV as rows of numbers and texts, other text by line."""
    media_type = answer.headers["content-type"].partition(";")[0]
    if media_type.endswith("json"):
        return {"status": answer.status_code, "answer": steady(answer.json())}
    lines = answer.text.splitlines()
    content = [[_number(cell) for cell in row] for row in csv.reader(io.StringIO(answer.text))]
    return {"status": answer.status_code, "answer": steady(content if media_type == "text/csv" else lines)}


def steady(value: Any) -> Any:
    """Without ids, times and hashes of numbers, which may differ in their last bit."""
    if isinstance(value, dict):
        # Of a selection it covers weights; of a matrix only what was sent.
        chosen = "selection_id" in value or isinstance(value.get("examples"), list)
        hidden = {"request_id", "content_hash"} if chosen else {"request_id"}
        return {key: "<hidden>" if key in hidden else steady(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [steady(inner) for inner in value]
    return _TIME.sub("<time>", _ID.sub("<id>", value)) if isinstance(value, str) else value


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell

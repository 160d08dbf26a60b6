"""Do the main job once and write the answers down, for the OpenAPI document: `make examples`."""

from __future__ import annotations

import csv
import importlib
import io
import json
import pkgutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import migrations
from service.api import problems
from service.api.authenticator import HOW_TO_SEND_A_KEY
from service.api.openapi.examples import PROBLEM, RECORDED, SHORT
from service.api.openapi.upload_bodies import CSV
from service.cli import default_stack
from service.core.errors import (
    FieldError,
    Forbidden,
    NoSpaceLeft,
    Problem,
    RequestTimeout,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)
from service.core.settings import Settings
from service.store.database import make_engine
from tests.api import routes
from tests.api.conftest import answering
from tests.api.working import Worker
from tests.contract.document import operation_of

MODELS = [f"{family}-{size}" for family in ("base", "chat", "code") for size in ("1b", "3b", "7b", "34b")]
EXAMPLES = [f"q{j}" for j in range(1, 61)]
LIMIT = 100_000
HOOK = "https://1.1.1.1/hooks/tastetest"
# Of one operation, several kinds of answers: how to name them.
KINDS: dict[str, Callable[[httpx.Response], str]] = {
    "get_result": lambda answer: "mdad" if "methods" in answer.json() else "select",
    "export_selection": lambda answer: answer.request.url.params.get("format", "ids"),
}


class Recorder:
    """The last answer of each operation by status and media type, and one problem of each status."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, dict[str, Any]]] = {}
        self.problems: dict[str, Any] = {}

    def hear(self, answer: httpx.Response) -> None:
        """Write an answer down."""
        answer.read()
        operation = operation_of(answer.request.method, answer.request.url.path)
        media = answer.headers.get("content-type", "").partition(";")[0]
        if media == PROBLEM:
            self.problems[str(answer.status_code)] = answer.json()
        elif operation and media and media not in SHORT and not media.startswith("image/"):
            value = _short(answer.json()) if media.endswith("json") else _lines(answer.text)
            name = operation["operationId"]
            kept = self.answers.setdefault(name, {}).setdefault(str(answer.status_code), {})
            if name in KINDS:
                named = {"name": KINDS[name](answer), "value": value}
                kept[media] = [one for one in kept.get(media, []) if one["name"] != named["name"]] + [named]
            else:
                kept[media] = value


def main() -> None:
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder, default_stack.running(Path(folder)) as stack:
        migrations.upgrade(stack.database_url)
        settings = Settings(database_url=stack.database_url, redis_url=stack.redis_url, max_body_bytes=LIMIT)
        engine = make_engine(stack.database_url)
        with answering(settings) as api:
            api.event_hooks["response"] = [recorder.hear]
            _good(api, Worker(engine, settings))
            _of_resources(api)
            _refused(api)
        engine.dispose()
    for problem in (problems.crash_response({}), *(problems.render({}, made) for made in _elsewhere())):
        told = json.loads(problem.body) | {"request_id": recorder.problems["404"]["request_id"]}
        recorder.problems[str(problem.status_code)] = told
    recorded = {"answers": recorder.answers, "problems": recorder.problems}
    written = json.dumps(recorded, indent=1, sort_keys=True)
    RECORDED.write_text(written.replace(HOOK, "https://ci.example.org/hooks/tastetest") + "\n")


def _elsewhere() -> tuple[Problem, ...]:
    """Problems of a service in another state than this one is in."""
    scope = "This needs a key with the scope 'write'; the one sent has: read."
    slow = "The body did not come within 60 s beyond what a slow line needs."
    many = "A key may send 12,000 requests a minute; there is room again in 7 s."
    return (
        RequestTimeout(slow, [FieldError("", "too_slow", slow)]),
        NoSpaceLeft(),
        Unavailable("The database does not answer; try again in a few seconds."),
        Unauthenticated(f"This API key is not valid. {HOW_TO_SEND_A_KEY}"),
        Forbidden(scope, [FieldError("header/authorization", "missing_scope", scope)]),
        TooManyRequests(many, [FieldError("", "too_many_requests", many)]),
    )


def _good(api: httpx.Client, worker: Worker) -> None:
    for path in ("/livez", "/readyz"):
        api.get(path)
    webhook = api.post("/webhooks", json={"url": HOOK}).json()["id"]
    upload = {"content": table(MODELS[:-1]), "headers": {"Content-Type": "text/csv"}}
    matrix = api.post("/matrices", params={"name": "arithmetic", **ROWS}, **upload).json()["id"]
    select = {"matrix_id": matrix, "method": "random", "size": 4, "seed": 1}
    selection = worker.result(api, "/select", select)["selection_id"]
    mdad = {"matrix_id": matrix, "methods": ["random"], "sizes": [10], "trials": 10}
    worker.result(api, "/mdad", mdad)
    job = api.post("/mdad", json=mdad).json()["id"]
    for path in (f"/jobs/{job}", f"/jobs/{job}/events", f"/jobs/{job}/report/tables/mdad.csv"):
        api.get(path)
    running = api.post("/mdad", json=mdad | {"methods": ["optimal_design"], "trials": 100}).json()["id"]
    worker.part(running, 0)
    api.get(f"/jobs/{running}/partial")
    given = {"content": table(["new-7b"]), "headers": {"Content-Type": "text/csv"}}
    api.post(f"/selections/{selection}/scores", params={"keep": "true", **ROWS}, **given)
    for status in ("201", "200"):
        put = {"content": table([MODELS[-1]]), "headers": {"Content-Type": "text/csv"}}
        answer = api.put(f"/matrices/{matrix}/models/{MODELS[-1]}", params=ROWS, **put)
        assert str(answer.status_code) == status, answer.text
    facts = {"family": "chat", "released": "2026-01-31", "tags": ["open"]}
    api.patch(f"/matrices/{matrix}/models/{MODELS[-1]}", json=facts)
    for path in ("", "/scores", "/drift", "/export", "/export?format=csv", "/export?format=json"):
        api.get(f"/selections/{selection}{path}")
    models = f"/matrices/{matrix}/models"
    for path in ("/matrices", f"/matrices/{matrix}", models, f"{models}/base-7b", "/selections"):
        api.get(path, params={} if path.endswith(matrix) else {"limit": 2})
    compare = {"matrix_id": matrix, "baseline": "base-7b", "candidate": "chat-34b"}
    comparison = api.post("/compare", json=compare).json()["id"]
    for path in ("", f"/{comparison}"):
        api.get(f"/comparisons{path}")
    _session(api, matrix)
    api.post("/power", json={"disagreement": 0.2, "difference": 0.02, "sizes": [100, 500]})
    api.get("/metrics")
    queued = api.post("/mdad", json=mdad | {"seed": 2}).json()["id"]
    api.post("/select", json=select | {"seed": 2})
    api.get("/jobs", params={"limit": 2})
    api.get(f"/jobs/{queued}/result")
    api.post(f"/jobs/{queued}/cancel")
    for path in ("", f"/{webhook}", f"/{webhook}/deliveries"):
        api.get(f"/webhooks{path}")
    api.post(f"/webhooks/{webhook}/rotate")
    api.post(f"/webhooks/{webhook}/resume")
    (delivery, *_) = api.get(f"/webhooks/{webhook}/deliveries").json()["items"]
    api.post(f"/webhooks/{webhook}/deliveries/{delivery['id']}/redeliver")


def _of_resources(api: httpx.Client) -> None:
    """What the test module of a resource sends, if it has a function `send_examples`."""
    for found in pkgutil.iter_modules(routes.__path__):
        module = importlib.import_module(f"{routes.__name__}.{found.name}")
        if hasattr(module, "send_examples"):
            module.send_examples(api)


def _session(api: httpx.Client, matrix: str) -> None:
    """A candidate that answers every second example rightly."""
    question = {"kind": "compare", "baseline": "chat-34b", "preset": "regression"}
    asked = {"matrix_id": matrix, "question": question, "batch": 50}
    session = api.post("/sessions", json=asked).json()
    answers = {example: at % 2 for at, example in enumerate(session["outstanding"])}
    here = f"/sessions/{session['id']}"
    api.post(f"{here}/answers", json={"answers": answers})
    for path in (here, "/sessions"):
        api.get(path)
    api.post(f"{here}/stop")


def _refused(api: httpx.Client) -> None:
    matrix = api.get("/matrices").json()["items"][0]["id"]
    api.get("/matrices/0198c0de-7a57-7e57-8000-000000000001")
    api.post("/matrices", content=b"0" * (LIMIT + 1))
    api.post("/matrices", content=CSV, headers={"Content-Type": "multipart/form-data"})
    api.post("/mdad", content=b"{}", headers={"Content-Type": "text/plain"})
    api.post("/mdad", json={"matrix_id": matrix, "sizes": [10, 100_000]})


ROWS = {"orientation": "models_as_rows"}


def table(models: list[str]) -> bytes:
    """Answers as a CSV file, by a model of abilities and difficulties."""
    file = io.StringIO()
    written = csv.writer(file, lineterminator="\n")
    written.writerow(["model", *EXAMPLES])
    difficulty = np.random.default_rng(0).normal(size=len(EXAMPLES))
    for model in models:
        at = MODELS.index(model) if model in MODELS else 6
        ability = 0.4 * (at % 4) + 0.2 * (at // 4)
        chance = 1 / (1 + np.exp(difficulty - ability))
        written.writerow([model, *(np.random.default_rng(at + 1).random(len(EXAMPLES)) < chance).astype(int)])
    return file.getvalue().encode()


def _short(value: Any, longest: int = 3) -> Any:
    """A document with its curves cut to a few points, and every secret to a made-up one."""
    if isinstance(value, dict):
        return {
            key: inner[:longest]
            if key in ("curve", "ranking", "flips") and isinstance(inner, list)
            else "whsec_ZXhhbXBsZSBleGFtcGxlIGV4YW1wbGUgZXhhbXBsZSE="
            if key == "secret"
            else _short(inner)
            for key, inner in value.items()
        }
    return [_short(inner) for inner in value] if isinstance(value, list) else value


def _lines(text: str) -> str:
    """Of the metrics, our own only."""
    if not text.startswith("# HELP"):
        return text
    mine = ("tastetest_jobs", "tastetest_parts", "tastetest_oldest", "tastetest_leases")
    return "".join(f"{line}\n" for line in text.splitlines() if line.removeprefix("# HELP ").startswith(mine))


if __name__ == "__main__":
    main()

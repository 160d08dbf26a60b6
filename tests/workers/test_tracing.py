"""One trace and one request id, from the request through the notification to each part of its job."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from sqlalchemy import Engine

from service.core import tracing
from service.jobs.submit import submit
from tests.acceptance.running import finished
from tests.listening import listening
from tests.upgrade.releases import ROOT, Release
from tests.workers.rig import Rig

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SCORES = [[int((i * 7 + j * (i + 2)) % 5 < 2 + i % 2) for j in range(40)] for i in range(8)]
TABLE = {"models": [f"m{i}" for i in range(8)], "examples": [f"e{j}" for j in range(40)], "scores": SCORES}


class Collector:
    """An OTLP collector: keeps every span with the name of the service it is from."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, Span]] = []
        self.paths: set[str] = set()
        self._came = threading.Condition()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                outer._take(self.path, body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def of(self, kind: int) -> list[Span]:
        """All spans of this kind, from whatever service."""
        return [span for _, span in self.spans if span.kind == kind]

    def wait(self, until: Callable[[], bool], seconds: float = 20) -> None:
        """Until the spans that came fulfil it."""
        with self._came:
            assert self._came.wait_for(until, seconds), [span.name for _, span in self.spans]

    def _take(self, path: str, body: bytes) -> None:
        self.paths.add(path)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            told = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                with self._came:
                    self.spans += [(told["service.name"], span) for span in scope.spans]
                    self._came.notify_all()


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    made = Collector()
    with listening(made.server):
        yield made


@pytest.fixture(scope="module")
def env(collector: Collector) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.address, "OTEL_BSP_SCHEDULE_DELAY": "100"}


@pytest.fixture(scope="module")
def traced(
    db: Engine,
    postgres_url: str,
    redis_url: str,
    env: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Rig]:
    """A rig with one worker that sends its spans to the collector."""
    made = Rig(db, postgres_url, redis_url, tmp_path_factory.mktemp("traced"))
    made.worker(**env)
    yield made
    made.stop_all()


def test_a_request_is_followed_to_its_worker_by_traces_and_logs(
    collector: Collector, traced: Rig, env: dict[str, str], tmp_path: Path
) -> None:
    ours = Release(ROOT, env | {"DATABASE_URL": traced.postgres_url, "REDIS_URL": traced.redis_url})
    log = tmp_path / "log"
    with log.open("ab") as stderr, ours.api(stderr) as ready:
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "X-Request-ID": "nightly-7"}
        with httpx.Client(base_url=ready(), timeout=60) as client:
            assert client.get("/livez", headers=headers).status_code == 200
            matrix = client.post("/matrices", json=TABLE).json()["id"]
            body = {"matrix_id": matrix, "methods": ["random", "stratified"], "trials": 10}
            job = finished(client, client.post("/mdad", json=body, headers=headers))
            assert job["status"] == "succeeded"
    collector.wait(lambda: bool(collector.of(Span.SPAN_KIND_CONSUMER)))
    spans = {span.span_id.hex(): span for _, span in collector.spans if span.trace_id.hex() == TRACE}
    services = {span.span_id.hex(): service for service, span in collector.spans}

    def line(span: Span) -> list[str]:
        """From a span up to the request's caller."""
        above = spans.get(span.parent_span_id.hex())
        here = f"{services[span.span_id.hex()]}: {span.name}"
        return [here, *(line(above) if above else [span.parent_span_id.hex()])]

    (request,) = (s for s in spans.values() if s.kind == Span.SPAN_KIND_SERVER)
    assert line(request) == ["tastetest-api: POST /mdad", PARENT]
    work = collector.of(Span.SPAN_KIND_CONSUMER)
    # Under load the reconciler may have notified first; it belongs to no trace.
    assert line(work[0])[0] == "tastetest-worker: mdad part"
    assert line(work[0])[-2:] == line(request)
    (notification,) = (span for span in spans.values() if span.name == "notify tastetest.work")
    assert line(notification)[1:] == line(request)
    attributes = {each.key: each.value.string_value for each in work[0].attributes}
    assert attributes["tastetest.job_id"] == job["id"]
    assert collector.paths == {"/v1/traces"}
    assert not [s for _, s in collector.spans if "livez" in s.name or "readyz" in s.name]
    told = log.read_text() + traced.logs()
    lines = [json.loads(line) for line in told.splitlines() if line[:1] == "{"]
    about = [line for line in lines if line.get("request_id") == "nightly-7"]
    assert {line["event"] for line in about} == {"submitted", "request", "part"}
    assert {line["trace_id"] for line in about} == {TRACE}
    assert {line["job_id"] for line in about if line["event"] != "request"} == {job["id"]}


def test_each_part_and_the_assembly_belong_to_the_trace(collector: Collector, traced: Rig) -> None:
    before = len(collector.of(Span.SPAN_KIND_CONSUMER))
    with tracing.continue_trace({"traceparent": f"00-{TRACE}-{PARENT}-01"}):
        job = traced.submit(traced.matrix(), [{"say": "a"}, {"say": "b"}, {"say": "c"}])
    traced.wait(job.id)
    collector.wait(lambda: len(collector.of(Span.SPAN_KIND_CONSUMER)) == before + 4)
    work = collector.of(Span.SPAN_KIND_CONSUMER)[before:]
    assert sorted(span.name for span in work) == ["errand assemble"] + 3 * ["errand part"]
    assert {span.trace_id.hex() for span in work} == {TRACE}


def test_a_part_that_the_reconciler_rang_for_belongs_to_the_trace_too(
    collector: Collector, traced: Rig
) -> None:
    before = len(collector.of(Span.SPAN_KIND_CONSUMER))
    parts, matrix = [{"say": "unheard"}], traced.matrix()
    with tracing.continue_trace({"traceparent": f"00-{TRACE}-{PARENT}-01"}), traced.engine.begin() as conn:
        job, _ = submit(conn, kind="errand", settings={"parts": parts}, matrix=matrix, parts=parts)
    traced.wait(job.id)
    collector.wait(lambda: len(collector.of(Span.SPAN_KIND_CONSUMER)) == before + 1)
    work = collector.of(Span.SPAN_KIND_CONSUMER)[-1]
    assert (work.trace_id.hex(), work.parent_span_id.hex()) == (TRACE, PARENT)


def test_without_a_collector_nothing_that_traces_is_loaded() -> None:
    """Redis's client loads the SDK's metrics by itself, wherever they are installed."""
    loaded = (
        "sorted({'opentelemetry.sdk.trace', 'opentelemetry.exporter', 'google.protobuf'} & set(sys.modules))"
    )
    code = f"import sys, service.main, workers.app; workers.app.tracing.configure('worker'); print({loaded})"
    env = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"

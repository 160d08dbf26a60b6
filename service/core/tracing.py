"""OpenTelemetry traces: from a request through the notification of workers to the parts of its job.

Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set: then no exporter is loaded and spans do nothing.
The other `OTEL_…` variables have OpenTelemetry's meaning.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator, Mapping

import structlog
from opentelemetry import context, propagate, trace
from opentelemetry.trace import Span, SpanKind, StatusCode

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
log = structlog.get_logger(__name__)
TRACER = trace.get_tracer("tastetest")


def is_enabled() -> bool:
    """Whether the environment configures a collector."""
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not disabled and any(os.environ.get(name) for name in ENDPOINTS)


def configure(process: str) -> None:
    """Send this process's spans to the collector, in batches from a thread, if tracing is enabled.

    Call it after a fork, because the thread does not survive one.
    """
    if not is_enabled():
        return
    if importlib.util.find_spec("opentelemetry.sdk") is None:
        log.warning("traces are not sent: pip install 'tastetest[otel]'", process=process)
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return
    name = os.environ.get("OTEL_SERVICE_NAME") or f"tastetest-{process}"
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def flush() -> None:
    """Send the remaining spans before the process ends."""
    if is_enabled() and importlib.util.find_spec("opentelemetry.sdk"):
        from opentelemetry.sdk.trace import TracerProvider

        provider = trace.get_tracer_provider()
        if isinstance(provider, TracerProvider):
            provider.force_flush(timeout_millis=2_000)


def trace_headers() -> dict[str, str]:
    """The current span, as headers for a message."""
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers


@contextlib.contextmanager
def continue_trace(headers: Mapping[str, str]) -> Iterator[None]:
    """Make the sender's span the parent of spans started here, unless there is a parent already."""
    if trace.get_current_span().get_span_context().is_valid:
        yield
        return
    token = context.attach(propagate.extract(headers))
    try:
        yield
    finally:
        context.detach(token)


@contextlib.contextmanager
def span(name: str, kind: SpanKind = SpanKind.INTERNAL, **attributes: str | int) -> Iterator[Span]:
    """A span whose attributes are named `tastetest.…`."""
    prefixed = {f"tastetest.{key}": value for key, value in attributes.items()}
    with TRACER.start_as_current_span(name, kind=kind, attributes=prefixed) as started:
        yield started


@contextlib.contextmanager
def child_span(name: str, kind: SpanKind = SpanKind.INTERNAL) -> Iterator[None]:
    """A span within the current one; no span if there is no current one."""
    if not trace.get_current_span().get_span_context().is_valid:
        yield
        return
    with TRACER.start_as_current_span(name, kind=kind):
        yield


def set_attributes(**attributes: str | int) -> None:
    """Add attributes to the current span."""
    trace.get_current_span().set_attributes({f"tastetest.{key}": value for key, value in attributes.items()})


def mark_failed(error: BaseException) -> None:
    """Mark the current span as failed by an error that is handled here."""
    here = trace.get_current_span()
    here.record_exception(error)
    here.set_status(StatusCode.ERROR, type(error).__name__)

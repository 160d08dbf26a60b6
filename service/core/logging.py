"""Logs as JSON lines on stderr, each with the ids of its request, its job and its trace."""

from __future__ import annotations

import logging
import sys

import structlog
from opentelemetry import trace
from structlog.types import EventDict, Processor, WrappedLogger


def configure() -> None:
    """Configure structlog for this process."""
    structlog.configure(
        processors=[*_common(), structlog.processors.JSONRenderer()],
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )


def capture_library_logs(level: int = logging.WARNING) -> None:
    """Write the log records of libraries, from `level` up, in the same format."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_common(), structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)


def _common() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _add_trace,
    ]


def _add_trace(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    here = trace.get_current_span().get_span_context()
    if here.is_valid:
        event["trace_id"], event["span_id"] = f"{here.trace_id:032x}", f"{here.span_id:016x}"
    return event

"""What a failed job tells its caller: problems as RFC 9457 names them, kept on the job."""

from __future__ import annotations

from typing import Any

from service.engine.data.errors import EngineError

Problem = dict[str, Any]


def unsuitable(error: EngineError) -> Problem:
    """The data cannot answer the request; the engine's text says why."""
    return {
        "type": "unsuitable-data",
        "title": "The request has no answer on these data",
        "status": 422,
        "detail": str(error),
    }


def internal(error: Exception) -> Problem:
    """The program is at fault; trying again would end the same way."""
    said = f"{type(error).__name__}: {error}" if isinstance(error, ValueError) else type(error).__name__
    return {
        "type": "computation-failed",
        "title": "The computation failed",
        "status": 500,
        "detail": f"The computation stopped with {said}. Sending the request again will not help.",
    }


def overdue() -> Problem:
    """The job's deadline has passed."""
    return {
        "type": "deadline-exceeded",
        "title": "The job took longer than allowed",
        "status": 504,
        "detail": "The job had not ended by its deadline. Ask for fewer trials, sizes or methods,"
        " or send it again when the service is less busy.",
    }


def exhausted(attempts: int, cause: str) -> Problem:
    """Every attempt was lost."""
    return {
        "type": "attempts-exhausted",
        "title": "The job was tried as often as allowed",
        "status": 500,
        "detail": f"A part of the job failed on all {attempts} attempts; the last time {cause}.",
    }

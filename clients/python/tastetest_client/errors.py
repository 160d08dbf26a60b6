"""What can go wrong, as exceptions whose text says which call, which field and what to do.

TastetestError
├── ServiceAway         nothing answers at the address
├── UnexpectedAnswer    something answers, and not as Tastetest does
├── VersionMismatch     the service is too old for this client
├── JobFailed           the job ended without a result
├── WaitTimeout         the job is not done within the time given
├── InvalidData         what was given cannot be sent
└── ApiError            the service refused; carries the problem document
    ├── AuthenticationError   401
    ├── PermissionDenied      403
    ├── NotFound              404
    ├── Conflict              409
    ├── InvalidRequest        400, 413, 415, 422
    ├── RateLimited           429
    └── ServerError           500 and above
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

SHOWN = 5
KEY = (
    "Give a valid key with api_key= or TASTETEST_API_KEY; the operator of the service makes one with "
    "`tastetest keys create`."
)
HINTS = {"unknown_model": "`tastetest push --model` stores results under a name."}


@dataclass(frozen=True, slots=True)
class Place:
    """One offending place: a JSON pointer or a name like `row 7`, a code and a sentence."""

    pointer: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem document (RFC 9457) as the service sent it."""

    type: str
    title: str
    status: int
    detail: str
    errors: Sequence[Place] = ()

    @classmethod
    def parse(cls, document: Mapping[str, Any], status: int) -> Self:
        """Raise `KeyError` or `TypeError` where it is no problem document of the service."""
        places = tuple(Place(e["pointer"], e["code"], e["message"]) for e in document["errors"])
        kind, title = str(document.get("type", "about:blank")), str(document.get("title", ""))
        return cls(kind, title, status, str(document["detail"]), places)

    def __str__(self) -> str:
        return self.text()

    def text(self, *, pointers: bool = True) -> str:
        """As a person would put it: the detail, and the places that it does not name itself.

        Without `pointers`, the detail does not begin with them: a pointer into a body that a command
        wrote says nothing to its user.
        """
        sentence = self.detail
        for place in self.errors if not pointers else ():
            if place.pointer.startswith("/"):
                sentence = sentence.removeprefix(f"{place.pointer}: ")
        new = [f"  {p.pointer}: {p.message}" for p in self.errors if _adds(p, sentence)]
        more = [f"  and {len(new) - SHOWN} more"] if len(new) > SHOWN else []
        hints = [HINTS[code] for code in dict.fromkeys(p.code for p in self.errors) if code in HINTS]
        return "\n".join([sentence, *new[:SHOWN], *more, *hints])


def _adds(place: Place, sentence: str) -> bool:
    return place.message.rstrip(".") not in sentence and place.pointer not in sentence


class TastetestError(Exception):
    """Base of everything that this package raises on purpose."""


class ServiceAway(TastetestError):
    """Nothing answers at the address, or it stopped answering."""


class UnexpectedAnswer(TastetestError):
    """Something answers at the address, and not as Tastetest does."""


class VersionMismatch(TastetestError):
    """The service is too old for this client."""


class WaitTimeout(TastetestError):
    """A job is not done within the time given; it goes on."""


class InvalidData(TastetestError):
    """What was given cannot be sent: no table, no file, or a field of the wrong kind."""


class JobFailed(TastetestError):
    """A job that ended without a result.

    Attributes
    ----------
    job_id, status : str
        Which job, and whether it `failed` or was `cancelled`.
    """

    def __init__(self, job_id: str, kind: str, status: str, detail: str) -> None:
        super().__init__(f"The {kind} job {job_id} {status}{f': {detail}' if detail else '.'}")
        self.job_id = job_id
        self.status = status


class ApiError(TastetestError):
    """The service refused a request.

    Attributes
    ----------
    call : str
        Method and path, like `POST /mdad`.
    problem : Problem
        What the service said: type, title, status, detail and the offending places.
    request_id : str or None
        What the service's log calls this request.
    """

    def __init__(self, call: str, problem: Problem, request_id: str | None) -> None:
        super().__init__(f"{call}: {problem}")
        self.call = call
        self.problem = problem
        self.request_id = request_id

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.problem.status


class AuthenticationError(ApiError):
    """401: the service asks for a key, or does not know this one."""

    def __init__(self, call: str, problem: Problem, request_id: str | None) -> None:
        super().__init__(call, problem, request_id)
        self.args = (f"{self.args[0]}\n{KEY}",)


class PermissionDenied(ApiError):
    """403: the key lacks a scope."""


class NotFound(ApiError):
    """404: there is no such matrix, job, selection or comparison in the key's workspace."""


class Conflict(ApiError):
    """409: the state of the resource forbids it."""


class InvalidRequest(ApiError):
    """400, 413, 415 or 422: a field, a file or a row is not as it must be."""


class RateLimited(ApiError):
    """429: too many requests, or too many unfinished jobs, after all retries."""


class ServerError(ApiError):
    """500 and above, after all retries."""


OF_STATUS: Mapping[int, type[ApiError]] = {
    401: AuthenticationError,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}


def api_error(call: str, problem: Problem, request_id: str | None) -> ApiError:
    """The exception for a problem, by its status."""
    default = ServerError if problem.status >= 500 else InvalidRequest
    return OF_STATUS.get(problem.status, default)(call, problem, request_id)

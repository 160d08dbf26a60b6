"""All problems that a caller can receive: one tree of exceptions, each with status, type and title.

    Problem
    ├── Unauthenticated  401   no API key, or an invalid one
    ├── Forbidden        403   the key lacks a scope, or another site's page sent the request
    ├── InvalidUpload    422   the bytes are not a matrix
    ├── InvalidRequest   422   a field of the request does not fit the data
    ├── UnsupportedMedia 415   no reader recognises the bytes
    ├── TooLarge         413   larger than a limit of this service
    ├── TooCostly        422   it would compute for longer than this service allows
    ├── StorageFull      409   the workspace has reached its storage limit
    ├── TooManyJobs      429   the workspace has reached its limit of unfinished jobs
    ├── TooManyRequests  429   the key has reached its limit of requests per minute
    ├── RequestTimeout   408   the body does not come
    ├── NotFound         404   no such resource
    ├── Conflict         409   the resource's state forbids it
    ├── NoSpaceLeft      507   the disk is full
    └── Unavailable      503   a server that this service needs does not answer

Every problem names the offending model, example, row or field in `errors` and says in `detail` how to
fix it. `service.api.problems` renders them as RFC 9457.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FieldError:
    """One offending place: a JSON pointer or a name like `row 7, column 'gpt-4'`, a code and a sentence."""

    pointer: str
    code: str
    message: str


class Problem(Exception):
    """Base of the tree; `detail` is one or two sentences for the person who sent the request."""

    status: ClassVar[int] = 500
    type: ClassVar[str] = "internal-error"
    title: ClassVar[str] = "Something went wrong inside the service"

    def __init__(
        self, detail: str, faults: Sequence[FieldError] = (), headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.faults = tuple(faults)
        self.headers = tuple(headers)


class Unauthenticated(Problem):
    """The request has no valid API key."""

    status = 401
    type = "unauthenticated"
    title = "A valid API key is needed"


class Forbidden(Problem):
    """The caller is not allowed to do this."""

    status = 403
    type = "forbidden"
    title = "This is not allowed"


class InvalidUpload(Problem):
    """The bytes sent cannot become a matrix."""

    status = 422
    type = "invalid-upload"
    title = "The upload cannot be read as a correctness matrix"


class InvalidRequest(Problem):
    """A field of the request does not fit the data it names."""

    status = 422
    type = "invalid-request"
    title = "The request does not fit the data"


class UnsupportedMedia(Problem):
    """No reader recognises the bytes."""

    status = 415
    type = "unsupported-format"
    title = "The format of the upload is not recognised"


class TooLarge(Problem):
    """Larger than a limit of this service."""

    status = 413
    type = "too-large"
    title = "Larger than this service accepts"


class TooCostly(Problem):
    """The request would compute for too long."""

    status = 422
    type = "too-costly"
    title = "The request would compute for longer than this service allows"


class StorageFull(Problem):
    """The workspace has reached its storage limit."""

    status = 409
    type = "storage-full"
    title = "The workspace has reached its storage limit"


class TooManyJobs(Problem):
    """The workspace has reached its limit of unfinished jobs."""

    status = 429
    type = "too-many-jobs"
    title = "Too many unfinished jobs"


class TooManyRequests(Problem):
    """The key has reached its limit of requests per minute."""

    status = 429
    type = "too-many-requests"
    title = "Too many requests"


class RequestTimeout(Problem):
    """The body does not come."""

    status = 408
    type = "request-timeout"
    title = "The request did not come in time"


class NotFound(Problem):
    """No such resource."""

    status = 404
    type = "not-found"
    title = "There is no such resource"


class Conflict(Problem):
    """The state of the resource forbids the request."""

    status = 409
    type = "conflict"
    title = "The state of the resource forbids this"


class NoSpaceLeft(Problem):
    """The disk is full."""

    status = 507
    type = "no-space-left"
    title = "No space left in the data directory"

    def __init__(self) -> None:
        super().__init__(
            "No space left in the data directory: nothing can be stored until there is. What is stored can be"
            " read; deleting matrices that are not needed makes room.",
            headers=[("Retry-After", "60")],
        )


class Unavailable(Problem):
    """A server that this service needs does not answer."""

    status = 503
    type = "unavailable"
    title = "The service cannot answer now"

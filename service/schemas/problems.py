"""The problem document of RFC 9457, as the API tells it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from service.schemas.base import ResponseModel

PROBLEM_TYPE = "urn:tastetest:problem:"


class Place(ResponseModel):
    """One offending place of the request."""

    pointer: str = Field(
        description="JSON pointer into the body, `query/name` for a parameter, "
        "or the place in an upload, like `row 7, column 'gpt-4'`.",
        examples=["/sizes/3"],
    )
    code: str = Field(description="Stable, for programs.", examples=["too_large"])
    message: str = Field(description="What is wrong there and how to fix it, for people.")


class ProblemDocument(ResponseModel):
    """Why a request was refused, where, and how to fix it (RFC 9457)."""

    type: str = Field(description="Stable name of the kind.", examples=[PROBLEM_TYPE + "not-found"])
    title: str = Field(
        description="The kind of problem in a few words; the same for every problem of one type."
    )
    status: int = Field(description="The HTTP status of the answer.", ge=400, le=599)
    detail: str = Field(description="What is wrong with this request and how to fix it, for people.")
    request_id: str = Field(description="As in the X-Request-ID header and the service's log.")
    errors: list[Place] = Field(
        description="Each place of the request that is wrong; empty when it is no one place."
    )


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI entries for the statuses an operation may refuse with; 500 and 503 always belong."""
    # A body that may be too large may also come too slowly, or find the disk full.
    with_body = {408, 507} if 413 in statuses else set()
    return {status: problem_answer(status) for status in sorted({*statuses, *with_body, 422, 500, 503})}


def problem_answer(status: int) -> dict[str, Any]:
    """The OpenAPI entry of one status."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    return {"description": REASONS[status], "content": content}


REASONS = {
    400: "The request is malformed at the level of HTTP",
    401: "No API key, or none that is valid; keys are asked for once there are any",
    403: "The key lacks the scope, or a page of another site asks",
    404: "There is no such resource",
    408: "The body did not come in time",
    409: "The state of the resource forbids this",
    413: "Larger than this service accepts",
    415: "The format of the body is not recognised",
    422: "The request is not valid, or does not fit the data",
    429: "Too many requests, or too many unfinished jobs",
    500: "A defect of the service",
    503: "The service cannot answer now",
    507: "No space left in the data directory",
}

"""Strong entity tags for content that never changes."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "You have this version already"}}


def is_current(request: Request, etag: str) -> bool:
    """Whether the caller already has this version."""
    given = request.headers.get("if-none-match", "")
    tags = {tag.strip().removeprefix("W/") for tag in given.split(",")}
    return "*" in tags or f'"{etag}"' in tags


def not_modified(etag: str) -> Response:
    """The response to a caller that already has it."""
    return Response(status_code=304, headers={"ETag": f'"{etag}"'})

"""Security in the OpenAPI document: the schemes, the scope of each operation, its refusals."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from service.api.route_classes import StrictRoute
from service.schemas.problems import problem_answer

KEY = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "tt_<id>_<secret>",
    "description": "Created by `tastetest keys create`, with scopes from `read`, `write` and `admin`.",
}
BROWSER = {
    "type": "http",
    "scheme": "basic",
    "description": "For browsers, which ask for it: any user name, with the key as password.",
}
REFUSALS = (401, 403, 429)
HEADERS = {
    "WWW-Authenticate": {"description": "How to send a key.", "schema": {"type": "string"}},
    "RateLimit": {
        "description": "Remaining requests, and when they are reset.",
        "schema": {"type": "string"},
    },
    "RateLimit-Policy": {"description": "The limit on requests.", "schema": {"type": "string"}},
}
OF_STATUS = {"401": ["WWW-Authenticate"], "429": ["Retry-After", "RateLimit", "RateLimit-Policy"]}


def add_security_schemes(document: dict[str, Any], app: FastAPI) -> None:
    """Add the schemes, and to each operation the scope its key must have.

    A key is optional in the document, because a service without keys needs none.
    """
    document["components"]["securitySchemes"] = {"key": KEY, "browser": BROWSER}
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        if not isinstance(route, StrictRoute) or route.scope is None or not route.include_in_schema:
            continue
        for method in route.methods or ():
            operation = document["paths"][context.path_format][method.lower()]
            operation["security"] = [{}, {"key": [route.scope]}, {"browser": [route.scope]}]
            responses = operation["responses"] | {str(status): problem_answer(status) for status in REFUSALS}
            operation["responses"] = dict(sorted(responses.items()))

"""Completes the OpenAPI document with texts that the routes' signatures do not have."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from service.api.openapi import security_schemes
from service.api.openapi.examples import add_examples
from service.api.openapi.links import add_links
from service.schemas.problems import ProblemDocument

DESCRIPTION = """\
Upload the results of language models on a benchmark. The service computes how small a part of the
benchmark can still distinguish your models, chooses the examples, and compares new models that ran on
these examples only.

1. `POST /matrices` with the results you have: one row per model, one column per example, 1 for right and
   0 for wrong. Logs of most evaluation tools are accepted unchanged. The answer holds the matrix's `id`.
2. `POST /mdad` with that `matrix_id` measures, for each method and size, the smallest difference in
   accuracy that a micro-benchmark ranks correctly with probability 0.8 (its Minimum Detectable Ability
   Difference, MDAD), and recommends a method and a size.
3. The answer is a job. Request `GET /jobs/{job_id}?wait=25` until its `status` is `succeeded`. Then request
   `GET /jobs/{job_id}/result`, or open `/jobs/{job_id}/report` in a browser.
4. `POST /select` with the recommended method and size chooses the examples. It is a job too. The
   `selection_id` in its result stays valid.
5. `POST /selections/{selection_id}/scores` estimates new models' full scores from answers on those
   examples; `POST /compare` says whether a candidate is better or worse than a baseline, or that these
   examples cannot tell. `POST /sessions` hands out examples in batches until that is decided.

Scores, accuracies, differences and probabilities are fractions in [0, 1]. Unknown fields and
parameters are refused. Lists answer `{items, next_cursor}`: send `next_cursor` as `cursor` until it is
null. Requests that take time answer 202 with the job's address in `Location`. Send an `Idempotency-Key`
with requests that you may have to repeat. Every refusal is an `application/problem+json` document (RFC
9457) that names the place and how to fix it, with a `type` of `urn:tastetest:problem:…` for programs.
Every answer has the header `X-Request-ID`; if you send one, it is used.

If the service has API keys, every request needs one, `Authorization: Bearer tt_…`, with the scope that
the operation names. A key gives access to its own workspace only.
"""

TAGS = [
    {"name": "matrices", "description": "Results of many models on one benchmark."},
    {"name": "work", "description": "Requests that workers compute."},
    {"name": "jobs", "description": "Progress and results of jobs."},
    {"name": "selections", "description": "Chosen micro-benchmarks: immutable, with a content hash."},
    {"name": "reports", "description": "Results as pages, figures and tables for people."},
    {"name": "comparisons", "description": "Comparisons of new models, and how many examples they need."},
    {"name": "sessions", "description": "Examples a batch at a time, until a question is decided."},
    {"name": "webhooks", "description": "Addresses that receive a message when a job ends."},
    {"name": "operation", "description": "Health and metrics, for operators."},
]

HEADERS = {
    "X-Request-ID": {
        "description": "The id you sent, if it is well-formed; otherwise a new one. The service logs it too.",
        "schema": {"type": "string"},
    },
    "Tastetest-Version": {
        "description": "The service's version; a client that needs a newer one says so.",
        "schema": {"type": "string"},
    },
    "Location": {"description": "The address of the new resource.", "schema": {"type": "string"}},
    "Retry-After": {"description": "Seconds to wait before the next request.", "schema": {"type": "string"}},
    "ETag": {
        "description": "Identifies exactly this content; send it as If-None-Match.",
        "schema": {"type": "string"},
    },
}


def install(app: FastAPI) -> None:
    """Make `app.openapi()` return the completed document, which is built once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _finished(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _finished(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        tags=app.openapi_tags,
        routes=app.routes,
    )
    problem = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas = document["components"]["schemas"]
    schemas |= problem.pop("$defs") | {"ProblemDocument": problem}
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    document["components"]["headers"] = HEADERS | security_schemes.HEADERS
    security_schemes.add_security_schemes(document, app)
    for operations in document["paths"].values():
        for operation in operations.values():
            _describe_headers(operation["responses"])
            operation["summary"] = _first_sentence(operation["description"])
            add_links(operation)
    add_examples(document)
    return document


def _first_sentence(text: str) -> str:
    """The first sentence of a description, as a summary for lists."""
    return " ".join(re.split(r"[.:](?:\s|$)", text)[0].replace("`", "").split())


def _describe_headers(responses: dict[str, Any]) -> None:
    for status, response in responses.items():
        names = ["X-Request-ID", "Tastetest-Version"]
        names += ["Location"] if status in ("201", "202") else []
        names += ["Retry-After"] if status in ("202", "503") else []
        names += security_schemes.OF_STATUS.get(status, [])
        names += ["ETag"] if status == "304" or (status == "200" and "304" in responses) else []
        ours = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        response["headers"] = response.get("headers", {}) | ours

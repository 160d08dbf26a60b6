"""What the OpenAPI document says beyond the signatures of the routes."""

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
Results of language models on a benchmark go in; out comes how small a part of the benchmark still
tells your models apart, which examples those are, and verdicts on new models that ran on them alone.

1. `POST /matrices` with the results you have: one row a model, one column an example, 1 for right and
   0 for wrong; most evaluation tools' logs are read as they are. The answer holds the matrix's `id`.
2. `POST /mdad` with that `matrix_id`: measures, by method and size, the smallest difference in accuracy
   that a micro-benchmark ranks rightly 4 times in 5 (its MDAD), and recommends a method and a size.
3. The answer is a job. Ask `GET /jobs/{job_id}?wait=25` until its `status` is `succeeded`, then take
   `GET /jobs/{job_id}/result`, or open `/jobs/{job_id}/report` in a browser.
4. `POST /select` with the recommended method and size gives the examples; it is a job, too, and its
   result's `selection_id` stays valid for good.
5. `POST /selections/{selection_id}/scores` estimates new models' full scores from answers on those
   examples; `POST /compare` says whether a candidate is better, worse, or whether these cannot tell.

Scores, accuracies, differences and probabilities are fractions in [0, 1]. Unknown fields and
parameters are refused. Lists answer `{items, next_cursor}`: send `next_cursor` back as `cursor`
until it is null. Work that takes time answers 202 with the job's address in `Location`. Send an
`Idempotency-Key` with what you may have to send again. Every refusal is an `application/problem+json`
document (RFC 9457) naming the place and the mend, with a `type` of `urn:tastetest:problem:…` for
programs. Every answer carries `X-Request-ID`; send your own and it is kept.

A service with API keys asks for one in every request, `Authorization: Bearer tt_…`, with the scope that
the operation names, and tells of the key's workspace only.
"""

TAGS = [
    {"name": "matrices", "description": "Results of many models on one benchmark."},
    {"name": "work", "description": "Requests that workers compute."},
    {"name": "jobs", "description": "The work's progress and results."},
    {"name": "selections", "description": "Chosen micro-benchmarks: immutable, with a content hash."},
    {"name": "reports", "description": "Results as pages, figures and tables for people."},
    {"name": "comparisons", "description": "Verdicts on new models, and what such verdicts can tell."},
    {"name": "webhooks", "description": "Addresses that are told of the end of jobs."},
    {"name": "operation", "description": "For those who run the service."},
]

HEADERS = {
    "X-Request-ID": {
        "description": "The one sent, when well-formed; else made here. Also in the service's log.",
        "schema": {"type": "string"},
    },
    "Location": {"description": "The address of what was made.", "schema": {"type": "string"}},
    "Retry-After": {"description": "Seconds to wait before asking again.", "schema": {"type": "string"}},
    "ETag": {"description": "Of this very content; send it as If-None-Match.", "schema": {"type": "string"}},
}


def install(app: FastAPI) -> None:
    """Make `app.openapi()` give the finished document, built once."""

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
            _tell_headers(operation["responses"])
            operation["summary"] = _first_sentence(operation["description"])
            add_links(operation)
    add_examples(document)
    return document


def _first_sentence(text: str) -> str:
    """What an operation does, for lists that show one line of each."""
    return " ".join(re.split(r"[.:](?:\s|$)", text)[0].replace("`", "").split())


def _tell_headers(responses: dict[str, Any]) -> None:
    for status, response in responses.items():
        names = ["X-Request-ID"]
        names += ["Location"] if status in ("201", "202") else []
        names += ["Retry-After"] if status in ("202", "503") else []
        names += security_schemes.OF_STATUS.get(status, [])
        names += ["ETag"] if status == "304" or (status == "200" and "304" in responses) else []
        ours = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        response["headers"] = response.get("headers", {}) | ours

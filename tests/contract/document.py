"""Checks answers against the OpenAPI document."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from service.core.settings import Settings
from service.main import create_app

PAGES = ("/docs", "/openapi.json", "/static/")


@cache
def document() -> dict[str, Any]:
    """The document, as the application makes it."""
    made: dict[str, Any] = json.loads(json.dumps(create_app(Settings()).openapi()))
    return made


def check(answer: httpx.Response) -> None:
    """Fail unless the answer is one that the document promises for its operation."""
    answer.read()
    if answer.request.method in ("HEAD", "OPTIONS"):
        # Not in the document: GET without its body, and the methods of a path.
        return
    operation = operation_of(answer.request.method, answer.request.url.path)
    if operation is None:
        assert answer.status_code >= 400 or answer.request.url.path.startswith(PAGES)
        return
    responses = operation["responses"]
    assert str(answer.status_code) in responses, f"{answer.request.method} {answer.url}: {answer.status_code}"
    promised = responses[str(answer.status_code)].get("headers", {})
    assert "Deprecation" not in promised or answer.headers["deprecation"], f"{answer.request.url}: no header"
    content = responses[str(answer.status_code)].get("content", {})
    if not content:
        assert not answer.content
        return
    media_type = answer.headers["content-type"].partition(";")[0]
    assert media_type in content, f"{answer.request.method} {answer.url}: {media_type}"
    if media_type.endswith("json"):
        validate(content[media_type]["schema"], json.loads(answer.content, parse_constant=_refuse))


def operation_of(method: str, path: str) -> dict[str, Any] | None:
    """The operation at this path; a literal path wins over one with parameters."""
    for template in sorted(document()["paths"], key=lambda t: t.count("{")):
        if re.fullmatch(_pattern(template), path):
            found: dict[str, Any] | None = document()["paths"][template].get(method.lower())
            if found is not None:
                return found
    return None


def validate(schema: dict[str, Any], value: object) -> None:
    """Fail unless the value fits, and holds no field that the schema does not tell of."""
    error = best_match(validator(json.dumps(schema)).iter_errors(value))
    assert error is None, f"{error.json_path}: {error.message[:300]}"
    told = _told(schema, value)
    assert told is None, f"not in the document: {told}"


@cache
def validator(schema: str) -> Draft202012Validator:
    """A validator of this schema within the document."""
    whole = {**json.loads(schema), "components": document()["components"]}
    return Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)


def _told(schema: dict[str, Any], value: object, where: str = "") -> str | None:
    """The first place in the value that no schema tells of."""
    schemas = [_resolved(s) for s in schema.get("anyOf", [schema])]
    fitting = [s for s in schemas if _fits(s, value)]
    found = [_told_by(s, value, where) for s in fitting]
    return None if not found or None in found else found[0]


def _told_by(schema: dict[str, Any], value: object, where: str) -> str | None:
    if isinstance(value, dict) and "properties" in schema:
        for name, inner in value.items():
            if name not in schema["properties"]:
                return f"{where}/{name}"
            if found := _told(schema["properties"][name], inner, f"{where}/{name}"):
                return found
    if isinstance(value, list) and "items" in schema:
        inside = (_told(schema["items"], inner, f"{where}/{i}") for i, inner in enumerate(value))
        return next((found for found in inside if found), None)
    return None


def _fits(schema: dict[str, Any], value: object) -> bool:
    return bool(validator(json.dumps(schema)).is_valid(value))


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    named: dict[str, Any] = document()["components"]["schemas"][reference.rsplit("/", 1)[1]]
    return _resolved(named)


def _pattern(template: str) -> str:
    return re.sub(r"\\{model\\}", ".+", re.sub(r"\\{(?!model)\w+\\}", "[^/]+", re.escape(template)))


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} in an answer")

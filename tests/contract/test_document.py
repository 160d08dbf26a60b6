"""The OpenAPI document is complete, true to the application, and the one that is committed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from service.cli.main import main
from tests.contract.document import document, validate

COMMITTED = Path(__file__).parents[2] / "openapi" / "openapi.json"


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_the_committed_document_is_the_generated_one() -> None:
    printed = CliRunner().invoke(main, ["openapi"])
    assert printed.exit_code == 0, printed.output
    assert COMMITTED.read_text() == printed.output, "run `make openapi` and commit the difference"


def test_every_operation_is_named_described_and_tagged() -> None:
    names = [operation["operationId"] for *_, operation in operations()]
    assert len(set(names)) == len(names)
    tags = {tag["name"] for tag in document()["tags"]}
    for path, method, operation in operations():
        where = f"{method} {path}"
        assert operation["operationId"].isidentifier(), where
        assert operation["description"].endswith("."), where
        assert set(operation["tags"]) <= tags, where
        for parameter in operation.get("parameters", []):
            assert parameter["description"], f"{where} {parameter['name']}"


def test_every_refusal_is_a_problem_document() -> None:
    for path, method, operation in operations():
        for status, response in operation["responses"].items():
            assert response["description"], (path, method, status)
            if int(status) >= 400:
                schema = response["content"]["application/problem+json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ProblemDocument"}, (path, method, status)


def test_every_operation_says_how_it_can_fail() -> None:
    for path, method, operation in operations():
        statuses = set(operation["responses"])
        assert {"422", "500", "503"} <= statuses, (path, method)
        if "requestBody" in operation:
            assert {"413", "415"} <= statuses, (path, method)
        if "{" in path:
            assert "404" in statuses, (path, method)


@pytest.mark.parametrize("path", ["/mdad", "/select"])
def test_every_json_body_has_an_example_that_fits(path: str) -> None:
    content = document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    for example in content["schema"].get("examples", []) or [content["example"]]:
        validate({"$ref": content["schema"].get("$ref") or content["schema"]["allOf"][0]["$ref"]}, example)


def test_every_schema_is_referred_to() -> None:
    text = json.dumps(document())
    for name in document()["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text, name

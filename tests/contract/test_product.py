"""A stranger can work from the document alone: everything named, shown by example, and linked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from service.api.openapi.examples import RECORDED
from tests.contract.document import document, validate
from tests.contract.test_document import operations

# JSON cannot hold such bytes.
UNSHOWN = {"image/png"}
Case = tuple[str, str, dict[str, Any]]


def bodies() -> Iterator[Case]:
    for path, method, operation in operations():
        for media, content in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{method} {path}", media, content


def answers() -> Iterator[Case]:
    for path, method, operation in operations():
        for status, response in operation["responses"].items():
            for media, content in response.get("content", {}).items():
                yield f"{method} {path} {status}", media, content


def shown(content: dict[str, Any]) -> list[Any]:
    """The examples of a body or answer."""
    named = content.get("examples", {})
    values = [followed(example)["value"] for example in named.values()]
    values += [content["example"]] if "example" in content else []
    return values + content.get("schema", {}).get("examples", [])


def followed(example: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in example:
        return example
    found: dict[str, Any] = document()["components"]["examples"][example["$ref"].rpartition("/")[2]]
    return found


@pytest.mark.parametrize("cases", [bodies, answers])
def test_every_body_and_answer_has_examples_that_fit(cases: Any) -> None:
    count = 0
    for where, media, content in cases():
        examples = shown(content)
        assert not ("example" in content and "examples" in content), where
        assert examples or media in UNSHOWN, f"no example of {where} {media}; run `make examples`"
        for example in examples:
            if "schema" in content:
                schema = {key: value for key, value in content["schema"].items() if key != "examples"}
                validate(schema, example)
            count += 1
    assert count > 10


def test_problems_are_shown_with_their_own_status() -> None:
    for name, example in document()["components"]["examples"].items():
        assert name == f"Problem{example['value']['status']}"


def test_no_example_is_of_an_operation_that_is_gone() -> None:
    recorded = json.loads(RECORDED.read_text())
    told = {operation["operationId"]: operation["responses"] for *_, operation in operations()}
    for name, statuses in recorded["answers"].items():
        assert set(statuses) <= set(told[name]), name


def test_every_operation_has_a_summary_and_one_tag_that_is_described() -> None:
    described = {tag["name"] for tag in document()["tags"] if len(tag["description"]) > 20}
    for path, method, operation in operations():
        assert 8 < len(operation["summary"]) <= 110, (method, path, operation["summary"])
        assert operation["description"].replace("`", "").startswith(operation["summary"].split()[0])
        (tag,) = operation["tags"]
        assert tag in described, tag


def test_what_creates_links_to_what_reads_and_links_lead_somewhere() -> None:
    known = {o["operationId"]: (path, method, o) for path, method, o in operations()}
    for path, method, operation in operations():
        linked = {
            name: (status, link)
            for status, response in operation["responses"].items()
            for name, link in response.get("links", {}).items()
        }
        for name, (_, link) in linked.items():
            *_, target = known[link["operationId"]]
            taken = {parameter["name"] for parameter in target.get("parameters", [])}
            assert set(link.get("parameters", {})) <= taken, (name, link)
        if method == "post" and {"201", "202"} & set(operation["responses"]):
            assert any(known[name][1] == "get" for name in linked), (method, path)


def test_the_main_job_can_be_walked_along_the_links() -> None:
    known = {o["operationId"]: o for *_, o in operations()}

    def leads(name: str, status: str) -> set[str]:
        return set(known[name]["responses"][status]["links"])

    assert {"submit_mdad", "submit_select", "get_matrix"} <= leads("create_matrix", "201")
    assert {"get_job", "get_result"} <= leads("submit_mdad", "202") & leads("submit_select", "202")
    assert "get_result" in leads("get_job", "200")
    assert {"get_selection", "export_selection"} <= leads("get_result", "200")
    assert "estimate" in leads("get_selection", "200")

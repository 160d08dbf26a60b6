"""Matrices over HTTP: upload raw or by form, read, change one model, delete."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest

CSV = b"model,q1,q2,q3\na,1,0,1\nb,0,1,1\nc,1,1,1\n"
ROWS = {"orientation": "models_as_rows"}
TINY: dict[str, Any] = {"models": ["a", "b"], "examples": ["x", "y"], "scores": [[1, 0], [1, 1]]}


@pytest.fixture
def matrix(api: httpx.Client) -> dict[str, Any]:
    answer = api.post("/matrices", params=ROWS | {"name": "quiz"}, content=CSV)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_an_upload_is_told_and_has_an_address(api: httpx.Client) -> None:
    answer = api.post("/matrices", params=ROWS | {"name": "quiz"}, content=CSV)
    body = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/matrices/{body['id']}"
    expected = {"name": "quiz", "revision": 1, "models": 3, "examples": 3, "binary": True, "format": "csv"}
    assert body == body | expected | {"constant_examples": 1, "missing_cells": 0, "subtasks": []}
    told = api.get(answer.headers["location"]).json()
    assert told == {key: body[key] for key in told}


def test_raw_gzip_form_and_json_give_the_same_content(api: httpx.Client) -> None:
    scores = [[1, 0, 1], [0, 1, 1], [1, 1, 1]]
    document = {"models": ["a", "b", "c"], "examples": ["q1", "q2", "q3"], "scores": scores}
    answers = [
        api.post("/matrices", params=ROWS, content=CSV),
        api.post("/matrices", params=ROWS, content=gzip.compress(CSV)),
        api.post("/matrices", data=ROWS, files={"file": ("quiz.csv", CSV)}),
        api.post("/matrices", params=ROWS, files={"file": ("quiz.csv", CSV, "text/csv")}),
        api.post("/matrices", json=document),
    ]
    assert [answer.status_code for answer in answers] == [201] * 5
    assert len({answer.json()["content_hash"] for answer in answers}) == 1
    assert [answer.json()["name"] for answer in answers[:3]] == ["unnamed", "unnamed", "quiz.csv"]


def test_models_are_listed_in_pages(api: httpx.Client, matrix: dict[str, Any]) -> None:
    path = f"/matrices/{matrix['id']}/models"
    first = api.get(path, params={"limit": 2}).json()
    last = api.get(path, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [m["model"] for m in first["items"] + last["items"]] == ["a", "b", "c"]
    assert [m["accuracy"] for m in first["items"] + last["items"]] == pytest.approx([2 / 3, 2 / 3, 1])
    assert last["next_cursor"] is None


def test_matrices_are_listed_newest_first(api: httpx.Client) -> None:
    ids = [api.post("/matrices", json=TINY).json()["id"] for _ in range(3)]
    page = api.get("/matrices", params={"limit": 3}).json()
    assert [item["id"] for item in page["items"]] == ids[::-1]
    newest = api.get("/matrices", params={"limit": 1}).json()
    second = api.get("/matrices", params={"limit": 2, "cursor": newest["next_cursor"]}).json()
    assert [item["id"] for item in newest["items"] + second["items"]] == ids[::-1]


def test_a_revision_is_immutable_and_says_so(api: httpx.Client, matrix: dict[str, Any]) -> None:
    path = f"/matrices/{matrix['id']}"
    read = api.get(path, params={"revision": 1})
    again = api.get(path, params={"revision": 1}, headers={"If-None-Match": read.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == read.headers["etag"]
    put = api.put(f"{path}/models/d", content=b"model,q1,q2,q3\nd,0,0,0\n", params=ROWS)
    assert put.status_code == 201, put.text
    newest = api.get(path, headers={"If-None-Match": read.headers["etag"]})
    assert (newest.status_code, newest.json()["revision"], newest.json()["models"]) == (200, 2, 4)
    assert api.get(path, params={"revision": 1}).json() == read.json()


def test_one_model_is_put_by_example_id_whatever_the_order(api: httpx.Client, matrix: dict[str, Any]) -> None:
    path = f"/matrices/{matrix['id']}"
    row = {"models": ["org/new"], "examples": ["q3", "q1"], "scores": [[1, 0]]}
    created = api.put(f"{path}/models/org/new", json=row)
    assert (created.status_code, created.json()["missing_cells"]) == (201, 1), created.text
    full = {"models": ["org/new"], "examples": ["q3", "q1", "q2"], "scores": [[1, 0, 0]]}
    replaced = api.put(f"{path}/models/org/new", json=full)
    assert (replaced.status_code, replaced.json()["missing_cells"]) == (200, 0), replaced.text
    assert replaced.headers["location"] == f"{path}?revision={replaced.json()['revision']}"
    models = {m["model"]: m for m in api.get(f"{path}/models").json()["items"]}
    assert models["org/new"]["accuracy"] == pytest.approx(1 / 3)
    assert models["a"]["revision"] == 1


def test_the_path_names_the_model_whatever_its_file_calls_it(
    api: httpx.Client, matrix: dict[str, Any]
) -> None:
    path = f"/matrices/{matrix['id']}/models/d"
    row = {"models": ["other"], "examples": ["q1"], "scores": [[1]]}
    assert api.put(path, json=row).status_code == 201
    assert api.put(path, json=row, params={"model": "d"}).status_code == 200
    assert api.put(path, json=row, params={"model": "other"}).status_code == 422
    two = {"models": ["other", "third"], "examples": ["q1"], "scores": [[1], [0]]}
    assert api.put(path, json=two).status_code == 422
    names = [model["model"] for model in api.get(f"/matrices/{matrix['id']}/models").json()["items"]]
    assert names == ["a", "b", "c", "d"]


def test_a_put_with_an_unknown_example_is_refused(api: httpx.Client, matrix: dict[str, Any]) -> None:
    row = {"models": ["d"], "examples": ["q1", "q9"], "scores": [[1, 0]]}
    refused = api.put(f"/matrices/{matrix['id']}/models/d", json=row)
    assert refused.status_code == 422
    assert "q9" in refused.text
    assert api.get(f"/matrices/{matrix['id']}").json()["revision"] == 1


def test_a_deleted_matrix_is_gone(api: httpx.Client, matrix: dict[str, Any]) -> None:
    path = f"/matrices/{matrix['id']}"
    assert api.delete(path).status_code == 204
    assert [api.get(path).status_code, api.delete(path).status_code] == [404, 404]
    assert api.get(f"{path}/models").status_code == 404


@pytest.mark.parametrize("matrix_id", ["nothing", "0198c0de-7a57-7e57-8000-000000000001", "%00", "a" * 500])
def test_an_unknown_or_ill_formed_id_is_not_found(api: httpx.Client, matrix_id: str) -> None:
    answer = api.get(f"/matrices/{matrix_id}")
    assert answer.status_code in (404, 422)
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"orientation": "sideways"}, "form/orientation"),
        ({"colour": "blue"}, "form/colour"),
        ({"name": " "}, "form/name"),
        ({"name": "x" * 501}, "form/name"),
        ({"missing": "drop"}, "form/missing"),
    ],
)
def test_a_form_field_that_does_not_fit_is_named(
    api: httpx.Client, fields: dict[str, str], pointer: str
) -> None:
    answer = api.post("/matrices", data=fields, files={"file": ("quiz.csv", CSV)})
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_options_given_twice_must_agree(api: httpx.Client) -> None:
    files = {"file": ("quiz.csv", CSV)}
    agreed = api.post("/matrices", params=ROWS, data=ROWS, files=files)
    torn = api.post("/matrices", params=ROWS, data={"orientation": "models_as_columns"}, files=files)
    assert (agreed.status_code, torn.status_code) == (201, 422)


@pytest.mark.parametrize(
    "files",
    [
        {"data": ("quiz.csv", CSV)},
        [("file", ("a.csv", CSV)), ("file", ("b.csv", CSV))],
        {"file": ("empty.csv", b"")},
    ],
)
def test_a_form_has_exactly_one_file_that_is_not_empty(api: httpx.Client, files: Any) -> None:
    answer = api.post("/matrices", params=ROWS, files=files)
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:tastetest:problem:invalid-upload"


def test_a_broken_form_is_a_problem(api: httpx.Client) -> None:
    answer = api.post(
        "/matrices", content=b"--x\r\nnonsense", headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert 400 <= answer.status_code < 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert json.loads(answer.content)["detail"]

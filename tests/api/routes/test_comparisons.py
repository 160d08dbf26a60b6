"""Comparisons are kept: found again under one id, shown as a page, listed, deleted."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.api.doors import TINY

SENT = {"name": "<b>nightly</b>", "answers": {"x": 1, "y": 0, "z": 1}}


@pytest.fixture
def matrix(api: httpx.Client) -> str:
    return str(api.post("/matrices", json=TINY).json()["id"])


def compare(api: httpx.Client, matrix: str, **more: object) -> httpx.Response:
    return api.post("/compare", json={"matrix_id": matrix, "baseline": "a", "candidate": "b", **more})


def test_an_answer_is_found_again_as_it_was_sent(api: httpx.Client, matrix: str) -> None:
    answer = compare(api, matrix).json()
    again = api.get(f"/comparisons/{answer['id']}")
    assert again.json() == answer
    unchanged = api.get(f"/comparisons/{answer['id']}", headers={"If-None-Match": again.headers["ETag"]})
    assert unchanged.status_code == 304


def test_the_same_answer_has_the_same_id(api: httpx.Client, matrix: str) -> None:
    first, again = compare(api, matrix), compare(api, matrix)
    assert first.content == again.content
    assert compare(api, matrix, margin=0.1).json()["id"] != first.json()["id"]
    listed = api.get("/comparisons", params={"matrix_id": matrix}).json()["items"]
    assert len(listed) == 2
    assert {one["verdict"] for one in listed} <= {"pass", "fail", "inconclusive"}
    assert all((one["baseline"], one["candidates"]) == ("a", ["b"]) for one in listed)


def test_an_answer_need_not_be_kept(api: httpx.Client, matrix: str) -> None:
    answer = compare(api, matrix, store=False).json()
    assert (answer["id"], answer["page"]) == (None, None)
    assert api.get("/comparisons", params={"matrix_id": matrix}).json()["items"] == []


def test_the_page_says_what_the_answer_says(api: httpx.Client, matrix: str) -> None:
    answer = compare(api, matrix).json()
    page = api.get(answer["page"])
    assert page.status_code == 200
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text))
    one = answer["comparisons"][0]
    assert one["reason"].split(".")[0] in text
    low, high = (f"{100 * end:.1f}" for end in one["interval"])
    assert f"{100 * one['difference']:.1f} ({low} to {high})" in text
    assert f"Examples lost: {len(one['flips']['lost'])}" in text


def test_names_are_escaped_on_the_page(api: httpx.Client, matrix: str) -> None:
    answer = compare(api, matrix, candidate=SENT)
    assert answer.status_code == 200, answer.text
    page = api.get(answer.json()["page"]).text
    assert "<b>nightly" not in page
    assert "&lt;b&gt;nightly" in page


def test_a_deleted_comparison_is_gone_and_can_be_made_again(api: httpx.Client, matrix: str) -> None:
    answer = compare(api, matrix).json()
    assert api.delete(f"/comparisons/{answer['id']}").status_code == 204
    for path in ("", "/page"):
        gone = api.get(f"/comparisons/{answer['id']}{path}")
        assert gone.status_code == 404
        assert answer["id"] in gone.json()["detail"]
    assert compare(api, matrix).json()["id"] == answer["id"]


def test_a_deleted_matrix_takes_its_comparisons_with_it(api: httpx.Client, matrix: str) -> None:
    answer = compare(api, matrix).json()
    assert api.delete(f"/matrices/{matrix}").status_code == 204
    assert api.get(f"/comparisons/{answer['id']}").status_code == 404

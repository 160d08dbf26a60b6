"""JSON that holds a whole matrix, and strict JSON."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import InvalidUpload
from service.ingest import strict_json
from tests.ingest.helpers import load, refused

GOOD = {"models": ["b", "a"], "examples": ["q2", "q1"], "scores": [[1, 0], [0.5, None]]}


def dump(**changes: object) -> str:
    return json.dumps({**GOOD, **changes})


def test_the_whole_object() -> None:
    upload = load(
        dump(
            name="tiny",
            subtasks=["y", "x"],
            confidences=[[0.9, 0.2], [0.4, None]],
            embeddings=[[1, 2, 3], [4, 5, 6]],
        )
    )
    matrix = upload.matrix
    assert upload.name == "tiny"
    assert matrix.models == ("a", "b")
    assert matrix.scores.tolist() == [[0, 0.5], [0, 1]]
    assert matrix.missing is not None
    assert matrix.missing.tolist() == [[True, False], [False, False]]
    assert [matrix.subtasks[k] for k in matrix.strata] == ["x", "y"]
    assert matrix.confidences is not None
    assert matrix.confidences.round(2).tolist() == [
        [0, pytest.approx(0.4)],
        [pytest.approx(0.2), pytest.approx(0.9)],
    ]
    assert matrix.embeddings is not None
    assert matrix.embeddings.tolist() == [[4, 5, 6], [1, 2, 3]]


def test_truth_and_words() -> None:
    assert load(dump(scores=[[True, False], [False, True]])).matrix.scores.tolist() == [[1, 0], [0, 1]]
    assert load(dump(scores=[[True, None], [False, True]])).matrix.missing_cells == 1
    assert load(dump(scores=[["yes", "no"], ["no", "yes"]]), mapping="yes:1,no:0").matrix.scores.sum() == 2
    refused(dump(scores=[[1, True], [0, 0]]), "/scores/0/1: 'true' is not a score")


def test_whole_numbers_are_ids() -> None:
    assert load(dump(examples=[2, 1])).matrix.examples == ("1", "2")


@pytest.mark.parametrize(
    ("changes", "needles"),
    [
        ({"models": ["a", "a"]}, ["model 'a' occurs twice", "/models/0 and /models/1"]),
        ({"models": [1, "1"]}, ["once ids are text", "/models/0 and /models/1"]),
        ({"models": [1.0, "x"]}, ["neither text nor a whole number"]),
        ({"models": [True, "x"]}, ["neither text"]),
        ({"models": ["a\0", "b"]}, ["U+0000", "/models/0"]),
        ({"models": []}, ["/models must be a list with at least one element"]),
        ({"models": ["", "b"]}, ["/models/0: the model has no name"]),
        ({"scores": [[1, 0]]}, ["/scores has 1 rows for 2 models"]),
        ({"scores": [[1, 0], [1]]}, ["/scores/1 (model 'a') has 1 cells"]),
        ({"scores": [[1, 0], [1, 2]]}, ["/scores/1/1", "score 2", "model 'a', example 'q1'"]),
        ({"scores": [[1, 0], [1, "yes"]]}, ["/scores/1/1", "'yes' is not a score", "mapping=yes:1"]),
        ({"scores": [[1, 0], [1, [0]]]}, ["'[0]' is not a score"]),
        ({"scores": [[1, 10**30], [1, 0]]}, ["/scores/0/1"]),
        ({"subtasks": ["x"]}, ["subtasks has 1 names for 2 examples"]),
        ({"subtasks": ["x", 3]}, ["/subtasks/1"]),
        ({"confidences": [[1, 2], [0, 0]]}, ["/confidences/0/1 is 2.0"]),
        ({"confidences": [[1, None], [0, 0]]}, ["/confidences/0/1"]),
        ({"confidences": [[1, "x"], [0, 0]]}, ["/confidences must hold rows of numbers"]),
        ({"embeddings": [[1], [2, 3]]}, ["/embeddings must hold rows of numbers"]),
        ({"embeddings": [[1]]}, ["give one vector for each of the 2 examples"]),
        ({"embeddings": [[1e300], [1]]}, ["/embeddings/0 is not finite"]),
        ({"colour": 1}, ["unknown 'colour'"]),
        ({"name": 3}, ["/name: 3 is not text"]),
        ({"items": ["a", "b"]}, ["unknown 'items'"]),
    ],
)
def test_refusals(changes: dict[str, object], needles: list[str]) -> None:
    assert refused(dump(**changes), *needles, kind=InvalidUpload).faults


@pytest.mark.parametrize(
    ("text", "needles"),
    [
        ('{"models": ["a"], "models": ["b"], "examples": ["q"], "scores": [[1]]}', ["'models' occurs twice"]),
        ('{"models": ["a"], "examples": ["q"], "scores": [[NaN]]}', ["line 1, column", "NaN and Infinity"]),
        ('{"models": ["a"], "examples": ["q"], "scores": [[-Infinity]]}', ["NaN and Infinity"]),
        ('{"models": ["a"], "examples": ["q"]}', ["lacks 'scores'"]),
        ('{"models": ["a"], "examples": ["q"], "scores": [[1]]', ["JSON"]),
        ('{"models": ["\\ud800"], "examples": ["q"], "scores": [[1]]}', ["JSON"]),
        ("[" * 100_000, ["JSON"]),
        ('{"a":' * 100_000, ["JSON"]),
    ],
)
def test_broken_json(text: str, needles: list[str]) -> None:
    refused(text, *needles, kind=InvalidUpload, format="json")


def test_invalid_utf8() -> None:
    refused(b'{"models": ["\xff"], "examples": ["q"], "scores": [[1]]}', "is not valid JSON")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(max_size=4)
    | st.sampled_from(['a":b', "\\", ":"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_strict_json_reads_what_has_no_key_twice(value: object) -> None:
    assert strict_json.loads(orjson.dumps(value), "x") == value


@given(JSON, st.text(max_size=3))
def test_strict_json_finds_a_key_twice_at_any_depth(value: object, key: str) -> None:
    inside = b"{%b:1,%b:2}" % (orjson.dumps(key), orjson.dumps(key))
    text = b'{"outer":[%b,{"x":%b}]}' % (orjson.dumps(value), inside)
    with pytest.raises(InvalidUpload, match="occurs twice"):
        strict_json.loads(text, "x")


def test_other_names_for_the_fields() -> None:
    upload = load('{"models": ["a"], "items": ["q"], "matrix": [[1]]}')
    assert upload.matrix.examples == ("q",)

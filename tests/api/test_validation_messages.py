"""Pointers lead to places in the body sent, whatever pydantic puts into its locations."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from service.api.validation_messages import faults_of, pointer
from service.schemas.comparisons import PowerRequest
from service.schemas.requests import MdadRequest


@pytest.mark.parametrize(
    ("location", "body", "expected"),
    [
        (("body",), {}, ""),
        (("body", "size"), {}, "/size"),
        (("body", "sizes", 3), {"sizes": [1, 2, 3, "x"]}, "/sizes/3"),
        (
            ("body", "methods", 0, "spec", "estimator"),
            {"methods": [{"estimator": 1}]},
            "/methods/0/estimator",
        ),
        (("body", "source_models", "list[str]", 1), {"source_models": ["a", 2]}, "/source_models/1"),
        (("body", "source_models", "int"), {"source_models": "a"}, "/source_models"),
        (("body", "a/b~c"), {"a/b~c": 1}, "/a~1b~0c"),
        (("query", "wait"), None, "query/wait"),
    ],
)
def test_pointers(location: tuple[str | int, ...], body: object, expected: str) -> None:
    assert pointer(location, body) == expected


@pytest.mark.parametrize(
    ("change", "expected", "words"),
    [
        ({"sizes": [10, "25"]}, "/sizes/1", "whole number"),
        ({"trials": 0}, "/trials", "at least 1"),
        ({"trials": True}, "/trials", "whole number"),
        ({"trials": 10.5}, "/trials", "whole number"),
        ({"probability": 1.5}, "/probability", "at most 0.999"),
        ({"probability": 80}, "/probability", "It is a fraction: 80 % is 0.8."),
        ({"probability": 800}, "/probability", "at most 0.999."),
        ({"sizes": []}, "/sizes", "at least 1 item, not 0"),
        ({"methods": "random"}, "/methods", "a list, in [ ]"),
        ({"method": ["random"]}, "/method", "do you mean 'methods'?"),
        ({"size": [10]}, "/size", "no such field; do you mean 'sizes'?"),
        ({"spelling": 1}, "/spelling", "no such field; check its spelling"),
        ({"x" * 100_000: 1}, "/" + "x" * 100_000, "no such field"),
        ({"methods": ["random", 3]}, "/methods/1", "name of a method"),
        ({"methods": [{"method": "random", "estimators": "mean"}]}, "/methods/0/estimators", "no such field"),
        ({"source_models": {"a": 1}}, "/source_models", "learning curve"),
        ({"target_models": "most"}, "/target_models", '"all"'),
        ({"missing": "drop"}, "/missing", "'drop_examples'"),
    ],
)
def test_each_refusal_is_one_fault_at_its_place(change: dict[str, object], expected: str, words: str) -> None:
    body = {"matrix_id": "x", **change}
    with pytest.raises(ValidationError) as refused:
        MdadRequest.model_validate(body)
    errors = [{**error, "loc": ("body", *error["loc"])} for error in refused.value.errors()]
    (fault,) = faults_of(errors, body)
    assert fault.pointer == expected
    assert words in fault.message


@pytest.mark.parametrize("bad_score", [0.74, 0.8])
def test_a_bad_score_is_below_that_of_a_healthy_model(bad_score: float) -> None:
    gate = {"threshold": 0.7, "n": 198, "score": 0.74, "bad_score": bad_score}
    body = {"disagreement": 0.3, "difference": 0.1, "threshold": gate}
    with pytest.raises(ValidationError) as refused:
        PowerRequest.model_validate(body)
    errors = [{**error, "loc": ("body", *error["loc"])} for error in refused.value.errors()]
    (fault,) = faults_of(errors, body)
    assert fault.pointer == "/threshold/bad_score"
    assert fault.message == "Should be below score, 0.74: it is that of a worse model."

"""What must be refused is refused with the place and the mend, and leaves nothing behind."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from service.store.tables import metadata
from tests.api.conftest import LIMIT
from tests.api.test_http import problem

ROWS = {"orientation": "models_as_rows"}
JSON = {"Content-Type": "application/json"}
TINY = {"models": ["a", "b", "c"], "examples": ["x", "y", "z"], "scores": [[1, 0, 1], [1, 1, 0], [0, 1, 1]]}


@dataclass(frozen=True)
class Refused:
    """A request, and what its refusal must say."""

    name: str
    content: Any
    words: tuple[str, ...]
    status: int = 422
    slug: str = "invalid-upload"
    params: dict[str, str] = field(default_factory=lambda: ROWS)
    headers: dict[str, str] = field(default_factory=dict)
    path: str = "/matrices"


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def chunked() -> Iterator[bytes]:
    for _ in range(LIMIT // 1000 + 1):
        yield b"a" * 1000


def csv(*lines: str) -> bytes:
    return "\n".join(lines).encode() + b"\n"


HEAD = "model,q1,q2,q3"
GOOD = ("a,1,0,1", "b,0,1,1")

UPLOADS = [
    Refused("empty body", b"", ("empty",)),
    Refused("ragged row", csv(HEAD, *GOOD, "c,1,0"), ("row", "c", "3")),
    Refused("duplicate model", csv(HEAD, *GOOD, "a,1,1,1"), ("'a'", "twice")),
    Refused("duplicate example", csv("model,q1,q2,q1", *GOOD), ("'q1'", "twice")),
    Refused("score of 1.5", csv(HEAD, *GOOD, "c,1,1.5,0"), ("1.5", "c", "q2")),
    Refused("score NaN", csv(HEAD, *GOOD, "c,1,NaN,0"), ("nan", "q2")),
    Refused("score inf", csv(HEAD, *GOOD, "c,1,inf,0"), ("inf", "q2")),
    Refused("yes in a numeric file", csv(HEAD, *GOOD, "c,1,yes,0"), ("yes", "mapping")),
    Refused(
        "object array",
        npz(
            models=np.array(["a", "b"]),
            examples=np.array(["x", "y"]),
            scores=np.array([[1, None], [0, 1]], dtype=object),
        ),
        ("scores", "object"),
        params={},
    ),
    Refused(
        "gzip bomb",
        gzip.compress(b"\0" * 300_000_000, 9)[:LIMIT],
        ("neither text",),
        status=415,
        slug="unsupported-format",
        params={},
    ),
    Refused("invalid UTF-8", csv(HEAD, *GOOD) + b"\xff\xfe,1,1,1\n", ("UTF-8",)),
    Refused("NUL in a name", csv(HEAD, *GOOD) + b"c\0d,1,1,1\n", ("U+0000",)),
    Refused(
        "JSON with duplicate keys",
        b'{"models": ["a"], "models": ["b"], "examples": ["x"], "scores": [[1]]}',
        ("models", "twice"),
        headers=JSON,
        params={},
    ),
    Refused(
        "JSON with a bare NaN",
        b'{"models": ["a", "b"], "examples": ["x"], "scores": [[NaN], [1]]}',
        ("NaN",),
        headers=JSON,
        params={},
    ),
    Refused(
        "unknown option",
        csv(HEAD, *GOOD),
        ("orientatoin",),
        slug="invalid-request",
        params={"orientatoin": "x"},
    ),
    Refused("declared too large", b"a" * (LIMIT + 1), (f"{LIMIT:,}",), status=413, slug="too-large"),
    Refused("chunked too large", chunked, (f"{LIMIT:,}",), status=413, slug="too-large"),
    Refused(
        "picture",
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        ("format",),
        status=415,
        slug="unsupported-format",
        params={},
    ),
]


@pytest.mark.parametrize("refused", UPLOADS, ids=lambda r: r.name)
def test_an_upload_is_refused(api: httpx.Client, db: sa.Engine, refused: Refused) -> None:
    before = everything(db)
    content = refused.content() if callable(refused.content) else refused.content
    answer = api.post("/matrices", params=refused.params, headers=refused.headers, content=content)
    document = problem(answer, refused.status, refused.slug)
    for word in refused.words:
        assert word in answer.text, document
    assert everything(db) == before


@pytest.mark.parametrize("refused", [r for r in UPLOADS if r.status == 422], ids=lambda r: r.name)
def test_the_same_file_for_one_model_is_refused(api: httpx.Client, db: sa.Engine, refused: Refused) -> None:
    matrix = api.post("/matrices", json=TINY).json()["id"]
    before = everything(db)
    path = f"/matrices/{matrix}/models/c"
    answer = api.put(path, params=refused.params, headers=refused.headers, content=refused.content)
    problem(answer, refused.status, answer.json()["type"].rsplit(":", 1)[1])
    assert everything(db) == before


REQUESTS: list[tuple[str, str, dict[str, Any], str, tuple[str, ...]]] = [
    ("size above N", "/mdad", {"sizes": [1, 4], "holdout": 0}, "/sizes/1", ("4", "3 examples")),
    ("size above the half", "/mdad", {"sizes": [3], "holdout": 0.5}, "/sizes/0", ("held out", "holdout")),
    ("size above N", "/select", {"method": "random", "size": 4}, "/size", ("3",)),
    ("size zero", "/select", {"method": "random", "size": 0}, "/size", ("1",)),
    ("unknown method", "/mdad", {"methods": ["randon"]}, "/methods/0", ("randon", "random")),
    ("unknown method", "/select", {"method": "randon", "size": 1}, "/method", ("randon", "random")),
    ("unknown model", "/mdad", {"target_models": ["a", "q"]}, "/target_models/1", ("'q'",)),
    (
        "unknown model",
        "/select",
        {"method": "random", "size": 1, "source_models": ["q"]},
        "/source_models/0",
        ("'q'",),
    ),
    ("unknown field", "/mdad", {"size": [1]}, "/size", ("no such field",)),
    ("unknown field", "/select", {"method": "random", "size": 1, "sede": 3}, "/sede", ("no such field",)),
    ("unknown option", "/select", {"method": "random", "size": 1, "options": {"k": 1}}, "/options", ("'k'",)),
    (
        "unknown estimator",
        "/select",
        {"method": "random", "size": 1, "estimator": "m"},
        "/estimator",
        ("'m'",),
    ),
    ("negative trials", "/mdad", {"trials": -1}, "/trials", ("1",)),
    ("absurd trials", "/mdad", {"trials": 10**9}, "/trials", ("1,000",)),
    ("absurd trials", "/mdad", {"trials": 10**12}, "/trials", ()),
    ("negative seed", "/mdad", {"seed": -1}, "/seed", ("0",)),
    ("probability of a coin", "/mdad", {"probability": 0.3}, "/probability", ("0.5",)),
    ("too many sizes", "/mdad", {"sizes": list(range(1, 60))}, "/sizes", ("50",)),
    ("too many targets", "/mdad", {"target_models": 4}, "/target_models", ("3",)),
]


@pytest.mark.parametrize(
    ("path", "body", "pointer", "words"),
    [r[1:] for r in REQUESTS],
    ids=[f"{r[0]}-{r[1][1:]}" for r in REQUESTS],
)
def test_a_request_is_refused(
    api: httpx.Client, db: sa.Engine, path: str, body: dict[str, Any], pointer: str, words: tuple[str, ...]
) -> None:
    matrix = api.post("/matrices", json=TINY).json()["id"]
    before = everything(db)
    answer = api.post(path, json={"matrix_id": matrix, **body})
    (error,) = problem(answer, 422, "invalid-request")["errors"]
    assert error["pointer"] == pointer
    for word in words:
        assert word in error["message"]
    assert everything(db) == before


@pytest.mark.parametrize("path", ["/mdad", "/select"])
@pytest.mark.parametrize("matrix", ["nothing", "0198c0de-7a57-7e57-8000-000000000001"])
def test_an_unknown_matrix_is_named(api: httpx.Client, db: sa.Engine, path: str, matrix: str) -> None:
    before = everything(db)
    body = {"matrix_id": matrix} | ({"method": "random", "size": 1} if path == "/select" else {})
    (error,) = problem(api.post(path, json=body), 404, "not-found")["errors"]
    assert (error["pointer"], matrix in error["message"]) == ("/matrix_id", True)
    assert everything(db) == before


def test_an_unknown_revision_is_named(api: httpx.Client) -> None:
    matrix = api.post("/matrices", json=TINY).json()["id"]
    (error,) = problem(api.post("/mdad", json={"matrix_id": matrix, "revision": 2}), 404, "not-found")[
        "errors"
    ]
    assert (error["pointer"], "newest is 1" in error["message"]) == ("/revision", True)


@pytest.mark.parametrize(
    "shape",
    [
        {"models": ["a"], "examples": ["x", "y"], "scores": [[1, 0]]},
        {"models": ["a", "b"], "examples": ["x"], "scores": [[1], [0]]},
    ],
)
def test_a_matrix_of_one_model_or_one_example_has_nothing_to_measure(
    api: httpx.Client, db: sa.Engine, shape: dict[str, Any]
) -> None:
    matrix = api.post("/matrices", json=shape).json()["id"]
    before = everything(db)
    (error,) = problem(api.post("/mdad", json={"matrix_id": matrix}), 422, "invalid-request")["errors"]
    assert "at least two" in error["message"]
    assert everything(db) == before


@pytest.mark.parametrize("path", ["/mdad", "/select"])
def test_missing_cells_without_a_policy_are_refused_with_what_each_would_drop(
    api: httpx.Client, db: sa.Engine, path: str
) -> None:
    gaps = {**TINY, "scores": [[1, None, 1], [1, None, 0], [0, 1, 1]]}
    matrix = api.post("/matrices", json=gaps).json()["id"]
    before = everything(db)
    body = {"matrix_id": matrix} | ({"method": "random", "size": 1} if path == "/select" else {"trials": 2})
    (error,) = problem(api.post(path, json=body), 422, "invalid-request")["errors"]
    assert error["pointer"] == "/missing"
    for words in ("2 cells", "drop_examples (drops 1 of 3", "drop_models (drops 2 of 3", "zero"):
        assert words in error["message"]
    assert everything(db) == before
    assert api.post(path, json={**body, "missing": "drop_examples"}).status_code == 202


@pytest.mark.parametrize(
    ("raw", "pointer", "code"),
    [
        (b'{"matrix_id": "x", "seed": 1, "seed": 2}', "", "duplicate_key"),
        (b'{"matrix_id": "x", "probability": NaN}', "/probability", "non_finite"),
        (b'{"matrix_id": "x\\u0000"}', "/matrix_id", "nul_character"),
        (b'{"matrix_id": "\xff"}', "", "invalid_utf8"),
        (b'{"matrix_id": "x"', "", "invalid_json"),
        (b"", "", "empty_body"),
    ],
)
def test_json_that_is_not_strict_is_refused(api: httpx.Client, raw: bytes, pointer: str, code: str) -> None:
    (error,) = problem(api.post("/mdad", content=raw, headers=JSON), 422, "invalid-request")["errors"]
    assert (error["pointer"], error["code"]) == (pointer, code)


def everything(db: sa.Engine) -> dict[str, int]:
    """How many rows each table has."""
    with db.connect() as conn:
        return {
            table.name: conn.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
        }


def test_nothing_was_left_uncounted(db: sa.Engine) -> None:
    assert {"matrices", "matrix_rows", "jobs", "parts", "selections"} <= set(everything(db))
    assert json.dumps(everything(db))

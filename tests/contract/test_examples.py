"""The example of every request in the document, sent as it stands, is taken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.working import Worker
from tests.contract.document import document
from tests.contract.test_product import shown

ID = "0198c0de-7a57-7e57-8000-000000000001"
Case = tuple[str, str, str, Any]
# Registering looks up the host's name, which needs a network.
UNSENT = {"/webhooks"}


def bodies() -> Iterator[Case]:
    for path, operations in document()["paths"].items():
        for method, operation in operations.items():
            for media, content in operation.get("requestBody", {}).get("content", {}).items():
                for example in shown(content):
                    yield method, path, media, example


def upload(api: httpx.Client, examples: list[str], models: int) -> str:
    """A matrix on these examples, with the models that the examples name among others."""
    names = ["gpt-4", "llama-3-8b", *(f"m{i}" for i in range(models - 2))]
    chance = np.linspace(0.9, 0.2, models)[:, None]
    scores = (np.random.default_rng(1).random((models, len(examples))) < chance).astype(int).tolist()
    return str(
        api.post("/matrices", json={"models": names, "examples": examples, "scores": scores}).json()["id"]
    )


@pytest.fixture(scope="module")
def ids(api: httpx.Client, db: sa.Engine, settings: Settings) -> dict[str, str]:
    """What stands in place of the example's ids, by path."""
    large = upload(api, [f"q{j}" for j in range(400)], 30)
    small, pair = upload(api, ["q1", "q2", "q3"], 12), upload(api, ["q17", "q42"], 12)
    trio = upload(api, ["q5", "q17", "q42"], 12)
    chosen = {
        matrix: Worker(db, settings).result(
            api, "/select", {"matrix_id": matrix, "method": "random", "size": size}
        )["selection_id"]
        for matrix, size in ((small, 3), (pair, 2))
    }
    question = {"kind": "compare", "baseline": "gpt-4"}
    session = api.post("/sessions", json={"matrix_id": trio, "question": question, "batch": 3}).json()["id"]
    return {
        "/sessions": large,
        "/sessions/{session_id}/answers": session,
        "/select": large,
        "/mdad": large,
        "/compare": chosen[pair],
        "/matrices/{matrix_id}/models/{model}": small,
        "/selections/{selection_id}/scores": chosen[small],
    }


@pytest.mark.parametrize(
    ("method", "path", "media", "example"), [case for case in bodies() if case[1] not in UNSENT]
)
def test_an_example_is_taken_as_it_stands(
    api: httpx.Client, ids: dict[str, str], method: str, path: str, media: str, example: Any
) -> None:
    there = ids.get(path, ID)
    url = path.format(matrix_id=there, selection_id=there, session_id=there, model="gpt-4")
    if media.startswith("multipart/"):
        fields = {name: value for name, value in example.items() if name != "file"}
        sent: dict[str, Any] = {"files": {"file": ("results.csv", example["file"])}, "data": fields}
    else:
        text = example if isinstance(example, str) else json.dumps(example).replace(ID, there)
        sent = {"content": text, "headers": {"Content-Type": media}}
    answer = api.request(method, url, **sent)
    assert answer.is_success, answer.text


def test_every_request_has_an_example() -> None:
    asked = {
        (method, path, media)
        for path, operations in document()["paths"].items()
        for method, operation in operations.items()
        for media in operation.get("requestBody", {}).get("content", {})
    }
    assert {(method, path, media) for method, path, media, _ in bodies()} == asked
    assert len(asked) > 15

"""No change of the API breaks callers of the previous release unless it is declared."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.breaking import Pair
from tests.contract.document import document
from tests.upgrade.releases import committed, previous

ROOT = Path(__file__).parents[2]
Schema = dict[str, Any]


def test_what_breaks_callers_is_declared() -> None:
    before = json.loads(committed(previous(), "openapi/openapi.json"))
    declared = set(re.findall(r"^\* `(.+?)`: ", (ROOT / "openapi" / "CHANGES.md").read_text(), re.MULTILINE))
    found = set(Pair(before, document()).breaks())
    assert found - declared == set(), "breaks callers: undo it, or declare it in openapi/CHANGES.md"
    assert declared - found == set(), "declared in openapi/CHANGES.md, but no longer so"


def schemas(made: Schema) -> Schema:
    found: Schema = made["components"]["schemas"]
    return found


def operation(made: Schema, path: str, method: str = "get") -> Schema:
    found: Schema = made["paths"][path][method]
    return found


def narrow(made: Schema) -> None:
    schemas(made)["SelectRequest"]["properties"]["missing"]["enum"].remove("zero")


def require(made: Schema) -> None:
    schemas(made)["SelectRequest"]["required"].append("seed")


def require_parameter(made: Schema) -> None:
    operation(made, "/jobs")["parameters"][0]["required"] = True


CHANGES: dict[str, Callable[[Schema], object]] = {
    "GET /jobs is gone": lambda made: made["paths"]["/jobs"].pop("get"),
    "GET /matrices/{matrix_id} is gone": lambda made: made["paths"].pop("/matrices/{matrix_id}"),
    "GET /livez is called alive, not live": lambda made: operation(made, "/livez").update(
        operationId="alive"
    ),
    "GET /livez 200/status is gone": lambda made: schemas(made)["Live"]["properties"].pop("status"),
    "GET /livez 200/status may be left out": lambda made: schemas(made)["Live"]["required"].clear(),
    "GET /matrices 200/items/*/models may now be string": lambda made: schemas(made)["MatrixView"][
        "properties"
    ]["models"].update(type="string"),
    "GET /jobs: query status is required": require_parameter,
    "GET /jobs: query limit is no longer taken": lambda made: operation(made, "/jobs")["parameters"].pop(),
    "POST /select: body/missing may no longer be 'zero'": narrow,
    "POST /select: body/seed is required": require,
    "POST /select: body/seed has minimum 2": lambda made: schemas(made)["SelectRequest"]["properties"][
        "seed"
    ].update(minimum=2),
    "GET /jobs/{job_id}/result: 304 is no longer answered": lambda made: operation(
        made, "/jobs/{job_id}/result"
    )["responses"].pop("304"),
    "POST /matrices: text/csv is no longer taken": lambda made: operation(made, "/matrices", "post")[
        "requestBody"
    ]["content"].pop("text/csv"),
}


@pytest.mark.parametrize("line", CHANGES)
def test_a_break_is_found(line: str) -> None:
    changed = copy.deepcopy(document())
    CHANGES[line](changed)
    assert line in set(Pair(document(), changed).breaks())


def test_more_of_everything_is_no_break() -> None:
    more = copy.deepcopy(document())
    more["paths"]["/new"] = {"get": operation(more, "/livez") | {"operationId": "new"}}
    operation(more, "/jobs")["parameters"].append(
        {"in": "query", "name": "new", "schema": {"type": "string"}}
    )
    schemas(more)["SelectRequest"]["properties"]["new"] = {"type": "string"}
    schemas(more)["JobView"]["properties"]["new"] = {"type": "string"}
    schemas(more)["SelectRequest"]["properties"]["missing"]["enum"].append("guess")
    assert list(Pair(document(), more).breaks()) == []

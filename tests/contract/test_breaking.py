"""No change of the API breaks callers of the previous release unless it is declared."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.breaking import Pair
from tests.contract.deprecation import listed
from tests.contract.document import document
from tests.upgrade.releases import committed, previous

ROOT = Path(__file__).parents[2]
Schema = dict[str, Any]


def test_what_breaks_callers_is_declared() -> None:
    before = json.loads(committed(previous(), "openapi/openapi.json"))
    declared = listed((ROOT / "openapi" / "CHANGES.md").read_text(), "Breaks").keys()
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
    "POST /select: body/seed defaults to 7": lambda made: schemas(made)["SelectRequest"]["properties"][
        "seed"
    ].update(default=7),
    "POST /select: body/matrix_id has pattern ^m": lambda made: schemas(made)["SelectRequest"]["properties"][
        "matrix_id"
    ].update(pattern="^m"),
    "GET /jobs 200/items/*/progress/fraction no longer has maximum 1.0": lambda made: schemas(made)[
        "Progress"
    ]["properties"]["fraction"].pop("maximum"),
    "GET /jobs 200/items/*/created_at no longer has format date-time": lambda made: schemas(made)["JobView"][
        "properties"
    ]["created_at"].pop("format"),
    "POST /mdad 202: the header Location is gone": lambda made: operation(made, "/mdad", "post")["responses"][
        "202"
    ]["headers"].pop("Location"),
    'GET /jobs is no longer opened by {"key": ["read"]}': lambda made: operation(made, "/jobs").update(
        security=[{"key": ["admin"]}]
    ),
    "POST /matrices: text/csv is no longer taken": lambda made: operation(made, "/matrices", "post")[
        "requestBody"
    ]["content"].pop("text/csv"),
}


@pytest.mark.parametrize("line", CHANGES)
def test_a_break_is_found(line: str) -> None:
    changed = copy.deepcopy(document())
    CHANGES[line](changed)
    assert line in set(Pair(document(), changed).breaks())


@pytest.mark.parametrize("name", sorted(document()["components"]["schemas"]))
def test_no_field_can_be_renamed_unnoticed(name: str) -> None:
    for field in schemas(document())[name].get("properties", {}):
        renamed = copy.copy(document())
        kept = dict(schemas(document())[name]["properties"])
        kept[f"{field}_renamed"] = kept.pop(field)
        changed = schemas(document()) | {name: schemas(document())[name] | {"properties": kept}}
        renamed["components"] = document()["components"] | {"schemas": changed}
        assert list(Pair(document(), renamed).breaks()), f"{name}.{field}"


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

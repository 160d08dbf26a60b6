"""What the API drops was deprecated for two minor versions first, with a note and a header."""

from __future__ import annotations

import contextlib
import copy
import json
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.contract.breaking import Pair
from tests.contract.deprecation import deprecated, listed, unannounced, without_header
from tests.contract.document import document
from tests.upgrade.releases import committed, previous

CHANGES = (Path(__file__).parents[2] / "openapi" / "CHANGES.md").read_text()
NOTE = "since 0.2; use `kind`."


def test_what_is_deprecated_is_listed_with_its_release_and_sends_the_header() -> None:
    said = listed(CHANGES, "Deprecated")
    assert said.keys() == deprecated(document()).keys()
    assert all(text.startswith("since ") for text in said.values())
    assert without_header(document()) == []


def test_nothing_is_dropped_that_was_not_deprecated_for_two_releases() -> None:
    before = json.loads(committed(previous(), "openapi/openapi.json"))
    known = {}
    # The first release came without the file.
    with contextlib.suppress(subprocess.CalledProcessError):
        known = listed(committed(previous(), "openapi/CHANGES.md"), "Deprecated")
    assert unannounced(Pair(before, document()).breaks(), known, version("tastetest")) == []


@pytest.mark.parametrize(
    ("release", "known", "allowed"),
    [
        ("0.4.0", {"GET /livez 200/status": NOTE}, True),
        ("1.0.0", {"GET /livez 200/status": NOTE}, True),
        ("0.3.0", {"GET /livez 200/status": NOTE}, False),
        ("0.4.0", {"GET /livez 200/other": NOTE}, False),
        ("0.4.0", {"GET /livez 200/status": "use `kind`."}, False),
    ],
)
def test_a_field_may_go_after_two_releases_with_a_note(
    release: str, known: dict[str, str], allowed: bool
) -> None:
    changed = copy.deepcopy(document())
    del changed["components"]["schemas"]["Live"]["properties"]["status"]
    found = unannounced(Pair(document(), changed).breaks(), known, release)
    assert found == ([] if allowed else ["GET /livez 200/status is gone"])


def mark_operation(made: dict[str, Any]) -> None:
    made["paths"]["/livez"]["get"]["deprecated"] = True


def mark_parameter(made: dict[str, Any]) -> None:
    (named,) = (p for p in made["paths"]["/jobs"]["get"]["parameters"] if p["name"] == "limit")
    named["deprecated"] = True


def mark_field(made: dict[str, Any]) -> None:
    made["components"]["schemas"]["SelectRequest"]["properties"]["seed"]["deprecated"] = True


def mark_answer(made: dict[str, Any]) -> None:
    made["components"]["schemas"]["Progress"]["properties"]["done"]["deprecated"] = True


@pytest.mark.parametrize(
    ("mark", "place"),
    [
        (mark_operation, "GET /livez"),
        (mark_parameter, "GET /jobs: query limit"),
        (mark_field, "POST /select: body/seed"),
        (mark_answer, "GET /jobs 200/items/*/progress/done"),
    ],
)
def test_what_is_marked_needs_a_header(mark: Any, place: str) -> None:
    marked = copy.deepcopy(document())
    mark(marked)
    assert place in deprecated(marked)
    assert place in without_header(marked)
    for response in deprecated(marked)[place]["responses"].values():
        response.setdefault("headers", {})["Deprecation"] = {"schema": {"type": "string"}}
    assert place not in without_header(marked)

"""Alerts and dashboard ask for figures that exist, and every alert says what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from service.api.routes.metrics import STATUSES
from tests.api.conftest import api as api
from tests.api.conftest import settings as settings
from tests.contract.document import document

FOLDER = Path(__file__).parents[2] / "docs" / "operations"
PAGE = (FOLDER / "monitoring.md").read_text()
(GROUP,) = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
RULES = GROUP["rules"]
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
# Of the collector's own, and what every sample gets.
FOREIGN = {"up"}


def expressions() -> Iterator[tuple[str, str]]:
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def selectors(node: Any) -> Iterator[Any]:
    """Every selector of a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "vector_selector", "args"):
        inner = getattr(node, name, None)
        for each in inner if isinstance(inner, list) else [inner]:
            if each is not None:
                yield from selectors(each)


@pytest.fixture(scope="module")
def samples(api: httpx.Client) -> dict[str, set[str]]:
    """Labels by the name of each sample there is."""
    api.get("/matrices")
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(api.get("/metrics").text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_expressions_ask_for_what_there_is(samples: dict[str, set[str]]) -> None:
    routes = set(document()["paths"])
    count = 0
    for where, expression in expressions():
        for selector in selectors(promql_parser.parse(expression)):
            count += 1
            if selector.name in FOREIGN:
                continue
            assert selector.name in samples, f"{where}: {selector.name}"
            for matcher in selector.matchers.matchers:
                assert matcher.name in samples[selector.name], (
                    f"{where}: {selector.name} has no {matcher.name}"
                )
                if matcher.name == "route":
                    for pattern in matcher.value.split("|"):
                        assert any(re.fullmatch(pattern, route) for route in routes), f"{where}: {pattern}"
                if selector.name in ("tastetest_jobs", "tastetest_parts"):
                    assert matcher.value in STATUSES, f"{where}: {matcher.value}"
    assert count > 30


def test_every_figure_is_documented(samples: dict[str, set[str]]) -> None:
    documented = set(re.findall(r"^\| `(tastetest_\w+)` \|", PAGE, re.MULTILINE))
    ours = {
        re.sub(r"_(bucket|sum|count)$", "", name)
        for name in samples
        if name.startswith("tastetest_") and not name.endswith("_created")
    }
    assert ours == documented


def test_every_alert_says_what_it_is_and_what_to_do() -> None:
    sections = re.findall(r"^### (\w+)\n\n(.+?)(?=\n#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    told = {name: text for name, text in sections if len(text) > 100}
    assert set(told) == {rule["alert"] for rule in RULES}
    for rule in RULES:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["annotations"]["runbook"] == f"monitoring.md#{rule['alert'].lower()}"


def test_the_dashboard_has_a_place_for_everything() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        assert panel["title"]
        assert panel["description"]
        at = panel["gridPos"]
        cells = {(at["x"] + i, at["y"] + j) for i in range(at["w"]) for j in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells

"""The pages about the project say what is so: each names files, targets and checks that exist."""

from __future__ import annotations

import builtins
import json
import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.core.api_keys import SCOPES
from service.engine.planning.methods import BLP

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
DECISIONS = ROOT / "docs" / "decisions"
PAGES = [
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "openapi/CHANGES.md")),
    ROOT / "docs" / "api-changes.md",
    *sorted(DECISIONS.glob("*.md")),
]
OURS = ("service", "workers", "migrations", "tests", "tools", "docs", "openapi", "benchmarks", ".ci")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
# Where no file can be named: what the reader is to write.
PLACEHOLDER = "NAME"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_names_only_what_is_there(page: Path) -> None:
    text = page.read_text()
    named = [path for path in re.findall(r"`([\w./-]+)`", text) if path.split("/")[0] in OURS and "/" in path]
    for path in named:
        assert PLACEHOLDER in path or (ROOT / path).exists() or (ROOT / "service" / path).exists(), path
    for target in re.findall(r"\]\(([^)\s#]+)", text):
        generated = target.endswith("reference.md")
        assert "://" in target or generated or (page.parent / target).exists(), target


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set()
    for page in PAGES:
        named |= set(re.findall(r"(?:`|^    )make (\w+)", page.read_text(), flags=re.MULTILINE))
    assert named <= targets
    assert len(named) > 5


def test_the_package_says_what_it_is_and_under_which_licence() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License\n" in (ROOT / "LICENSE").read_text()
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])
    assert PROJECT["authors"] == [{"name": "The Tastetest authors"}]
    assert all((ROOT / package / "py.typed").is_file() for package in ("service", "workers"))


def test_classifiers_name_the_python_that_is_tested() -> None:
    claimed = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    (image,) = set(re.findall(r"^FROM python:(\d\.\d+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    assert claimed == [image]
    assert f"Python {image} and make" in (ROOT / ".ci" / "run").read_text()
    assert PROJECT["requires-python"] == f">={image}"


def test_the_changelog_is_kept_as_it_says() -> None:
    headings = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    released = [
        re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d)", heading) for heading in headings[1:]
    ]
    assert all(released)
    numbers = [tuple(int(part) for part in found.groups()[:3]) for found in released if found]
    assert numbers == sorted(numbers, reverse=True)
    assert ".".join(str(part) for part in numbers[0]) == PROJECT["version"]
    days = [date.fromisoformat(found[4]) for found in released if found]
    assert days == sorted(days, reverse=True)
    assert set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE)) <= KINDS


def test_declared_breaks_are_in_the_changelog() -> None:
    _, _, breaks = (ROOT / "openapi" / "CHANGES.md").read_text().partition("## Breaks")
    unreleased = CHANGELOG.partition("## [Unreleased]")[2].partition("\n## [")[0]
    for operation in set(re.findall(r"^\* `(\w+ [^ :`]+)", breaks, re.MULTILINE)):
        assert operation in unreleased, operation


def test_there_are_five_recipes_of_at_most_twenty_lines() -> None:
    recipes = CONTRIBUTING.partition("\n## Recipes\n")[2].partition("\n## ")[0].split("\n### ")[1:]
    titles = [recipe.partition("\n")[0] for recipe in recipes]
    assert titles == [
        f"Add {what}" for what in ("a selection method", "a reader", "an export", "a metric", "an endpoint")
    ]
    for recipe in recipes:
        assert len(recipe.strip().splitlines()) <= 20, recipe.partition("\n")[0]


def test_every_decision_is_listed_and_says_why_and_at_what_cost() -> None:
    pages = {page.name: page for page in DECISIONS.glob("*.md") if page.name != "README.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", (DECISIONS / "README.md").read_text())) == set(pages)
    for name, page in pages.items():
        for part in ("Decision", "Why", "Cost", "Where"):
            assert f"\n**{part}.** " in page.read_text(), f"{name}: {part}"
        assert len(page.read_text().splitlines()) <= 30, name


def test_every_page_has_its_place_in_the_site() -> None:
    order = (ROOT / "tools" / "docs" / "site.py").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert f'"{page.relative_to(ROOT / "docs").as_posix()}"' in order, page


def test_the_glossary_is_sorted_and_names_what_the_api_has() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text()
    for section in text.split("\n## ")[1:]:
        terms = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", section, re.MULTILINE)[1:]
        assert terms == sorted(terms, key=str.lower)
        assert len(terms) > 20
    document = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    known = words(document) | {BLP, *SCOPES}
    for name in re.findall(r"`([a-z]+(?:_[a-z]+)*)`", text):
        assert name in known, name


def words(node: Any) -> set[str]:
    """Names of fields and parameters, and values of enumerations."""
    if isinstance(node, dict):
        here = set(node) | {str(value) for value in node.get("enum", []) if isinstance(node["enum"], list)}
        here |= {node[key] for key in ("name", "const") if isinstance(node.get(key), str)}
        return here.union(*(words(inner) for inner in node.values()))
    return set().union(*(words(inner) for inner in node)) if isinstance(node, list) else set()


def test_hooks_before_a_commit_run_what_ci_runs() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    ci = (ROOT / ".ci" / "run").read_text()
    for repository in config["repos"]:
        assert repository["repo"] == "local"
        for hook in repository["hooks"]:
            command = re.sub(r"^bash -c '(.*)'$", r"\1", hook["entry"]).replace(".venv/bin/", "$bin/")
            assert re.search(rf"^{re.escape(command)}( |$)", ci, re.MULTILINE), hook["entry"]


def test_templates_are_the_same_on_every_host() -> None:
    gitlab = ROOT / ".gitlab"
    for name in ("bug_report.md", "feature_request.md"):
        _, front, body = (ROOT / ".github" / "ISSUE_TEMPLATE" / name).read_text().split("---\n", 2)
        assert set(yaml.safe_load(front)) == {"name", "about"}
        assert body.strip() == (gitlab / "issue_templates" / name).read_text().strip()
    change = (ROOT / ".github" / "pull_request_template.md").read_text()
    assert change == (gitlab / "merge_request_templates" / "default.md").read_text()


def test_recipes_use_the_names_of_the_code() -> None:
    folders = (ROOT / "service", ROOT / "tests" / "contract")
    code = "".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    named = re.findall(r"`(\w*[a-z]\w*)(?:\([^`]*\))?`", CONTRIBUTING.partition("\n## Recipes\n")[2])
    assert len(named) > 15
    for name in named:
        assert re.search(rf"\b{name}", code) or name in OURS or hasattr(builtins, name), name

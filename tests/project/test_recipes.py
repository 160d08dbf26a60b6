"""Follows each recipe of CONTRIBUTING.md in a copy of the project, and sees it work from upload to answer."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.acceptance.running import result, serving

ROOT = Path(__file__).parents[2]
MODELS, EXAMPLES = [f"m{at:02}" for at in range(12)], [f"e{at:02}" for at in range(30)]

METHOD = '''
"""`first`: the first examples, by id."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import ScoredBy, Source, Subset, Traits, weighted_mean


class First:
    """The first examples."""

    name: ClassVar[str] = "first"
    estimators: ClassVar[tuple[str, ...]] = ("mean",)
    scored_by: ClassVar[ScoredBy] = "scores"
    traits: ClassVar[Traits] = Traits(elaborate=2)

    def fit(self, source: Source, rng: np.random.Generator) -> "First":
        """Nothing is learnt."""
        return self

    def pick(self, size: int) -> Subset:
        """The first `size`, equally weighted."""
        return Subset(np.arange(size), np.full(size, 1 / size))

    def estimate(self, subset: Subset, answers: NDArray[np.float64], estimator: str) -> NDArray[np.float64]:
        """The mean answer, shape (T,)."""
        return weighted_mean(subset, answers)
'''
READER = '''
"""Reads tables whose first line is `#pipes`: model|example|score."""

from collections.abc import Iterator

from service.ingest.answers import Answers
from service.ingest.context import Context
from service.ingest.detect_format import Head
from service.ingest.records import Block
from service.ingest.source import File


def matches(head: Head) -> bool:
    """Whether the first line says so."""
    return head.data.startswith(b"#pipes")


def read(file: File, context: Context) -> Iterator[Block]:
    """The answers of each model."""
    found: dict[str, Answers] = {}
    with file.open() as stream:
        for row, line in enumerate(stream.read().decode().splitlines()[1:], start=2):
            model, example, score = line.split("|")
            found.setdefault(model, Answers()).add(example, float(score), row)
    for model, answers in found.items():
        yield answers.block(model, file.name, unit="line")
'''
EXPORT = '''
"""Ids with their places."""

from service.export.selection import ExportedSelection


def write(selection: ExportedSelection) -> str:
    """One line an example."""
    return "".join(f"{at}. {example.id}\\n" for at, example in enumerate(selection.examples, start=1))
'''
METRIC = """
    JobMetric("tastetest_finished_jobs", "Finished.", lambda counts: counts.jobs.get("succeeded", 0)),
"""
ENDPOINT = '''
"""`GET /matrices/{id}/cells`: how many cells a matrix has."""

from fastapi import APIRouter
from pydantic import Field

from service.api.context import ContextDep
from service.api.route_classes import StrictRoute
from service.api.routes.matrices import MatrixId
from service.schemas.base import ResponseModel
from service.schemas.problems import refusals
from service.store import matrices

router = APIRouter(prefix="/matrices/{matrix_id}/cells", tags=["matrices"], route_class=StrictRoute)


class CellCount(ResponseModel):
    """How many cells."""

    cells: int = Field(description="Models times examples.")


@router.get("", responses=refusals(404))
def count_cells(matrix_id: MatrixId, context: ContextDep) -> CellCount:
    """Count the cells of the newest revision."""
    with context.engine.begin() as conn:
        record = matrices.get(conn, matrix_id)
    return CellCount(cells=record.n_models * record.n_examples)
'''


@dataclass(frozen=True)
class Recipe:
    """What following it comes to: a new module, and additions after lines of others.

    `tested` and `documented` are the files that hold its tests and documentation.
    """

    title: str
    name: str
    tested: str
    new: tuple[str, str] | None = None
    added: tuple[str, dict[str, str]] = ("", {})
    documented: str | None = None

    @property
    def touched(self) -> set[str]:
        """Every file."""
        others = (self.new[0] if self.new else None, self.documented, self.added[0], self.tested)
        return {path for path in others if path}

    def follow(self, project: Path) -> None:
        """Make the changes to the code."""
        if self.new is not None:
            (project / self.new[0]).write_text(self.new[1].lstrip())
        path, after = project / self.added[0], self.added[1]
        text = path.read_text()
        for line, more in after.items():
            assert text.count(line) == 1, line
            text = text.replace(line, line + more)
        path.write_text(text)


# After which lines of the registries something is added.
IN_METHODS = {
    "from service.engine.selection.diversity import Diversity\n": (
        "from service.engine.selection.first import First\n"
    ),
    "        Diversity,\n": "        First,\n",
}
IN_READERS = {
    "    parquet,\n": "    pipes,\n",
    "FORMATS: tuple[UploadFormat, ...] = (\n": ('    UploadFormat("pipes", pipes.matches, pipes.read),\n'),
}
IN_EXPORTS = {
    "from service.export import helm, inspect_ai, lm_eval, plain": ", numbered",
    "_ALL = (\n": '    ExportFormat("numbered", "text/plain", "txt", "places", numbered.write),\n',
}
IN_RESOURCES = {"    api_docs,\n    compare,\n": "    cell_count,\n", "RESOURCES = (\n": "    cell_count,\n"}

RECIPES = [
    Recipe(
        "Add a selection method",
        "first",
        "tests/engine/selection/test_first.py",
        ("service/engine/selection/first.py", METHOD),
        ("service/engine/selection/registry.py", IN_METHODS),
    ),
    Recipe(
        "Add a reader",
        "pipes",
        "tests/ingest/test_pipes.py",
        ("service/ingest/readers/pipes.py", READER),
        ("service/ingest/registry.py", IN_READERS),
    ),
    Recipe(
        "Add an export",
        "numbered",
        "tests/export/test_numbered.py",
        ("service/export/numbered.py", EXPORT),
        ("service/export/registry.py", IN_EXPORTS),
    ),
    Recipe(
        "Add a metric",
        "finished_jobs",
        "tests/api/routes/test_metrics.py",
        added=("service/api/routes/metrics.py", {"METRICS = (": METRIC}),
        documented="docs/operations/monitoring.md",
    ),
    Recipe(
        "Add an endpoint",
        "cell_count",
        "tests/api/routes/test_cell_count.py",
        ("service/api/routes/cell_count.py", ENDPOINT),
        ("service/main.py", IN_RESOURCES),
    ),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_is_short_and_names_at_most_three_files(recipe: Recipe) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = re.search(rf"^### {recipe.title}\n\n(.*?)\n*^##", text, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert len(section.group(1).splitlines()) <= 20
    steps = re.findall(r"^\d\. `([^`]+)`", section.group(1), re.MULTILINE)
    assert len(steps) <= 3
    assert {step.replace("NAME", recipe.name) for step in steps} == recipe.touched


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The default stack, from a copy of the project in which every recipe was followed."""
    project, data = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("data")
    for package in ("service", "workers", "migrations"):
        shutil.copytree(ROOT / package, project / package, ignore=shutil.ignore_patterns("__pycache__"))
    for recipe in RECIPES:
        recipe.follow(project)
    with (
        serving("--data-dir", str(data), env={"PYTHONPATH": str(project)}, code=project) as running,
        httpx.Client(base_url=running.address, timeout=60) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def matrix(api: httpx.Client) -> str:
    lines = [f"{m}|{e}|{(i * j) % 3 % 2}" for i, m in enumerate(MODELS) for j, e in enumerate(EXAMPLES)]
    answer = api.post(
        "/matrices", content="\n".join(["#pipes", *lines]), headers={"Content-Type": "text/plain"}
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["format"] == "pipes"
    return str(answer.json()["id"])


@pytest.fixture(scope="module")
def selection(api: httpx.Client, matrix: str) -> str:
    ask = {"matrix_id": matrix, "method": "first", "size": 5}
    return str(httpx.Response(200, content=result(api, api.post("/select", json=ask))).json()["selection_id"])


def test_a_reader_reads_an_upload(api: httpx.Client, matrix: str) -> None:
    stored = api.get(f"/matrices/{matrix}/models").json()["items"]
    (model,) = (model for model in stored if model["model"] == "m01")
    assert model["accuracy"] == pytest.approx(sum(j % 3 % 2 for j in range(30)) / 30)


def test_a_method_selects_and_is_measured(api: httpx.Client, matrix: str, selection: str) -> None:
    chosen = api.get(f"/selections/{selection}").json()["examples"]
    assert [example["id"] for example in chosen] == EXAMPLES[:5]
    ask = {"matrix_id": matrix, "methods": ["random", "first"], "sizes": [5], "trials": 5}
    measured = httpx.Response(200, content=result(api, api.post("/mdad", json=ask))).json()
    assert {"random", "first"} <= {line["label"] for line in measured["methods"]}


def test_an_export_is_offered_and_written(api: httpx.Client, selection: str) -> None:
    offered = [export["format"] for export in api.get(f"/selections/{selection}").json()["exports"]]
    assert "numbered" in offered
    text = api.get(f"/selections/{selection}/export", params={"format": "numbered"}).text
    assert text.splitlines() == [f"{at}. e{at - 1:02}" for at in range(1, 6)]


@pytest.mark.usefixtures("selection")
def test_a_metric_counts(api: httpx.Client) -> None:
    found = re.search(r"^tastetest_finished_jobs (\S+)$", api.get("/metrics").text, re.MULTILINE)
    assert found is not None
    assert float(found.group(1)) >= 1


def test_an_endpoint_answers_and_is_documented(api: httpx.Client, matrix: str) -> None:
    assert api.get(f"/matrices/{matrix}/cells").json() == {"cells": len(MODELS) * len(EXAMPLES)}
    assert api.get("/matrices/nothing/cells").status_code == 404
    assert "/matrices/{matrix_id}/cells" in api.get("/openapi.json").json()["paths"]

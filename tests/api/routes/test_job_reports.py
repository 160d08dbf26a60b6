"""Reports over HTTP: pages, figures and tables of real jobs, refused as everything else is."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable
from html import unescape
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from service.report import templates_env
from service.report.figures import NAMES
from service.report.tables import TABLES
from tests.api.test_http import problem
from tests.api.working import Worker

MDAD: dict[str, Any] = {
    "methods": ["random", "stratified"],
    "sizes": [5, 10, 20],
    "trials": 6,
    "holdout": 0.5,
}
FILES = [
    *((f"figures/{name}.svg", "image/svg+xml") for name in NAMES),
    *((f"figures/{name}.png", "image/png") for name in NAMES),
    *((f"tables/{name}.csv", "text/csv") for name in TABLES),
]


OLDER = re.compile(r'href="(/\?[^"]+)">Older matrices')


@pytest.fixture(scope="module")
def matrix(api: httpx.Client) -> str:
    rng = np.random.default_rng(0)
    scores = rng.random((24, 80)) < np.linspace(0.2, 0.9, 24)[:, None]
    document = {
        "models": [f"m{i}" for i in range(24)],
        "examples": [f"e{j}" for j in range(80)],
        "scores": scores.astype(int).tolist(),
        "subtasks": [f"part {j % 2}" for j in range(80)],
    }
    answer = api.post("/matrices", json=document, params={"name": "<b>bold</b>"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.fixture(scope="module")
def submit(api: httpx.Client, matrix: str) -> Callable[..., str]:
    def post(path: str, **body: Any) -> str:
        answer = api.post(path, json={"matrix_id": matrix, **body})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    return post


@pytest.fixture(scope="module")
def finish(db: sa.Engine, settings: Settings) -> Callable[[str], None]:
    """Do a job's work in this thread, as a worker does."""
    return Worker(db, settings).finish


@pytest.fixture(scope="module")
def done(submit: Callable[..., str], finish: Callable[[str], None]) -> str:
    job = submit("/mdad", **MDAD)
    finish(job)
    return f"/jobs/{job}"


def page(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    for name, value in templates_env.PAGE_HEADERS.items():
        assert answer.headers[name] == value
    return answer.text


def test_a_finished_job_shows_its_recommendation_and_the_matrix_by_name(api: httpx.Client, done: str) -> None:
    text = page(api.get(f"{done}/report"))
    result = api.get(f"{done}/result").json()
    assert str(templates_env.clean(result["recommendation"]["sentence"])) in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert f"curl -s -H 'content-type: application/json' {api.base_url}/mdad" in text.replace("&#39;", "'")


def test_the_request_on_the_page_finds_the_same_job(api: httpx.Client, done: str) -> None:
    job = api.get(done).json()
    body = {"matrix_id": job["matrix_id"], "revision": job["revision"], **job["settings"]}
    answer = api.post("/mdad", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.json()["id"] == job["id"]


@pytest.mark.parametrize(("file", "media_type"), FILES)
def test_every_figure_and_table_is_a_file(api: httpx.Client, done: str, file: str, media_type: str) -> None:
    answer = api.get(f"{done}/report/{file}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].split(";")[0] == media_type
    again = api.get(f"{done}/report/{file}", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""


def test_tables_hold_the_results_numbers(api: httpx.Client, done: str) -> None:
    rows = list(csv.DictReader(io.StringIO(api.get(f"{done}/report/tables/mdad.csv").text)))
    result = api.get(f"{done}/result").json()
    assert len(rows) == 2 * 3 * 2
    assert float(rows[0]["agreement"]) == result["methods"][0]["sizes"][0]["same_items"]["agreement"]


def test_figures_come_in_light_and_dark(api: httpx.Client, done: str) -> None:
    light, dark = (
        api.get(f"{done}/report/figures/mdad.svg", params={"theme": theme}) for theme in ("light", "dark")
    )
    assert light.text != dark.text
    assert light.headers["etag"] != dark.headers["etag"]
    refused = api.get(f"{done}/report/figures/mdad.svg", params={"theme": "pink"})
    assert problem(refused, 422, "invalid-request")["errors"][0]["pointer"] == "query/theme"


def test_without_its_library_a_png_is_refused_with_the_svg_named(
    api: httpx.Client, done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    refused = problem(api.get(f"{done}/report/figures/mdad.png"), 404, "not-found")
    assert "tastetest[figures]" in refused["detail"]
    assert ".svg" in refused["detail"]


@pytest.mark.parametrize("file", ["figures/nose.svg", "figures/nose.png", "tables/nose.csv"])
def test_an_unknown_figure_or_table_is_refused_with_those_there_are(
    api: httpx.Client, done: str, file: str
) -> None:
    assert "mdad" in problem(api.get(f"{done}/report/{file}"), 404, "not-found")["detail"]


@pytest.mark.parametrize("file", ["figures/mdad.svg", "figures/mdad.png", "tables/mdad.csv"])
def test_an_unfinished_job_has_a_page_with_its_progress_and_no_files(
    api: httpx.Client, submit: Callable[..., str], file: str
) -> None:
    job = submit("/mdad", **MDAD, seed=7)
    answer = api.get(f"/jobs/{job}/report")
    assert f'data-job="{job}"' in page(answer)
    assert answer.headers["cache-control"] == "no-store"
    problem(api.get(f"/jobs/{job}/report/{file}"), 409, "conflict")


def test_a_selection_has_a_page_and_no_figures(
    api: httpx.Client, submit: Callable[..., str], finish: Callable[[str], None]
) -> None:
    job = submit("/select", method="stratified", size=6)
    finish(job)
    text = page(api.get(f"/jobs/{job}/report"))
    chosen = api.get(f"/jobs/{job}/result").json()
    for example in chosen["examples"]:
        assert f">{example['id']}</bdi>" in text
    assert chosen["selection_id"] in text
    assert "none" in problem(api.get(f"/jobs/{job}/report/figures/mdad.svg"), 404, "not-found")["detail"]
    assert "none" in problem(api.get(f"/jobs/{job}/report/tables/mdad.csv"), 404, "not-found")["detail"]


def test_unknown_jobs_and_matrices_have_no_page(api: httpx.Client) -> None:
    nobody = "0198c0de-7a57-7e57-8000-000000000001"
    problem(api.get(f"/jobs/{nobody}/report"), 404, "not-found")
    problem(api.get(f"/jobs/{nobody}/report/figures/mdad.svg"), 404, "not-found")
    problem(api.get(f"/matrices/{nobody}/page"), 404, "not-found")


def test_a_matrix_has_a_page_that_changes_with_its_revision(api: httpx.Client, matrix: str) -> None:
    first = api.get(f"/matrices/{matrix}/page")
    assert "m23" in page(first)
    known = {"If-None-Match": first.headers["etag"]}
    assert api.get(f"/matrices/{matrix}/page", headers=known).status_code == 304
    examples = {f"e{j}": 1 for j in range(80)}
    row = {"models": ["extra"], "examples": list(examples), "scores": [list(examples.values())]}
    assert api.put(f"/matrices/{matrix}/models/extra", json=row).status_code == 201
    assert "extra" in page(api.get(f"/matrices/{matrix}/page", headers=known))
    assert "extra" not in page(api.get(f"/matrices/{matrix}/page", params={"revision": 1}))


def test_the_home_page_names_what_is_there(api: httpx.Client, matrix: str, done: str) -> None:
    text = page(api.get("/"))
    assert f'href="/matrices/{matrix}/page"' in text
    assert f'href="{done}/report"' in text
    assert 'value="stratified"' in text


def test_the_script_is_served_and_cached(api: httpx.Client) -> None:
    answer = api.get("/static/app.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert api.get("/static/app.js", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    problem(api.get("/static/../settings.py"), 404, "not-found")


def test_older_matrices_are_a_link_away_and_jobs_keep_their_names(
    api: httpx.Client, matrix: str, done: str
) -> None:
    for _ in range(21):
        assert api.post("/matrices", json={"models": ["a"], "examples": ["x"], "scores": [[1]]}).is_success
    first = page(api.get("/"))
    assert f'href="/matrices/{matrix}/page"' not in first
    assert "&lt;b&gt;bold&lt;/b&gt;" in first[first.index('id="jobs"') :]
    (address,) = OLDER.findall(first)
    second = page(api.get(unescape(address)))
    assert f'href="/matrices/{matrix}/page"' in second
    assert f'href="{done}/report"' in second
    assert not OLDER.findall(second)

"""Pages: what they say first, that nothing runs or is fetched, and how heavy they are."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import time
from html.parser import HTMLParser
from typing import Any

import numpy as np
import orjson
import pytest

from service.engine.data.matrix import Matrix
from service.report import templates_env
from service.report.job_page import Run, home_page, job_page
from service.report.matrix_page import matrix_page
from service.store.records import ModelRecord
from tests.report.conftest import HOSTILE, Result, job_of, matrix_of, record_of, result_of, scores_of

BASE = "http://127.0.0.1:8000/"
VOID = {"meta", "link", "input"}


class Outline(HTMLParser):
    """Checks that tags nest; gathers tags, attributes and the text outside style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data


def report(matrix: Matrix, result: Result, name: str = "bench") -> str:
    job = job_of(result["settings"])
    return job_page(job, record_of(matrix, name), orjson.dumps(result), scores_of(matrix), BASE)


def models_of(matrix: Matrix) -> list[ModelRecord]:
    n = len(matrix.examples)
    return [ModelRecord(name, score, n, 0, 1) for name, score in scores_of(matrix).items()]


def assert_inert(page: str) -> None:
    """No script but ours, no style or handler in attributes, no address off the host."""
    for tag, attributes in Outline(page).tags:
        assert tag not in ("iframe", "object", "embed", "img", "base")
        assert not {name for name in attributes if name.startswith("on") or name == "style"}, attributes
        if tag == "script":
            assert attributes == {"src": "/static/app.js"}
        address = attributes.get("src") or attributes.get("href") or "/"
        assert address.startswith(("/", "#", "data:image/svg+xml,")), address


def test_the_report_begins_with_the_recommendation(matrix: Matrix, result: Result) -> None:
    page = report(matrix, result)
    advice = result["recommendation"]
    assert page.index(str(templates_env.clean(advice["sentence"]))) < page.index('id="sizes"')
    seen = Outline(page).text
    for caveat in advice["caveats"]:
        assert caveat in seen
    assert f"{advice['size']} examples" in seen


def test_the_report_says_how_to_repeat_it(matrix: Matrix, result: Result) -> None:
    text = Outline(report(matrix, result)).text
    line = next(line for line in text.splitlines() if line.startswith("curl -s -H"))
    words = shlex.split(line)
    assert words[:5] == ["curl", "-s", "-H", "content-type: application/json", f"{BASE}mdad"]
    said = {key: value for key, value in result["settings"].items() if value is not None}
    assert json.loads(words[6]) == {"matrix_id": "m", "revision": 1, **said}
    assert f"sha256:{hashlib.sha256(orjson.dumps(result)).hexdigest()}" in text
    assert f"sha256:{'ab' * 32}" in text


def test_all_numbers_are_in_the_table(matrix: Matrix, result: Result) -> None:
    seen = Outline(report(matrix, result)).text
    for method in result["methods"]:
        for entry in method["sizes"]:
            low, high = (100 * end for end in entry["new_items"]["interval"])
            assert f"{100 * entry['new_items']['mdad']:.1f} ({low:.1f}–{high:.1f})" in seen


def test_the_table_of_targets_is_in_the_page(matrix: Matrix, minimal: Result) -> None:
    seen = " ".join(Outline(report(matrix, minimal)).text.split())
    assert "How many examples for which difference?" in seen
    for target in minimal["by_target"]:
        assert f"{100 * target['target_mdad']:.2f}" in seen
    assert "in 9 of 10 repetitions" in seen
    assert "resolution: what all examples tell apart on new questions" in seen


def test_a_skipped_method_says_why(matrix: Matrix) -> None:
    settings = {"sizes": [10], "trials": 2, "source_models": 3}
    result = result_of(matrix, methods=["random", "anchor_points"], **settings)
    skipped = result["methods"][1]["skipped"]
    assert f"skipped: {skipped}" in Outline(report(matrix, result)).text


def test_what_cannot_be_said_has_no_heading(matrix: Matrix) -> None:
    skipped = result_of(matrix, methods=["anchor_points"], sizes=[10], trials=2, source_models=3)
    page = report(matrix, skipped)
    assert 'id="sizes"' not in page
    assert "nothing was measured" in Outline(page).text
    alone = report(matrix, result_of(matrix, methods=["random"], sizes=[10], trials=2))
    assert "Random draws as good from" not in alone
    curve = {"methods": ["confidence_strata"], "sizes": [10], "trials": 2, "source_models": [10, 15]}
    learnt = "how many source models it learnt from"
    assert learnt in report(matrix, result_of(matrix, **curve))
    assert learnt not in alone


def test_subtasks_and_groups_get_their_tables(matrix: Matrix) -> None:
    settings = {"methods": ["random"], "sizes": [10, 20], "trials": 2}
    result = result_of(matrix, **settings, by_subtask=True, group=list(matrix.models[:5]))
    seen = Outline(report(matrix, result)).text
    assert "Each subtask on its own" in seen
    assert "part 3" in seen
    assert "5 similar models" in seen


@pytest.mark.parametrize("status", ["queued", "running"])
def test_a_job_under_way_shows_its_progress(matrix: Matrix, status: str) -> None:
    page = job_page(job_of({"trials": 3}, status=status), record_of(matrix), None, {}, BASE)
    assert_inert(page)
    bars = [attributes for tag, attributes in Outline(page).tags if tag == "progress"]
    assert [bar["value"] for bar in bars] == ["0.500"]
    assert "50\u00a0%" in page


def test_a_failed_job_shows_its_problem(matrix: Matrix) -> None:
    error = {"type": "t", "title": "Out of attempts", "status": 500, "detail": "A worker died <thrice>."}
    page = job_page(job_of({}, status="failed", error=error), record_of(matrix), None, {}, BASE)
    assert "A worker died &lt;thrice&gt;." in page
    assert "Out of attempts" in Outline(page).text


def test_a_selection_lists_its_examples(matrix: Matrix) -> None:
    chosen = [{"id": f"<e{at}>", "weight": 0.25, "subtask": f"part {at % 2}"} for at in range(4)]
    known = {"models": 12, "deviation": 0.0312, "effective_size": 57.4, "measured_on": "left out"}
    result = {
        "examples": chosen,
        "estimator": "mean",
        "selection_id": "s",
        "content_hash": "c",
        "stability": 0.6,
        "calibration": known,
    }
    job = job_of({"method": "random", "size": 4}, kind="select")
    page = job_page(job, record_of(matrix), orjson.dumps(result), {}, BASE)
    assert_inert(page)
    seen = Outline(page).text
    assert "4 examples of 240, chosen by random" in seen
    assert "<e3>" in seen
    for told in ("3.1 points", "measured on 12 models", "57 random examples", "60"):
        assert told in seen
    assert '/selections/s/export?format=csv"' in page
    assert "Run only these" not in seen
    runs = [Run("/x", "s.lm_eval.json", "lm_eval --tasks '<b>'", None), Run(None, None, None, "Cannot.")]
    page = job_page(job, record_of(matrix), orjson.dumps(result), {}, BASE, runs)
    assert_inert(page)
    assert "lm_eval --tasks '<b>'" in Outline(page).text
    assert "Cannot." in Outline(page).text


def test_the_home_page_lists_matrices_jobs_and_methods(matrix: Matrix) -> None:
    jobs = [
        job_of({"methods": [1, 2]}, status="running"),
        job_of({"method": "random", "size": 9}, kind="select"),
    ]
    page = home_page([record_of(matrix, "<b>name</b>")], jobs, ["random", "stratified"], BASE)
    assert_inert(page)
    seen = Outline(page).text
    for expected in ("<b>name</b>", "/mdad, 2 methods", "/select 9 by random", "running", "stratified"):
        assert expected in seen
    assert_inert(home_page([], [], ["random"], BASE))


def test_the_matrix_page_shows_scores_intervals_and_doubts() -> None:
    made = matrix_of(30, 200)
    scores = made.scores.copy()
    scores[:, 100] = np.arange(30) < 15  # only the weaker half is right
    scores[3] = scores[4]
    matrix = Matrix.build(made.models, made.examples, scores, subtasks=["<i>all</i>"] * 200)
    page = matrix_page(record_of(matrix, "<u>m</u>"), models_of(matrix), matrix)
    assert_inert(page)
    seen = Outline(page).text
    for expected in (
        "<u>m</u>",
        "e00100",
        "2 models have the same scores",
        "model-003",
        "<i>all</i>",
        "Wilson",
    ):
        assert expected in seen


def test_the_matrix_page_bears_gaps_and_models_without_a_score() -> None:
    missing = np.zeros((3, 20), dtype=bool)
    missing[1] = missing[:, 7] = missing[0, 0] = True
    matrix = Matrix.build(["a", "b", "c"], [f"e{j}" for j in range(20)], np.ones((3, 20)), missing=missing)
    models = [
        ModelRecord("a", 1.0, 18, 2, 1),
        ModelRecord("b", None, 0, 20, 1),
        ModelRecord("c", 1.0, 19, 1, 1),
    ]
    page = matrix_page(record_of(matrix), models, matrix)
    assert_inert(page)
    assert "At least 8 models are needed" in page
    assert "nan" not in Outline(page).text.lower()


def test_hostile_names_neither_run_nor_break(hostile: tuple[Matrix, Result]) -> None:
    matrix, result = hostile
    for name in HOSTILE:
        page = report(matrix, result, name)
        assert_inert(page)
    assert "\u202e" not in page
    assert "{{ 7 * 7 }}" in page
    assert_inert(matrix_page(record_of(matrix, HOSTILE[0]), models_of(matrix), matrix))
    assert_inert(home_page([record_of(matrix, name) for name in HOSTILE], [], ["random"], BASE))


def test_the_policy_allows_our_style_sheet_and_nothing_else(matrix: Matrix, result: Result) -> None:
    styles = re.findall(r"<style>(.*?)</style>", report(matrix, result), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(styles[0].encode()).digest()).decode()
    policy = templates_env.PAGE_HEADERS["Content-Security-Policy"]
    assert len(styles) == 1
    assert f"style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_figure_opened_on_its_own_may_use_its_style(matrix: Matrix, result: Result, theme: Any) -> None:
    from service.report.figures import figures

    svg = str(figures(result, scores_of(matrix))["mdad"].svg(theme))
    style = re.search(r"<style>(.*?)</style>", svg)
    assert style
    text = style.group(1).replace("&#39;", "'").replace("&gt;", ">")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in templates_env.figure_headers(theme)["Content-Security-Policy"]


def test_six_methods_seven_sizes_450_models_are_light_and_quick() -> None:
    sizes = [10, 25, 50, 100, 250, 500, 1000]
    result = result_of(matrix_of(60, 2000), methods=["random"], sizes=sizes, trials=1)
    six = [result["methods"][0] | {"label": f"method {at}"} for at in range(6)]
    matrix = matrix_of(450, 100)
    large = result | {"methods": six}
    report(matrix, large)  # templates are compiled once a process
    started = time.perf_counter()
    page = report(matrix, large)
    assert time.perf_counter() - started < 0.3
    assert len(page.encode()) < 500_000

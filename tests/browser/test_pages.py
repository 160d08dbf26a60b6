"""As a person would: upload, ask, watch, read, download; on a desktop and a phone, in light and dark."""

from __future__ import annotations

import base64
import csv
import io
import json
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.running import finished
from tests.browser.conftest import Open, accessibility_faults, fits
from tests.report.conftest import HOSTILE, matrix_of

# An upload refuses control characters.
# Uploads refuse what cannot be seen, such as overrides of direction.
NAMES = tuple(name for name in (one.replace("\u202e", "") for one in HOSTILE) if name.isprintable())

SCHEMES = [pytest.param(False, False, id="desktop-light"), pytest.param(True, True, id="phone-dark")]

DROP = """([bytes, name]) => {
  const data = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([data], name));
  document.querySelector("#drop").dispatchEvent(
    new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def report(address: str, sample: Path) -> str:
    """The page of a finished job on the sample."""
    with httpx.Client(base_url=address, timeout=60) as client:
        matrix = client.post("/matrices", params={"name": "digits"}, content=sample.read_bytes()).json()
        ask = {"matrix_id": matrix["id"], "methods": ["random", "stratified"], "trials": 10}
        job = finished(client, client.post("/mdad", json=ask))
        assert job["status"] == "succeeded", job
    return f"/jobs/{job['id']}/report"


@pytest.fixture(scope="module")
def hostile(address: str) -> tuple[str, str]:
    """Pages of a matrix and a job whose every name is an attack."""
    matrix = matrix_of(24, 40, names=NAMES)
    document = {
        "models": matrix.models,
        "examples": [f"{NAMES[j % len(NAMES)][:400]} {j}" for j in range(40)],
        "scores": matrix.scores.tolist(),
        "subtasks": [NAMES[j % 5] for j in range(40)],
    }
    with httpx.Client(base_url=address, timeout=60) as client:
        sent = client.post("/matrices", params={"name": HOSTILE[1]}, json=document).raise_for_status().json()
        ask = {"matrix_id": sent["id"], "methods": ["random"], "sizes": [5, 10], "trials": 5}
        job = finished(client, client.post("/mdad", json=ask | {"group": list(NAMES)}))
        assert job["status"] == "succeeded", job
    return f"/matrices/{sent['id']}/page", f"/jobs/{job['id']}/report"


def test_from_a_dropped_file_to_a_report(open_page: Open, sample: Path) -> None:
    page = open_page("/")
    page.evaluate(DROP, [base64.b64encode(sample.read_bytes()).decode(), "my digits.npz"])
    expect(page.locator("#uploaded")).to_contain_text("91 models × 1200 examples")
    form = page.locator("#mdad")
    expect(form.get_by_label("Matrix")).to_contain_text("my digits")
    for method in form.locator("[name=methods]").all()[2:]:
        method.uncheck()
    form.get_by_label("Trials").fill("12")
    form.get_by_role("button", name="Measure").click()
    page.wait_for_url("**/jobs/*/report")
    expect(page.locator("h1.advice")).to_be_visible()
    expect(page.locator("h1.advice")).to_contain_text("examples")
    assert page.locator("svg[role=img]").count() >= 7


def test_a_running_job_shows_what_it_has(open_page: Open, address: str, report: str) -> None:
    with httpx.Client(base_url=address, timeout=60) as client:
        matrix = client.get("/matrices").json()["items"][0]["id"]
        ask = {"matrix_id": matrix, "methods": ["random", "tinybenchmarks"], "trials": 500}
        job = client.post("/mdad", json=ask).raise_for_status().json()["id"]
        page = open_page(f"/jobs/{job}/report")
        expect(page.locator("#partial tbody th").last).to_have_text("tinybenchmarks")
        expect(page.locator("#partial")).to_contain_text("of 500 trials")
        expect(page.get_by_role("status")).to_contain_text("left")
        assert accessibility_faults(page) == []
        page.get_by_role("button", name="Cancel the job").click()
        expect(page.locator("h1")).to_have_text("This job was cancelled")


def test_a_selection_is_chosen_from_the_form(open_page: Open, report: str) -> None:
    page = open_page("/")
    form = page.locator("#select")
    form.get_by_label("Method").select_option("stratified")
    form.get_by_label("Examples").fill("30")
    form.get_by_role("button", name="Choose").click()
    expect(page.locator("h1.advice")).to_contain_text("30 examples of 1,200")
    with page.expect_download() as download:
        page.get_by_role("link", name="Ids, one per line").click()
    assert len(Path(download.value.path()).read_text().split()) == 30


def test_a_refusal_is_shown_where_it_was_asked_for(open_page: Open, report: str) -> None:
    page = open_page("/")
    form = page.locator("#select")
    form.get_by_label("Examples").fill("100000")
    form.get_by_role("button", name="Choose").click()
    expect(form.locator("output")).to_contain_text("1200")
    page.locator("#file").set_input_files({"name": "x.csv", "mimeType": "text/csv", "buffer": b"\x00\x01"})
    expect(page.locator("#uploaded.problem")).to_be_visible()


def test_two_models_are_compared(open_page: Open, report: str) -> None:
    page = open_page("/")
    form = page.locator("#compare")
    expect(form.locator("datalist option").first).to_be_attached()
    form.get_by_label("Baseline").fill("svm-rbf-c10-train597")
    form.get_by_label("Candidate").fill("tree-depth3-train597")
    form.get_by_role("button", name="Compare").click()
    expect(form.locator("output.fail")).to_contain_text(
        "Fail. Every example was answered: the difference is −49."
    )
    expect(form.locator("output")).to_contain_text("on 1200 examples")


@pytest.mark.parametrize(("phone", "dark"), SCHEMES)
def test_the_report_is_read_on_any_screen(open_page: Open, report: str, phone: bool, dark: bool) -> None:
    page = open_page(report, phone=phone, dark=dark)
    assert fits(page)
    assert accessibility_faults(page) == []
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == ("rgb(18, 23, 30)" if dark else "rgb(255, 255, 255)")


@pytest.mark.parametrize(("phone", "dark"), SCHEMES)
def test_the_home_and_matrix_pages_fit_any_screen(
    open_page: Open, report: str, phone: bool, dark: bool
) -> None:
    page = open_page("/", phone=phone, dark=dark)
    assert fits(page)
    assert accessibility_faults(page) == []
    page.locator("#matrices ~ .scroll a").first.click()
    expect(page.get_by_role("heading", name="Difficulty of the examples")).to_be_visible()
    assert fits(page)
    assert accessibility_faults(page) == []


def test_the_theme_is_switched_and_kept(open_page: Open, report: str) -> None:
    page = open_page(report)
    page.get_by_role("button", name="Dark").click()
    assert _paper(page) == "#12171e"
    page.reload()
    assert _paper(page) == "#12171e"
    page.get_by_role("button", name="Light").click()
    assert _paper(page) == "#ffffff"


def test_figures_and_tables_are_downloaded(open_page: Open, report: str, tmp_path: Path) -> None:
    page = open_page(report)
    figure = page.locator("figure").first
    for name in ("SVG", "PNG", "CSV"):
        with page.expect_download() as download:
            figure.get_by_role("link", name=name).click()
        download.value.save_as(tmp_path / name)
    assert (tmp_path / "SVG").read_text().startswith("<svg")
    assert (tmp_path / "PNG").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "CSV").read_text())))
    assert {row["label"] for row in rows} == {"random", "stratified"}


def test_the_keyboard_reaches_everything(open_page: Open, report: str) -> None:
    page = open_page(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    stops = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        stops.add(page.evaluate("document.activeElement.tagName"))
    assert {"A", "BUTTON", "SUMMARY", "DIV"} <= stops


def test_a_running_job_can_be_watched_and_cancelled(open_page: Open, address: str, report: str) -> None:
    with httpx.Client(base_url=address, timeout=60) as client:
        matrix = client.get("/matrices").json()["items"][0]["id"]
        ask = {"matrix_id": matrix, "methods": ["stratified"], "trials": 1000, "seed": 99}
        job = client.post("/mdad", json=ask).json()["id"]
    page = open_page(f"/jobs/{job}/report")
    assert accessibility_faults(page) == []
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.get_by_role("heading", name="This job was cancelled")).to_be_visible()


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_hostile_names_neither_break_nor_run(open_page: Open, hostile: tuple[str, str], phone: bool) -> None:
    for path in (*hostile, "/"):
        page = open_page(path, phone=phone)
        page.on("dialog", lambda dialog: pytest.fail(f"a name ran: {dialog.message}"))
        assert fits(page)
        assert phone or accessibility_faults(page) == []
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 1


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_comparison_has_a_page(
    open_page: Open, address: str, hostile: tuple[str, str], phone: bool
) -> None:
    matrix = hostile[0].split("/")[2]
    ask = {"matrix_id": matrix, "baseline": NAMES[0], "candidates": NAMES[1:4]}
    answer = httpx.post(f"{address}/compare", json=ask, timeout=60).raise_for_status().json()
    page = open_page(answer["page"], phone=phone)
    expect(page.locator("h1")).to_contain_text("drop is shown")
    assert page.locator("svg[role=img]").count() == 3
    assert fits(page)
    assert phone or accessibility_faults(page) == []


def test_the_report_saved_as_a_file_needs_nothing_else(open_page: Open, report: str, address: str) -> None:
    saved = httpx.get(address + report).text
    page = open_page("/livez")
    page.route("**/saved", lambda route: route.fulfill(body=saved, content_type="text/html"))
    page.route("**/static/**", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.goto("/saved")
    assert fits(page)
    assert page.locator("h1.advice").is_visible()


def _paper(page: Page) -> str:
    value: str = json.loads(
        page.evaluate(
            "JSON.stringify(getComputedStyle(document.documentElement).getPropertyValue('--paper'))"
        )
    )
    return value

"""The whole job through the client, on a real service."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import httpx
import pandas as pd
import polars as pl
import pytest
import tastetest_client.errors as e
from rich.console import Console
from tastetest_client import AsyncClient, Client
from tastetest_client.models import MatrixUploaded
from tastetest_client.results import MdadResult, SelectionResult

NEW = "svm-rbf-c1-train597"
BASELINE = "knn-k3-train100"
MDAD: dict[str, Any] = {"methods": ["random"], "sizes": [60, 120], "target_mdad": 0.03, "trials": 10}


@pytest.fixture(scope="module")
def matrix(client: Client, frame: pd.DataFrame) -> MatrixUploaded:
    return client.matrices.upload(frame.drop(NEW), name="digits")


@pytest.fixture(scope="module")
def mdad(client: Client, matrix: MatrixUploaded) -> MdadResult:
    return client.mdad(matrix, **MDAD)


@pytest.fixture(scope="module")
def selection(client: Client, matrix: MatrixUploaded) -> SelectionResult:
    return client.select(matrix, "random", size=100, seed=1)


def test_wide_and_long_frames_of_either_library_are_one_matrix(
    client: Client, frame: pd.DataFrame, matrix: MatrixUploaded
) -> None:
    assert (matrix.name, matrix.models, matrix.examples) == ("digits", 90, 1200)
    wide = frame.drop(NEW)
    long = wide.reset_index().melt("model", var_name="example", value_name="score")
    across = wide.T.rename_axis("example")
    hashes = {client.matrices.upload(one).content_hash for one in (long, pl.from_pandas(long), across)}
    assert hashes == {matrix.content_hash}


def test_a_result_is_what_the_service_says_as_frames(client: Client, address: str, mdad: MdadResult) -> None:
    raw = httpx.get(f"{address}/jobs/{mdad.job_id}/result", timeout=60).json()
    (method,) = raw["methods"]
    expected = [(size["size"], size["same_items"]["mdad"]) for size in method["sizes"]]
    curve = mdad.curve.to_frame("pandas")
    assert list(curve[["size", "mdad"]].itertuples(index=False, name=None)) == expected
    assert (curve["interval_low"] <= curve["mdad"]).all()
    assert mdad.size == raw["recommendation"]["size"]
    assert client.jobs.get(mdad.job_id).status == "succeeded"


def test_a_result_looks_like_something_everywhere(mdad: MdadResult, selection: SelectionResult) -> None:
    for shown, words in ((mdad, mdad.sentence[:40]), (selection, "100 examples chosen by random")):
        screen = io.StringIO()
        Console(file=screen, width=200).print(shown)
        assert words in screen.getvalue()
        assert words in shown._repr_html_()
    assert "<svg" in mdad._repr_html_()
    assert "and 80 more" in selection._repr_html_()


def test_the_recommendation_is_followed(client: Client, mdad: MdadResult) -> None:
    chosen = client.select(mdad, seed=3)
    assert (chosen.size, chosen.method, chosen.matrix) == (mdad.size, "random", mdad.matrix)
    assert client.selections.get(chosen).ids == chosen.ids
    assert client.selections.export(chosen).split() == chosen.ids


def test_examples_and_a_new_models_score_are_frames(
    client: Client, frame: pd.DataFrame, selection: SelectionResult
) -> None:
    examples = selection.examples.to_frame("polars")
    assert examples["id"].to_list() == selection.ids
    assert examples["weight"].sum() == pytest.approx(1)
    answers = frame.loc[NEW, selection.ids]
    (one,) = client.scores(selection, answers.to_dict(), model=NEW).scores
    assert (one.model, one.answered) == (NEW, 100)
    full = frame.loc[NEW].mean()
    assert one.interval[0] <= full <= one.interval[1]
    long = answers.rename_axis("example").rename("score").reset_index()
    again = client.scores(selection, long, model=NEW).scores.to_frame("pandas")
    assert (again.loc[0, "score"], again.loc[0, "interval_low"]) == (one.score, one.interval[0])


def test_models_are_compared_and_comparisons_kept(
    client: Client, frame: pd.DataFrame, matrix: MatrixUploaded, selection: SelectionResult
) -> None:
    answers = frame.loc[NEW, selection.ids].to_dict()
    compared = client.compare(selection, baseline=BASELINE, candidate=answers, estimator="plain")
    (one,) = compared.comparisons
    expected = frame.loc[NEW, selection.ids].mean() - frame.loc[BASELINE, selection.ids].mean()
    assert one.difference == pytest.approx(expected)
    assert compared.verdict == "pass"
    stored = next(client.comparisons.list(limit=1))
    assert client.comparisons.get(stored.id).verdict == "pass"
    assert "<html" in client.comparisons.page(stored.id)
    both = client.compare(matrix, baseline=BASELINE, candidate=["knn-k3-train200", "forest-5-train200"])
    assert [c.candidate for c in both.comparisons] == ["knn-k3-train200", "forest-5-train200"]
    assert client.power(matrix, difference=0.05, sizes=[100]).by_size[0].size == 100


def test_lists_are_iterators_over_all_pages(
    client: Client, matrix: MatrixUploaded, frame: pd.DataFrame
) -> None:
    assert {model.model for model in client.matrices.list_models(matrix)} == set(frame.index) - {NEW}
    by_one = [found.id for found in client.matrices.list(limit=1)]
    assert by_one == [found.id for found in client.matrices.list(limit=100)]
    assert len(by_one) > 1
    assert {cell.example: cell.score for cell in client.matrices.cells(matrix, BASELINE)} == dict(
        frame.loc[BASELINE]
    )


def test_one_more_model_and_the_end_of_a_matrix(client: Client, frame: pd.DataFrame) -> None:
    own = client.matrices.upload(frame[:5])
    name = "team/new model"
    extended = client.matrices.put_model(own, name, frame.loc[NEW].to_dict())
    assert (extended.revision, extended.models) == (2, 6)
    assert client.matrices.describe_model(own, name, family="svm").family == "svm"
    client.matrices.delete(own)
    with pytest.raises(e.NotFound, match=rf"GET /matrices/{own.id}: .*{own.id}"):
        client.matrices.get(own)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"methods": ["rendom"]}, e.InvalidRequest, r"POST /mdad: .*rendom"),
        ({"target": 0.1}, e.InvalidRequest, r"POST /mdad: .*target"),
        ({"sizes": [5000], "methods": ["random"]}, e.TastetestError, "5000"),
    ],
)
def test_a_wrong_request_is_named(
    client: Client, matrix: MatrixUploaded, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        client.mdad(matrix, **options)


def test_waiting_ends_in_time_and_a_cancelled_job_has_no_result(
    client: Client, matrix: MatrixUploaded
) -> None:
    job = client.jobs.submit_mdad(matrix, methods=["optimal_design"], trials=200, seed=9)
    with pytest.raises(e.WaitTimeout, match="goes on"):
        client.jobs.wait(job, timeout=0)
    client.jobs.cancel(job)
    with pytest.raises(e.JobFailed, match="cancelled") as raised:
        client.jobs.wait(job)
    assert raised.value.status == "cancelled"


def test_the_asynchronous_client_does_the_same(
    address: str, mdad: MdadResult, matrix: MatrixUploaded
) -> None:
    async def work() -> tuple[MdadResult, list[str]]:
        async with AsyncClient(address, progress=False) as client:
            result = await client.mdad(matrix.id, **MDAD)
            return result, [job.id async for job in client.jobs.list(kind="mdad", limit=1)]

    result, jobs = asyncio.run(work())
    assert result.model_dump() == mdad.model_dump()
    assert result.job_id == mdad.job_id
    assert mdad.job_id in jobs


def test_a_session_is_answered_until_it_is_decided(
    client: Client, matrix: MatrixUploaded, frame: pd.DataFrame
) -> None:
    question = {"kind": "compare", "baseline": NEW.replace("597", "400")}
    session = client.sessions.create(matrix, question, budget=300, seed=1)
    answered = 0
    while session.status == "open":
        answered += len(session.outstanding)
        session = client.sessions.answer(session, dict.fromkeys(session.outstanding, 0))
    assert (session.status, session.verdict, session.answered) == ("decided", "fail", answered)
    assert answered < 300
    assert client.sessions.get(session.id).verdict == "fail"
    assert next(client.sessions.list(matrix=matrix)).id == session.id
    assert "<html" in client.sessions.page(session)
    other = client.sessions.create(matrix, {"kind": "score", "precision": 0.02})
    assert client.sessions.stop(other).status != "open"
    client.sessions.delete(other)
    with pytest.raises(e.NotFound, match=other.id):
        client.sessions.get(other)


def test_progress_is_shown_on_request(
    client: Client, matrix: MatrixUploaded, capsys: pytest.CaptureFixture[str]
) -> None:
    job = client.jobs.submit_select(matrix, "random", size=7)
    client.jobs.wait(job, progress=True)
    shown = capsys.readouterr()
    assert "select succeeded" in shown.err
    assert shown.out == ""


def test_every_answer_says_the_services_version(address: str) -> None:
    version = httpx.get(f"{address}/openapi.json", timeout=60).json()["info"]["version"]
    for path in ("/livez", "/matrices/none", "/nowhere"):
        assert httpx.get(address + path, timeout=60).headers["tastetest-version"] == version

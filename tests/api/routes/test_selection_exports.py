"""From the logs of a tool to a selection it can run, over HTTP."""

from __future__ import annotations

import io
import json
import tarfile
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.working import Worker

DATE = "2026-01-01T00-00-00.000000"


def log(task: str, scores: list[int | None], version: str = "h", start: int = 0) -> bytes:
    """Records of lm-eval's samples file."""
    records = [
        {"doc_id": start + i, "resps": [], "filter": "none", "metrics": ["acc"], "acc": score}
        | {"doc_hash": f"{version}{task}{start + i}"}
        for i, score in enumerate(scores)
    ]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def archive(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def run(model: str, seed: int, size: int = 12, **more: Any) -> dict[str, bytes]:
    """One model's folder: two tasks."""
    rng = np.random.default_rng(seed)
    return {
        f"{model}/samples_{task}_{DATE}.jsonl": log(task, rng.integers(0, 2, size).tolist(), **more)
        for task in ("algebra", "geometry")
    }


@pytest.fixture(scope="module")
def matrix(api: httpx.Client) -> str:
    files = {name: data for seed in range(6) for name, data in run(f"m{seed}", seed).items()}
    answer = api.post("/matrices", content=archive(files))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.fixture(scope="module")
def selection(api: httpx.Client, db: sa.Engine, settings: Settings, matrix: str) -> dict[str, Any]:
    ask = {"matrix_id": matrix, "method": "random", "size": 7}
    return Worker(db, settings).result(api, "/select", ask)


def refusal(answer: httpx.Response, *needles: str) -> None:
    assert answer.status_code == 422, answer.text
    for needle in needles:
        assert needle in answer.json()["detail"]


def test_a_selection_remembers_what_the_tool_calls_its_examples(
    api: httpx.Client, selection: dict[str, Any]
) -> None:
    path = f"/selections/{selection['selection_id']}"
    ids = [example["id"] for example in selection["examples"]]
    indices = json.loads(api.get(f"{path}/export", params={"format": "lm_eval"}).text)
    assert [f"{task}/{i}" for task, found in indices.items() for i in found] == sorted(
        ids, key=lambda name: (name.split("/")[0], int(name.split("/")[1]))
    )
    told = api.get(f"{path}/export", params={"format": "json"}).json()
    assert [f"{e['task']}/{e['native_id']}" for e in told["examples"]] == ids


def test_the_selection_tells_the_command_that_runs_it(api: httpx.Client, selection: dict[str, Any]) -> None:
    path = f"/selections/{selection['selection_id']}"
    offered = {export["format"]: export for export in api.get(path).json()["exports"]}
    assert list(offered) == ["ids", "csv", "json", "lm_eval"]
    assert offered["lm_eval"]["command"] == (
        f"lm_eval --tasks algebra,geometry --samples {offered['lm_eval']['filename']} "
        "--log_samples --output_path results"
    )
    answer = api.get(offered["lm_eval"]["href"])
    assert f'filename="{offered["lm_eval"]["filename"]}"' in answer.headers["content-disposition"]
    assert answer.headers["link"] == f'<{path}>; rel="describedby"'
    assert [export["command"] for export in offered.values()][:3] == [None] * 3


def test_the_page_of_a_selection_shows_the_command(
    api: httpx.Client, matrix: str, selection: dict[str, Any]
) -> None:
    (job,) = api.get("/jobs", params={"matrix_id": matrix, "kind": "select"}).json()["items"]
    page = api.get(f"/jobs/{job['id']}/report")
    assert "Run only these" in page.text
    assert "lm_eval --tasks algebra,geometry --samples" in page.text
    tag = {"If-None-Match": page.headers["etag"]}
    assert api.get(f"/jobs/{job['id']}/report", headers=tag).status_code == 304


def test_other_tools_are_refused_with_the_reason(api: httpx.Client, selection: dict[str, Any]) -> None:
    path = f"/selections/{selection['selection_id']}/export"
    refusal(api.get(path, params={"format": "inspect"}), "run by lm_eval, not by inspect")
    refusal(api.get(path, params={"format": "helm"}), "HELM cannot run chosen instances")


def test_a_matrix_without_logs_learns_its_ids_from_one(
    api: httpx.Client, db: sa.Engine, settings: Settings
) -> None:
    names = [f"{task}/{i}" for task in ("algebra", "geometry") for i in range(12)]
    scores = np.random.default_rng(5).integers(0, 2, (4, 24)).tolist()
    table = {"models": ["a", "b", "c", "d"], "examples": names, "scores": scores}
    found = api.post("/matrices", json=table).json()["id"]
    ask = {"matrix_id": found, "method": "random", "size": 5}
    path = f"/selections/{Worker(db, settings).result(api, '/select', ask)['selection_id']}"
    before = api.get(path)
    refusal(api.get(f"{path}/export", params={"format": "lm_eval"}), "upload its samples_*.jsonl unchanged")
    assert [export["format"] for export in before.json()["exports"]] == ["ids", "csv", "json"]
    put = api.put(f"/matrices/{found}/models/new", content=archive(run("new", 9)))
    assert put.status_code == 201, put.text
    after = api.get(path, headers={"If-None-Match": before.headers["etag"]})
    assert after.json()["exports"][-1]["command"].startswith("lm_eval --tasks ")
    assert after.json()["content_hash"] == before.json()["content_hash"]


def test_answers_to_other_questions_under_the_same_ids_are_noticed(
    api: httpx.Client, matrix: str, selection: dict[str, Any]
) -> None:
    other = archive(run("late", 7, version="new"))
    refusal(
        api.put(f"/matrices/{matrix}/models/late", content=other), "24 of 24 examples have another content"
    )
    kept = api.put(f"/matrices/{matrix}/models/late", content=other, params={"unmatched": "keep"})
    assert kept.status_code == 201
    scores = api.post(f"/selections/{selection['selection_id']}/scores", content=other)
    assert any("24 examples have another content" in warning for warning in scores.json()["warnings"])


def test_answers_numbered_in_another_order_are_matched_by_their_content(
    api: httpx.Client, selection: dict[str, Any]
) -> None:
    matrix = selection["matrix"]["id"]
    straight = run("same", 11)
    permuted = {name: _renumbered(data) for name, data in run("permuted", 11).items()}
    assert api.put(f"/matrices/{matrix}/models/same", content=archive(straight)).status_code == 201
    put = api.put(f"/matrices/{matrix}/models/permuted", content=archive(permuted))
    assert put.status_code == 201, put.text
    assert any("matched by their content" in warning for warning in put.json()["warnings"])
    one, other = (api.get(f"/matrices/{matrix}/models/{name}").json() for name in ("same", "permuted"))
    assert one["items"] == other["items"]
    path = f"/selections/{selection['selection_id']}/scores"
    first, second = (api.post(path, content=archive(files)).json() for files in (straight, permuted))
    assert first["scores"][0]["score"] == second["scores"][0]["score"]
    assert any("matched by their content" in warning for warning in second["warnings"])


def _renumbered(log: bytes) -> bytes:
    """The same records with the document ids of their neighbours."""
    records = [json.loads(line) for line in log.splitlines()]
    ids = [record["doc_id"] for record in records]
    for record, doc_id in zip(records, ids[1:] + ids[:1], strict=True):
        record["doc_id"] = doc_id
    return b"\n".join(json.dumps(record).encode() for record in records)


def test_a_model_of_another_version_is_refused_with_both_counts(api: httpx.Client, matrix: str) -> None:
    answer = api.put(f"/matrices/{matrix}/models/m9", content=archive(run("m9", 9, start=3)))
    refusal(
        answer,
        "6 of the 24 examples in the upload are not in the matrix",
        "6 of the 24 examples in the matrix are not in the upload",
    )


def test_an_upload_is_answered_model_by_model(api: httpx.Client) -> None:
    def sample(name: int, epoch: int, value: object, **more: object) -> dict[str, object]:
        return {"id": name, "epoch": epoch, "scores": {"s": {"value": value}}, **more}

    samples = [sample(1, 1, "C"), sample(1, 2, "I"), sample(2, 1, "C"), sample(2, 2, "C")]
    samples += [{**sample(3, e, None), "scores": {}, "error": {"message": "boom"}} for e in (1, 2)]
    samples += [sample(4, e, "N") for e in (1, 2)]
    metrics = {"accuracy": {"value": 0.9}}
    document = {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m", "dataset": {"sample_ids": [1, 2, 3, 4, 5]}},
        "results": {"scores": [{"name": "s", "metrics": metrics}]},
        "samples": samples,
    }
    answer = api.post("/matrices", content=json.dumps(document)).json()
    counts = {"scored": 2, "errored": 1, "unscored": 1, "not_run": 1, "answers": 4}
    (report,) = answer["reports"]
    assert report == {"model": "m", **counts, "mean": 0.75, "bounds": [0.3, 0.9], "reported": 0.9}
    assert any("but the log reports 0.9000" in warning for warning in answer["warnings"])
    (listed,) = api.get(f"/matrices/{answer['id']}/models").json()["items"]
    assert listed == listed | counts | {"accuracy": 0.75, "missing": 3, "reported": 0.9}
    first = api.get(f"/matrices/{answer['id']}/models/m", params={"limit": 3}).json()
    last = api.get(f"/matrices/{answer['id']}/models/m", params={"cursor": first["next_cursor"]}).json()
    assert last["next_cursor"] is None
    assert [tuple(cell.values()) for cell in first["items"] + last["items"]] == [
        ("t/1", 0.5, "scored", 2),
        ("t/2", 1.0, "scored", 2),
        ("t/3", None, "errored", 0),
        ("t/4", None, "unscored", 0),
        ("t/5", None, "not_run", 0),
    ]


def test_what_one_model_lacks_is_told_when_it_joins(api: httpx.Client, matrix: str) -> None:
    name, data = next(iter(run("part", 3, size=9).items()))
    answer = api.put(f"/matrices/{matrix}/models/part", content=archive({name: data})).json()
    (report,) = answer["reports"]
    assert (report["scored"], report["not_run"], report["answers"]) == (9, 15, 9)
    assert any("no results on 15 of the matrix's 24 examples" in warning for warning in answer["warnings"])

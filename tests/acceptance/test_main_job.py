"""The main job, as a caller does it, on the bundled sample and on GPQA."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import httpx
import pytest

from tests.acceptance.running import finished, result, serving

SMALL = {"methods": ["random", "stratified"], "sizes": [10, 25], "trials": 20}


@pytest.fixture(scope="module")
def digits(client: httpx.Client) -> str:
    sample = Path(__file__).parents[2] / "service" / "sample" / "digits.npz"
    answer = client.post("/matrices", params={"name": "digits"}, content=sample.read_bytes())
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.fixture(scope="module")
def gpqa(client: httpx.Client, shared: Path) -> str:
    content = (shared / "data" / "gpqa" / "correctness.csv.gz").read_bytes()
    answer = client.post(
        "/matrices", params={"name": "gpqa", "orientation": "models_as_rows"}, content=content
    )
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert (body["models"], body["examples"], body["binary"]) == (420, 448, True)
    return str(body["id"])


def test_gpqa_has_the_published_mean_accuracy(client: httpx.Client, gpqa: str) -> None:
    accuracies = [model["accuracy"] for model in pages(client, f"/matrices/{gpqa}/models")]
    assert len(accuracies) == 420
    assert sum(accuracies) / 420 == pytest.approx(0.29077, abs=5e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_on_gpqa_matches_the_paper(client: httpx.Client, gpqa: str, shared: Path, seed: int) -> None:
    sizes = [10, 25, 50, 100, 200]
    request = {"matrix_id": gpqa, "methods": ["random"], "sizes": sizes, "trials": 50, "seed": seed}
    request |= {"target_models": 50, "holdout": 0.5, "paper_compat": True}
    rows = json.loads(result(client, client.post("/mdad", json=request)))["methods"][0]["sizes"]
    published = paper(shared)
    for row, size in zip(rows, sizes, strict=True):
        for split, judged in (("seen", row["same_items"]), ("unseen", row["new_items"])):
            agreement, low, high = published[split, size]
            assert judged["agreement_strict"] == pytest.approx(agreement, abs=0.02), (split, size)
            assert low - 0.01 <= judged["mdad_paper"] <= high + 0.01, (split, size)


def paper(shared: Path) -> dict[tuple[str, int], tuple[float, float, float]]:
    """(split, size) → published agreement and MDAD interval, or the MDAD itself where it is wider apart."""

    def rows(name: str) -> list[dict[str, str]]:
        with (shared / "data" / "paper" / name).open() as file:
            return [
                row
                for row in csv.DictReader(file)
                if (row["benchmark"], row["method"], row["source_models"])
                == ("gpqa", "Random (uniform)", "300")
            ]

    agreement = {int(row["size"]): row for row in rows("agreement.csv")}
    published = {}
    for row in rows("mdad.csv"):
        size, split = int(row["size"]), row["split"]
        published[split, size] = (
            float(agreement[size][f"agreement_{split}"]),
            float(row["ci_low"]),
            float(row["ci_high"]),
        )
    return published


def test_the_same_request_finds_the_same_job(client: httpx.Client, digits: str) -> None:
    request = {"matrix_id": digits, **SMALL}
    first = finished(client, client.post("/mdad", json=request))
    second = client.post("/mdad", json=request)
    assert second.json()["id"] == first["id"]
    assert result(client, second) == result(client, client.post("/mdad", json=request))


def test_a_selection_can_be_exported(client: httpx.Client, digits: str) -> None:
    request = {"matrix_id": digits, "method": "stratified", "size": 20, "seed": 3}
    chosen = json.loads(result(client, client.post("/select", json=request)))
    ids = [example["id"] for example in chosen["examples"]]
    assert len(set(ids)) == 20
    assert sum(example["weight"] for example in chosen["examples"]) == pytest.approx(1)
    exported = client.get(f"/selections/{chosen['selection_id']}/export", params={"format": "csv"})
    assert [row["id"] for row in csv.DictReader(io.StringIO(exported.text))] == ids


def test_three_workers_give_the_bytes_of_one(
    client: httpx.Client, digits: str, tmp_path: Path, sample: Path
) -> None:
    request = {**SMALL, "trials": 30, "seed": 5}
    one = json.loads(result(client, client.post("/mdad", json={"matrix_id": digits, **request})))
    with (
        serving("--workers", "3", "--data-dir", str(tmp_path)) as other,
        httpx.Client(base_url=other.address) as http,
    ):
        matrix = http.post("/matrices", params={"name": "digits"}, content=sample.read_bytes()).json()
        three = json.loads(result(http, http.post("/mdad", json={"matrix_id": matrix["id"], **request})))
    assert one["matrix"].pop("content_hash") == three["matrix"].pop("content_hash")
    # Only the matrix's own id may differ between two services.
    assert one["matrix"].pop("id") != three["matrix"].pop("id")
    assert json.dumps(one) == json.dumps(three)


def pages(client: httpx.Client, path: str) -> list[dict[str, object]]:
    items, cursor = [], None
    while True:
        page = client.get(path, params={"cursor": cursor} if cursor else {}).raise_for_status().json()
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items

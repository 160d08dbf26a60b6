"""The main job, as a caller does it, on the bundled sample and on GPQA."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from pathlib import Path

import httpx
import pytest

from tests.acceptance.running import finished, result, serving
from tests.acceptance.test_paper_random import SIZES, TRUTHS, published, rows_by_cell

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
    request = {"matrix_id": gpqa, "methods": ["random"], "sizes": list(SIZES), "trials": 50, "seed": seed}
    request |= {"target_models": 50, "holdout": 0.5, "paper_compat": True}
    rows = json.loads(result(client, client.post("/mdad", json=request)))["methods"][0]["sizes"]
    # Random sampling looks at no source models, so the rows for 10 … 300 of them repeat one experiment.
    agreement = rows_by_cell(shared, "agreement", "agreement_")
    low, high = (rows_by_split(shared, bound) for bound in ("ci_low", "ci_high"))
    for row in rows:
        for truth in TRUTHS.values():
            cell = (truth, row["size"])
            found = row[truth]
            assert min(agreement[cell]) - 0.02 <= found["agreement_strict"] <= max(agreement[cell]) + 0.02, (
                cell
            )
            assert min(low[cell]) - 0.0101 <= found["mdad_paper"] <= max(high[cell]) + 0.0101, cell


def rows_by_split(shared: Path, column: str) -> dict[tuple[str, int], list[float]]:
    """A column of the published MDADs of random sampling, by truth and size."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in published(shared, "mdad"):
        found[TRUTHS[row["split"]], int(row["size"])].append(float(row[column]))
    return found


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
        httpx.Client(base_url=other.address, timeout=60) as http,
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

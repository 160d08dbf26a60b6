"""Verdicts over HTTP: on the full benchmark, on a selection, from answers in the body or kept ones."""

from __future__ import annotations

import gzip
import time
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from service.engine.comparison import Design, GateRule, compare
from tests.api.test_http import problem
from tests.api.working import Worker

N = 200


def scores(models: int = 30, examples: int = N) -> np.ndarray:
    rng = np.random.default_rng(1)
    ability, difficulty = np.linspace(-1.5, 2, models), rng.normal(size=examples)
    chance = 1 / (1 + np.exp(difficulty[None] - ability[:, None]))
    return (rng.random((models, examples)) < chance).astype(int)


MODELS = [f"m{i:02}" for i in range(30)]
EXAMPLES = [f"e{j:03}" for j in range(N)]


@pytest.fixture(scope="module")
def matrix(api: httpx.Client) -> str:
    subtasks = ["even" if j % 2 == 0 else "odd" for j in range(N)]
    body = {"models": MODELS, "examples": EXAMPLES, "scores": scores().tolist(), "subtasks": subtasks}
    answer = api.post("/matrices", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.fixture(scope="module")
def worker(db: sa.Engine, settings: Settings) -> Worker:
    return Worker(db, settings)


@pytest.fixture(
    scope="module", params=["random", "stratified", "anchor_points", "optimal_design", "random+blp"]
)
def selection(request: Any, api: httpx.Client, matrix: str, worker: Worker) -> dict[str, Any]:
    method, _, estimator = request.param.partition("+")
    body = {"matrix_id": matrix, "method": method, "size": 40, "source_models": MODELS[:15]}
    body |= {"estimator": estimator} if estimator else {}
    return worker.result(api, "/select", body)


def asked(api: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = api.post("/compare", json=body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_two_models_of_the_matrix_on_the_full_benchmark(api: httpx.Client, matrix: str) -> None:
    told = asked(api, {"matrix_id": matrix, "baseline": "m20", "candidate": "m05", "margin": 0.01})
    (one,) = told["comparisons"]
    table = scores()
    expected = compare(table[20].astype(float), table[5].astype(float), Design.random(N, N), GateRule(0.01))
    assert (told["verdict"], one["verdict"], one["baseline"]) == ("fail", "fail", "m20")
    assert one["difference"] == pytest.approx(table[5].mean() - table[20].mean())
    assert (one["b"], one["c"]) == (expected.b, expected.c)
    assert one["interval"] == pytest.approx(expected.interval)
    assert one["mcnemar"]["mid_p"] == pytest.approx(expected.mcnemar.mid_p)
    assert one["flips"]["lost"] == [EXAMPLES[j] for j in np.flatnonzero(table[20] > table[5])]
    assert one["equivalence"]["equivalent"] is False
    assert told["ranking"] is None


def test_answers_in_the_body_are_matched_by_id_whatever_the_order(api: httpx.Client, matrix: str) -> None:
    table = scores()
    answers = {EXAMPLES[j]: int(table[7, j]) for j in reversed(range(N))}
    named = asked(api, {"matrix_id": matrix, "baseline": "m12", "candidate": "m07"})
    sent = asked(
        api, {"matrix_id": matrix, "baseline": "m12", "candidate": {"name": "m07", "answers": answers}}
    )
    assert sent == named


def test_the_same_answers_as_the_baseline_are_inconclusive_not_equal(api: httpx.Client, matrix: str) -> None:
    (one,) = asked(api, {"matrix_id": matrix, "baseline": "m12", "candidate": "m12"})["comparisons"]
    assert (one["verdict"], one["b"], one["c"]) == ("inconclusive", 0, 0)
    assert one["mcnemar"] == {"exact": 1, "mid_p": 1}
    assert "not shown to be equal" in " ".join(one["warnings"])


def test_a_selection_compares_on_its_examples_only(
    api: httpx.Client, matrix: str, selection: dict[str, Any]
) -> None:
    body = {"selection_id": selection["selection_id"], "baseline": "m29", "candidate": "m00"}
    (one,) = asked(api, body)["comparisons"]
    assert (one["n_asked"], one["n_benchmark"], one["verdict"]) == (40, N, "fail")
    assert set(one["flips"]["lost"]) <= {example["id"] for example in selection["examples"]}
    assert one["interval_method"] == ("score" if is_sample(selection) else "model")


def test_many_candidates_hold_together_and_are_ranked(api: httpx.Client, matrix: str) -> None:
    body = {"matrix_id": matrix, "baseline": "m15", "candidates": ["m02", "m15", "m29"]}
    told = asked(api, body)
    assert [c["verdict"] for c in told["comparisons"]] == ["fail", "inconclusive", "pass"]
    assert told["verdict"] == "fail"
    assert told["confidence_each"] == pytest.approx(0.95 ** (1 / 3))
    assert [place["model"] for place in told["ranking"]["models"]] == ["m29", "m15", "m15", "m02"]


def test_repeated_runs_and_clusters(api: httpx.Client, matrix: str) -> None:
    runs = {name: [1, 1, 0] if j % 3 else [0, 0, 0] for j, name in enumerate(EXAMPLES)}
    body = {
        "matrix_id": matrix,
        "baseline": "m10",
        "candidate": {"answers": runs},
        "clusters": {name: f"passage {j // 4}" for j, name in enumerate(EXAMPLES)},
    }
    (one,) = asked(api, body)["comparisons"]
    assert one["repeats"]["candidate"]["runs"] == 3
    assert one["clusters"]["count"] == N // 4
    assert one["candidate"] == "candidate"


def test_an_example_without_a_cluster_is_named(api: httpx.Client, matrix: str) -> None:
    clusters = dict.fromkeys(EXAMPLES[1:], "one")
    body = {"matrix_id": matrix, "baseline": "m10", "candidate": "m11", "clusters": clusters}
    (error,) = problem(api.post("/compare", json=body), 422, "invalid-request")["errors"]
    assert (error["pointer"], "'e000'" in error["message"]) == ("/clusters", True)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"candidate": "nobody"}, "/candidate"),
        ({"baseline": "nobody"}, "/baseline"),
        ({"candidate": {"answers": {"e000": 1, "x1": 1}}}, "/candidate/answers"),
        ({"candidate": {"answers": {"e000": 1.5}}}, "/candidate/answers/e000"),
        ({"candidate": {"answers": {}}}, "/candidate/answers"),
        ({"candidate": 3}, "/candidate"),
        ({"candidate": None}, ""),
        ({"selection_id": "x"}, ""),
        ({"margin": -0.1}, "/margin"),
        ({"confidence": 1}, "/confidence"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused(
    api: httpx.Client, matrix: str, change: dict[str, Any], pointer: str
) -> None:
    body = {"matrix_id": matrix, "baseline": "m10", "candidate": "m11", **change}
    (error,) = problem(api.post("/compare", json=body), 422, "invalid-request")["errors"]
    assert error["pointer"] == pointer


def test_models_without_a_common_example_cannot_be_compared(api: httpx.Client, matrix: str) -> None:
    sides = [{"answers": {name: 1}} for name in EXAMPLES[:2]]
    body = {"matrix_id": matrix, "baseline": sides[0], "candidate": sides[1]}
    (error,) = problem(api.post("/compare", json=body), 422, "invalid-request")["errors"]
    assert error["pointer"] == "/candidate"
    assert "None of the" in error["message"]
    assert "'baseline' and 'candidate'" in error["message"]
    many = {"matrix_id": matrix, "baseline": "m10", "candidates": sides}
    (error,) = problem(api.post("/compare", json=many), 422, "invalid-request")["errors"]
    assert error["pointer"] == "/candidates/1"
    assert "'candidate 1' and 'candidate 2'" in error["message"]


def is_sample(selection: dict[str, Any]) -> bool:
    return selection["method"] in ("random", "stratified") and selection["estimator"] != "blp"


def csv_of(rows: dict[str, np.ndarray], examples: list[str]) -> bytes:
    lines = [",".join(["model", *examples])]
    lines += [",".join([model, *(str(int(value)) for value in row)]) for model, row in rows.items()]
    return "\n".join(lines).encode()


def test_scores_are_estimated_with_interval_rank_and_neighbours(
    api: httpx.Client, matrix: str, selection: dict[str, Any]
) -> None:
    table, chosen = scores(), [example["id"] for example in selection["examples"]]
    at = [EXAMPLES.index(name) for name in chosen]
    rows = {"again": table[20, at], "top": np.ones(40)}
    path = f"/selections/{selection['selection_id']}/scores"
    params = {"orientation": "models_as_rows"}
    answer = api.post(path, params=params, content=csv_of(rows, chosen))
    assert answer.status_code == 200, answer.text
    again, top = answer.json()["scores"]
    weights = [example["weight"] for example in selection["examples"]]
    expected, tolerance = (
        (table[20, at] @ np.array(weights), 1e-9) if is_sample(selection) else (table[20].mean(), 0.2)
    )
    assert again["score"] == pytest.approx(expected, abs=tolerance)
    low, high = again["interval"]
    assert low < again["score"] < high
    assert again["rank_interval"][0] <= again["rank"] <= again["rank_interval"][1]
    within = [m for m, score in zip(MODELS, table.mean(axis=1), strict=True) if low <= score <= high]
    assert again["indistinguishable"] == within
    assert again["basis"] == ("design" if is_sample(selection) else "model")
    assert top["score"] > 0.7
    assert top["rank_interval"][0] == 1
    assert top["interval"][0] < top["score"] <= top["interval"][1]
    assert top["interval"][1] == pytest.approx(1) or not is_sample(selection)


def test_answers_outside_the_selection_are_set_aside_and_missing_ones_counted(
    api: httpx.Client, selection: dict[str, Any]
) -> None:
    chosen = {example["id"] for example in selection["examples"]}
    sent = sorted(chosen)[:30] + [name for name in EXAMPLES if name not in chosen][:10]
    path = f"/selections/{selection['selection_id']}/scores"
    params = {"orientation": "models_as_rows"}
    told = api.post(path, params=params, content=csv_of({"new": np.ones(40)}, sent)).json()
    assert "10 examples outside" in " ".join(told["warnings"])
    (score,) = told["scores"]
    assert (score["answered"], score["asked"], score["coverage"]) == (30, 40, 0.75)
    assert score["rank"] is None
    unknown = api.post(path, params=params, content=csv_of({"new": np.ones(1)}, ["x1"]))
    assert "x1" in problem(unknown, 422, "invalid-upload")["detail"]


def test_kept_answers_are_known_by_name(api: httpx.Client, selection: dict[str, Any]) -> None:
    chosen = [example["id"] for example in selection["examples"]]
    path = f"/selections/{selection['selection_id']}/scores"
    params = {"orientation": "models_as_rows", "keep": "true"}
    answer = api.post(path, params=params, content=csv_of({"nightly": np.ones(40)}, chosen))
    assert answer.status_code == 200, answer.text
    sent = answer.json()
    assert sent["kept"] is True
    assert api.get(path).json()["scores"] == sent["scores"]
    body = {"selection_id": selection["selection_id"], "baseline": "m00", "candidate": "nightly"}
    (one,) = asked(api, body)["comparisons"]
    assert (one["candidate"], one["verdict"], one["n_common"]) == ("nightly", "pass", 40)
    assert not any("of these names" in text for text in sent["warnings"])
    again = api.post(path, params=params, content=csv_of({"m07": np.ones(40)}, chosen)).json()
    assert any("'m07'" in text and "`/compare`" in text for text in again["warnings"])
    api.post(path, params=params, content=csv_of({"nightly": np.zeros(40)}, chosen))
    assert asked(api, body)["comparisons"][0]["verdict"] != "pass"


def test_scores_are_answered_at_once(api: httpx.Client, worker: Worker) -> None:
    """500 known models × 1,000 examples: 50 ms on an idle machine; here a loose bound."""
    table, examples = scores(500, 1000), [f"e{j:04}" for j in range(1000)]
    rows = {f"m{i:03}": row for i, row in enumerate(table)}
    params = {"orientation": "models_as_rows"}
    uploaded = api.post("/matrices", params=params, content=gzip.compress(csv_of(rows, examples)))
    assert uploaded.status_code == 201, uploaded.text
    body = {"matrix_id": uploaded.json()["id"], "method": "random", "size": 100}
    selection = worker.result(api, "/select", body)
    path = f"/selections/{selection['selection_id']}/scores"
    content = csv_of({"new": np.ones(100)}, [example["id"] for example in selection["examples"]])
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        assert api.post(path, params=params, content=content).status_code == 200
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 0.25, seconds


def test_drift_says_how_newer_models_fare(api: httpx.Client, worker: Worker) -> None:
    table = scores()
    body = {"models": MODELS, "examples": EXAMPLES, "scores": table.tolist()}
    matrix = api.post("/matrices", json=body).json()["id"]
    ask = {"matrix_id": matrix, "method": "anchor_points", "size": 20}
    path = f"/selections/{worker.result(api, '/select', ask)['selection_id']}/drift"
    assert api.get(path).json()["new_models"] == 0
    rng = np.random.default_rng(5)
    for i in range(6):
        row = {
            "models": [f"new{i}"],
            "examples": EXAMPLES,
            "scores": [rng.permutation(table[5 * i]).tolist()],
        }
        assert api.put(f"/matrices/{matrix}/models/new{i}", json=row).status_code == 201
    told = api.get(path).json()
    assert (told["new_models"], told["revision_then"], told["revision_now"]) == (6, 1, 7)
    assert told["pairs"] > 6 * 25
    assert told["deviation_now"] > 0
    assert told["agreement_interval"][0] <= told["agreement"] <= told["agreement_interval"][1]
    assert "6 new models" in told["sentence"]
    selection = told["selection_id"]
    assert asked(api, {"selection_id": selection, "baseline": "m03", "candidate": "m04"})["drift"] == told
    sent = {"models": ["x"], "examples": EXAMPLES, "scores": [table[3].tolist()]}
    assert api.post(f"/selections/{selection}/scores", json=sent).json()["drift"] == told
    joined = {"selection_id": selection, "baseline": "m00", "candidate": "new0"}
    (one,) = asked(api, joined)["comparisons"]
    row = dict(zip(EXAMPLES, np.random.default_rng(5).permutation(table[0]).tolist(), strict=True))
    (other,) = asked(api, {**joined, "candidate": {"name": "new0", "answers": row}})["comparisons"]
    assert one == other
    assert asked(api, {"matrix_id": matrix, "baseline": "m03", "candidate": "m04"})["drift"] is None


def test_power_from_a_disagreement(api: httpx.Client) -> None:
    body = {"disagreement": 0.3, "difference": 0.02, "sizes": [1000, 100]}
    told = api.post("/power", json=body).json()
    rule_of_thumb = 0.71 * 0.3 / 0.02**2
    assert told["examples_to_order"] == pytest.approx(rule_of_thumb, rel=0.1)
    assert [size["size"] for size in told["by_size"]] == [100, 1000]
    assert told["by_size"][0]["mdad"] > told["by_size"][1]["mdad"]
    assert told["group"] is None


def test_power_from_a_matrix_a_measurement_and_a_threshold(
    api: httpx.Client, matrix: str, worker: Worker
) -> None:
    ask = {"matrix_id": matrix, "methods": ["random", "stratified"], "trials": 10, "sizes": [10, 50]}
    job = api.post("/mdad", json=ask).json()
    early = {"matrix_id": matrix, "difference": 0.1, "job_id": job["id"]}
    problem(api.post("/power", json=early), 409, "conflict")
    worker.finish(job["id"])
    gate = {"threshold": 0.7, "n": 198, "score": 0.74, "runs": [0.71, 0.75, 0.69, 0.74]}
    body = {**early, "models": MODELS[10:20], "threshold": gate}
    answer = api.post("/power", json=body)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["group"]["pairs"], told["benchmark"]) == (45, N)
    assert {line["method"] for line in told["measured"]} == {"random", "stratified"}
    assert [size["size"] for size in told["measured"][0]["by_size"]] == [10, 50]
    assert told["history"]["failed"] == 1
    larger = api.post("/power", json={**early, "benchmark": 5000, "sizes": [3000]}).json()
    assert (larger["benchmark"], larger["group"]["pairs"]) == (5000, len(MODELS) * (len(MODELS) - 1) // 2)
    for whole in ({}, {"benchmark": 198}):
        ask = {"disagreement": 0.3, "difference": 0.1, "threshold": gate, **whole}
        found = api.post("/power", json=ask).json()["threshold"]
        assert found["false_fail"] == pytest.approx(0.098, abs=0.001)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"difference": 0.1}, ""),
        ({"difference": 0.1, "disagreement": 0.3, "matrix_id": "x"}, ""),
        ({"difference": 0.4, "disagreement": 0.3}, "/difference"),
        ({"difference": 0, "disagreement": 0.3}, "/difference"),
        ({"difference": 1e-300, "disagreement": 0.3}, "/difference"),
        ({"difference": 0.1, "disagreement": 0.3, "sizes": [0]}, "/sizes/0"),
    ],
)
def test_a_power_question_without_an_answer_is_refused(
    api: httpx.Client, body: dict[str, Any], pointer: str
) -> None:
    (error,) = problem(api.post("/power", json=body), 422, "invalid-request")["errors"]
    assert error["pointer"] == pointer


def test_power_names_the_model_it_does_not_know_and_asks_for_two(api: httpx.Client, matrix: str) -> None:
    body = {"matrix_id": matrix, "difference": 0.1, "models": ["m10", "nobody"]}
    (error,) = problem(api.post("/power", json=body), 422, "invalid-request")["errors"]
    assert error["pointer"] == "/models/1"
    body = {**body, "models": ["m10", "m10"]}
    (error,) = problem(api.post("/power", json=body), 422, "invalid-request")["errors"]
    assert (error["pointer"], "two different models" in error["message"]) == ("/models", True)


@pytest.mark.parametrize("method", ["random", "anchor_points"])
def test_answers_sent_with_confidences_are_estimated_by_them_and_compared_by_scores(
    api: httpx.Client, worker: Worker, method: str
) -> None:
    table = scores()
    confident = 0.1 + 0.8 * table
    body = {"models": MODELS, "examples": EXAMPLES, "scores": table.tolist()}
    matrix = api.post("/matrices", json={**body, "confidences": confident.tolist()}).json()["id"]
    ask = {"matrix_id": matrix, "method": method, "size": 30, "scored_by": "confidences"}
    selection = worker.result(api, "/select", {**ask, "source_models": MODELS[:20]})
    chosen = [example["id"] for example in selection["examples"]]
    at = [EXAMPLES.index(name) for name in chosen]
    sent = {"models": ["again"], "examples": chosen, "scores": table[[5]][:, at].tolist()}
    sent["confidences"] = confident[[5]][:, at].tolist()
    path = f"/selections/{selection['selection_id']}/scores"
    told = api.post(path, params={"keep": "true"}, json=sent).json()
    (score,) = told["scores"]
    assert score["basis"] == "model"
    assert score["interval"][0] < table[5].mean() < score["interval"][1]
    assert any("for `/compare`, are the scores" in text for text in told["warnings"])
    compared = {"selection_id": selection["selection_id"], "baseline": "m05", "candidate": "again"}
    (one,) = asked(api, compared)["comparisons"]
    assert (one["difference"], one["b"], one["c"]) == (0, 0, 0)
    assert one["mcnemar"] is not None


def test_a_full_run_is_taken_where_a_policy_dropped_examples(api: httpx.Client, worker: Worker) -> None:
    table: list[list[int | None]] = scores().tolist()
    table[3][:20] = [None] * 20
    body = {"models": MODELS, "examples": EXAMPLES, "scores": table}
    matrix = api.post("/matrices", json=body).json()["id"]
    ask = {"matrix_id": matrix, "method": "random", "size": 30, "missing": "drop_examples"}
    selection = worker.result(api, "/select", ask)["selection_id"]
    run = {"models": ["new"], "examples": EXAMPLES, "scores": scores()[[9]].tolist()}
    told = api.post(f"/selections/{selection}/scores", json=run)
    assert told.status_code == 200, told.text
    assert (told.json()["scores"][0]["answered"], told.json()["scores"][0]["asked"]) == (30, 30)
    answers = dict(zip(EXAMPLES, scores()[9].tolist(), strict=True))
    compared = {"selection_id": selection, "baseline": "m09", "candidate": {"answers": answers}}
    assert asked(api, compared)["comparisons"][0]["difference"] == 0


def test_a_policy_that_leaves_no_model_is_refused(api: httpx.Client) -> None:
    body = {"models": ["a", "b"], "examples": ["x", "y"], "scores": [[1, None], [None, 1]]}
    matrix = api.post("/matrices", json=body).json()["id"]
    for policy, left in (("drop_models", "no models"), ("drop_examples", "no examples")):
        ask = {"matrix_id": matrix, "method": "random", "size": 1, "missing": policy}
        (error,) = problem(api.post("/select", json=ask), 422, "invalid-request")["errors"]
        assert (error["pointer"], left in error["message"]) == ("/missing", True)

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
    expected = compare(
        table[20].astype(float), table[5].astype(float), Design.random(N, N), GateRule(0.01, 0.9)
    )
    assert (told["verdict"], one["verdict"], one["baseline"]) == ("fail", "fail", "m20")
    assert one["difference"] == pytest.approx(table[5].mean() - table[20].mean())
    assert (one["b"], one["c"]) == (expected.b, expected.c)
    assert one["interval"] == [one["difference"]] * 2
    assert (one["preset"], one["truth"], one["estimator"]) == ("regression", "full_benchmark", "plain")
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


def test_the_same_answers_as_the_baseline_pass_and_are_not_called_equal(
    api: httpx.Client, matrix: str
) -> None:
    body = {"matrix_id": matrix, "baseline": "m12", "candidate": "m12", "truth": "population"}
    (one,) = asked(api, body)["comparisons"]
    assert (one["verdict"], one["b"], one["c"]) == ("pass", 0, 0)
    assert "would have been found in 80 % of cases" in one["reason"]
    assert one["mcnemar"] == {"exact": 1, "mid_p": 1}
    assert "not shown to be equal" in " ".join(one["warnings"])


def test_a_selection_compares_on_its_examples_only(
    api: httpx.Client, matrix: str, selection: dict[str, Any]
) -> None:
    body = {"selection_id": selection["selection_id"], "baseline": "m29", "candidate": "m00"}
    (one,) = asked(api, body)["comparisons"]
    assert (one["n_asked"], one["n_benchmark"], one["verdict"]) == (40, N, "fail")
    assert set(one["flips"]["lost"]) <= {example["id"] for example in selection["examples"]}
    sampled = selection["method"] in ("random", "stratified")
    assert one["interval_method"] == ("assisted" if sampled else "model")
    assert one["estimator"] == ("assisted" if sampled else "predicted")
    assert one["baseline_score"] == pytest.approx(scores()[29].mean())


def test_an_unchanged_model_does_not_differ_from_itself_on_a_selection(
    api: httpx.Client, selection: dict[str, Any]
) -> None:
    body = {"selection_id": selection["selection_id"], "baseline": "m20", "candidate": "m20"}
    (one,) = asked(api, body)["comparisons"]
    assert (one["verdict"], one["difference"]) == ("pass", pytest.approx(0, abs=1e-9))
    (one,) = asked(api, {**body, "preset": "non_inferiority", "margin": 0.1})["comparisons"]
    assert one["verdict"] == "pass"


def test_plain_is_what_the_paired_answers_alone_say(api: httpx.Client, selection: dict[str, Any]) -> None:
    body = {"selection_id": selection["selection_id"], "baseline": "m29", "candidate": "m00"}
    body |= {"estimator": "plain"}
    if selection["method"] not in ("random", "stratified"):
        (error,) = problem(api.post("/compare", json=body), 422, "invalid-request")["errors"]
        assert (error["pointer"], error["code"]) == ("/estimator", "no_sample")
        return
    (one,) = asked(api, body)["comparisons"]
    assert (one["estimator"], one["interval_method"]) == ("plain", "score")
    assisted = asked(api, {**body, "estimator": "auto"})["comparisons"][0]
    assert assisted["effective_size"] > one["effective_size"] > 30


def test_many_candidates_hold_together_and_are_ranked(api: httpx.Client, matrix: str) -> None:
    body = {"matrix_id": matrix, "baseline": "m15", "candidates": ["m02", "m15", "m29"]}
    told = asked(api, body)
    assert [c["verdict"] for c in told["comparisons"]] == ["fail", "pass", "pass"]
    assert told["verdict"] == "fail"
    assert told["confidence_each"] == pytest.approx(0.9 ** (1 / 3))
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
    params = {"orientation": "models_as_rows", "estimator": "plain"}
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
    assert (one["difference"], one["b"], one["c"]) == (pytest.approx(0, abs=1e-9), 0, 0)
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
    assert asked(api, compared)["comparisons"][0]["difference"] == pytest.approx(0, abs=1e-9)


def test_a_policy_that_leaves_no_model_is_refused(api: httpx.Client) -> None:
    body = {"models": ["a", "b"], "examples": ["x", "y"], "scores": [[1, None], [None, 1]]}
    matrix = api.post("/matrices", json=body).json()["id"]
    for policy, left in (("drop_models", "no models"), ("drop_examples", "no examples")):
        ask = {"matrix_id": matrix, "method": "random", "size": 1, "missing": policy}
        (error,) = problem(api.post("/select", json=ask), 422, "invalid-request")["errors"]
        assert (error["pointer"], left in error["message"]) == ("/missing", True)


def test_a_samples_score_is_corrected_by_what_the_sources_say_of_the_other_examples(
    api: httpx.Client, matrix: str, selection: dict[str, Any]
) -> None:
    if not is_sample(selection):
        pytest.skip("not a sample")
    chosen = [example["id"] for example in selection["examples"]]
    at = [EXAMPLES.index(name) for name in chosen]
    sent = csv_of({"like": scores()[14, at]}, chosen)
    path = f"/selections/{selection['selection_id']}/scores?orientation=models_as_rows&confidence=0.999"
    (helped,) = api.post(path, content=sent).json()["scores"]
    (plain,) = api.post(f"{path}&estimator=plain", content=sent).json()["scores"]
    assert (helped["estimator"], plain["estimator"]) == ("assisted", "plain")
    assert (helped["basis"], plain["basis"]) == ("design", "design")
    assert helped["effective_size"] > plain["effective_size"] > 30
    assert helped["interval"][0] < scores()[14].mean() < helped["interval"][1]


SUBTASKS = ["common"] * 180 + ["legal"] * 20


def small(api: httpx.Client, subtasks: list[str] | None = None) -> str:
    """Two hundred examples, 20 models of which `base` is right on half and on all that is legal."""
    table = scores(20)
    base = np.r_[np.arange(180) % 2, np.ones(20, dtype=int)]
    body = {
        "models": [*MODELS[:20], "base"],
        "examples": EXAMPLES,
        "scores": [*table.tolist(), base.tolist()],
    }
    body |= {} if subtasks is None else {"subtasks": subtasks}
    return str(api.post("/matrices", json=body).json()["id"])


def test_a_passing_average_does_not_hide_a_failing_subtask(api: httpx.Client) -> None:
    """Case 6: +30 on the common examples, 20 of 20 lost on the legal ones."""
    matrix = small(api, SUBTASKS)
    right = np.r_[np.arange(180) % 2, np.zeros(20, dtype=int)]
    right[np.flatnonzero(right[:180] == 0)[:30]] = 1
    body = {"matrix_id": matrix, "baseline": "base", "margin": 0.02, "truth": "population"}
    body |= {"candidate": {"answers": dict(zip(EXAMPLES, right.tolist(), strict=True))}}
    (one,) = asked(api, body)["comparisons"]
    legal = next(part for part in one["subtasks"] if part["subtask"] == "legal")
    assert (one["verdict"], legal["difference"], legal["dropped"]) == ("pass", pytest.approx(-1), True)
    assert "'legal'" in " ".join(one["warnings"])
    (gated,) = asked(api, {**body, "subtask_margin": 0.1})["comparisons"]
    assert gated["verdict"] == "fail"
    assert "'legal'" in gated["reason"]


def test_missing_answers_do_not_help(api: httpx.Client) -> None:
    """Case 7: the candidate leaves out the 100 answers it would get wrong."""
    matrix = small(api)
    answers = {
        name: 1 for name, right in zip(EXAMPLES, np.r_[np.arange(180) % 2, np.ones(20)], strict=True) if right
    }
    body = {"matrix_id": matrix, "baseline": "base", "candidate": {"answers": answers}, "margin": 0.05}
    told = asked(api, body)
    (one,) = told["comparisons"]
    assert (told["verdict"], one["coverage"]) == ("inconclusive", 0.55)
    assert one["bounds"] == [pytest.approx(0), pytest.approx(0.45)]
    assert "Only 55.0 %" in one["reason"]
    (one,) = asked(api, {**body, "least_coverage": 0.5})["comparisons"]
    assert one["verdict"] == "pass"


def test_of_models_that_answered_different_examples_the_better_is_first(api: httpx.Client) -> None:
    """Case 5: .75 of all against .9 of the 45 easy ones, where the first has 1.0."""
    examples = EXAMPLES[:50]
    whole = {name: int(at < 38) for at, name in enumerate(examples)}
    easy = {name: int(at < 31 or at >= 38) for at, name in enumerate(examples[:45])}
    body = {"models": MODELS[:20], "examples": examples, "scores": scores(20)[:, :50].tolist()}
    matrix = api.post("/matrices", json=body).json()["id"]
    body = {"matrix_id": matrix, "baseline": {"name": "A", "answers": whole}}
    body |= {"candidates": [{"name": "B", "answers": easy}], "least_coverage": 0.5}
    ranking = asked(api, body)["ranking"]
    a, b = (next(one for one in ranking["models"] if one["model"] == name) for name in "AB")
    assert sum(easy.values()) / 45 > sum(whole.values()) / 50
    assert a["score"] - b["score"] == pytest.approx((38 - 38) / 45, abs=1e-9)


def test_new_runs_are_judged_with_the_noise_of_both(api: httpx.Client, selection: dict[str, Any]) -> None:
    """Case 9: a sum of the noise of the candidate's answers and of the baseline's mean."""
    body = {"selection_id": selection["selection_id"], "baseline": "m20", "candidate": "m10"}
    (these,) = asked(api, body)["comparisons"]
    (error,) = problem(api.post("/compare", json={**body, "truth": "runs"}), 422, "invalid-request")["errors"]
    assert (error["pointer"], error["code"]) == ("/truth", "run_variance_unknown")
    (new,) = asked(api, {**body, "truth": "runs", "run_variance": 0.1})["comparisons"]
    added = new["standard_error"] ** 2 - these["standard_error"] ** 2
    assert added > 0.1 / 40 * 0.4 + 0.1 / N
    assert new["run_variance"] == {"baseline": 0.1, "candidate": 0.1, "known_from": "stated"}
    (none,) = asked(api, {**body, "truth": "runs", "run_variance": 0.0})["comparisons"]
    assert none["interval"] == these["interval"]


@pytest.mark.parametrize(
    ("preset", "verdicts"),
    [
        ("regression", ["fail", "pass", "pass"]),
        ("non_inferiority", ["fail", "inconclusive", "pass"]),
        ("improvement", ["fail", "inconclusive", "pass"]),
    ],
)
def test_each_preset_has_its_outcomes(
    api: httpx.Client, matrix: str, preset: str, verdicts: list[str]
) -> None:
    body = {"matrix_id": matrix, "baseline": "m15", "candidates": ["m02", "m15", "m29"], "margin": 0.0}
    told = asked(api, {**body, "truth": "population", "preset": preset})
    assert [one["verdict"] for one in told["comparisons"]] == verdicts
    gate = told["comparisons"][1]["gate"]
    assert gate["by_drop"][0]["fail"] == gate["false_alarm_rate"] < 0.05
    assert gate["by_drop"][3]["fail"] > gate["by_drop"][2]["fail"] > gate["by_drop"][1]["fail"]


@pytest.mark.parametrize(
    ("change", "pointer"), [({"margin": 1.5}, "/margin"), ({"subtask_margin": -0.1}, "/subtask_margin")]
)
def test_margins_beyond_the_scores_range_are_refused(
    api: httpx.Client, matrix: str, change: dict[str, float], pointer: str
) -> None:
    body = {"matrix_id": matrix, "baseline": "m10", "candidate": "m11", **change}
    (error,) = problem(api.post("/compare", json=body), 422, "invalid-request")["errors"]
    assert error["pointer"] == pointer


def test_power_plans_the_default_gate_for_a_pull_request_check(api: httpx.Client, matrix: str) -> None:
    body = {"matrix_id": matrix, "difference": 0.1, "purpose": "pull_request_check", "sizes": [25, 50, 100]}
    answer = api.post("/power", json=body)
    assert answer.status_code == 200, answer.text
    plan = answer.json()["pull_request_check"]
    assert (plan["preset"], plan["confidence"], plan["drop"]) == ("regression", 0.9, 0.1)
    drops = [at["smallest_detectable_drop"] for at in plan["by_size"]]
    assert drops == sorted(drops, reverse=True)
    assert 25 < plan["size"] < N
    assert all(at["false_fail_rate"] == pytest.approx(0.05) for at in plan["by_size"])
    by_hand = api.post("/power", json={**body, "difference": drops[1]}).json()["pull_request_check"]["size"]
    assert by_hand == pytest.approx(50, abs=2)
    refused = api.post("/power", json={**body, "margin": 0.2})
    assert problem(refused, 422, "invalid-request")["errors"]

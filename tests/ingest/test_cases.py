"""Part B of the acceptance cases: missing, errored, duplicated and misaligned items."""

from __future__ import annotations

import json

import numpy as np
import pytest

from service.core.errors import InvalidUpload
from service.engine.comparison import Design, GateRule, KnownScores, compare, estimate_scores, rank
from service.engine.data.errors import Undefined
from service.engine.data.matrix import Matrix
from service.ingest import Upload, align, aligned_to
from tests.ingest.helpers import lines, load, load_all, refused, refused_all, report, warned

SAMPLES = "m/samples_gsm8k_2025-01-01T00-00-00.0.jsonl"


def inspect_log(samples: list[dict[str, object]], **more: object) -> str:
    header = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
    return json.dumps({**header, "samples": samples, **more})


def errored(name: int) -> dict[str, object]:
    return {"id": name, "epoch": 1, "scores": {}, "error": {"message": "boom"}}


def scored(name: int, value: object) -> dict[str, object]:
    return {"id": name, "epoch": 1, "scores": {"s": {"value": value}}}


def test_b1_errors_are_shown_beside_the_score_with_bounds() -> None:
    text = inspect_log([scored(i, int(i < 80)) for i in range(90)] + [errored(i) for i in range(90, 100)])
    r = report(load(text))
    assert (r.scored, r.errored, r.missing) == (90, 10, 10)
    assert r.mean == pytest.approx(80 / 90)
    assert r.bounds == (pytest.approx(0.8), pytest.approx(0.9))
    zero = report(load(text, missing="zero"))
    assert (zero.mean, zero.bounds[0]) == (pytest.approx(0.8), pytest.approx(0.8))


def test_b3_errored_abstained_and_absent_are_three_states_and_scores_have_a_range() -> None:
    samples = [scored(1, 1), errored(2), scored(3, None), scored(4, float("nan"))]
    dataset = {"dataset": {"sample_ids": [1, 2, 3, 4, 5]}, "task": "t", "model": "m"}
    r = report(load(inspect_log(samples, eval=dataset)))
    assert (r.scored, r.errored, r.unscored, r.not_run) == (1, 1, 2, 1)
    refused(inspect_log([scored(1, 1.2)]), "score 1.2")
    refused(inspect_log([scored(1, "inf")]), "score inf")


def test_b4_what_a_log_counts_reconciles_with_what_it_holds() -> None:
    results = {"total_samples": 2, "scores": [{"name": "s", "metrics": {"accuracy": {"value": 1.0}}}]}
    upload = load(inspect_log([scored(1, 1), {**scored(2, 0), "error": {"message": "x"}}], results=results))
    assert report(upload).mean == 0.5
    assert warned(upload, "the mean of the answers is 0.5000, but the log reports 1.0000")


def test_b5_one_good_answer_among_nine_errors_leads_no_ranking() -> None:
    good = load(inspect_log([scored(0, 5)] + [errored(i) for i in range(1, 10)]), scale="1..5")
    steady = load(inspect_log([scored(i, 3) for i in range(10)]), scale="1..5")
    r = report(good)
    assert (r.mean, r.scored, r.errored, r.bounds) == (1.0, 1, 9, (0.1, 1.0))
    rows = np.vstack([np.where(good.matrix.missing, np.nan, good.matrix.scores), steady.matrix.scores])
    known = KnownScores(np.array([0.5]), rows[1:], np.ones(1, dtype=bool))
    first, second = estimate_scores(rows, Design.random(10, 100), known)
    assert (first.rank, first.coverage, second.rank) == (None, 0.1, 1)
    assert first.interval[0] < 0.5 < first.interval[1]
    assert [place.rank_interval for place in rank(rows, Design.random(10, 100)).models] == [(1, 2)] * 2


def test_b6_what_a_partial_upload_lacks_is_named_and_counted() -> None:
    examples = tuple(sorted(f"HumanEval/{i}" for i in range(164)))
    part = Matrix.build(["m"], examples[:19], np.ones((1, 19)))
    assert align(part, examples).missing_cells == 145
    (text,) = aligned_to(Upload(part, "csv", None, (), ()), examples).warnings
    assert text.startswith("the upload has no results on 145 of the matrix's 164 examples: 'HumanEval/")
    assert "and 140 more" in text


def test_b7_ids_on_the_wrong_documents_are_found_by_their_hashes() -> None:
    def log(model: str, pairs: list[tuple[int, int]]) -> tuple[str, str]:
        records = [{"doc_id": i, "resps": [], "doc_hash": f"h{doc}", "acc": 1} for i, doc in pairs]
        return f"{model}/samples_t_2025-01-01T00-00-00.0.jsonl", lines(records)

    files = dict([log("a", [(2, 2), (5, 5), (9, 9)]), log("b", [(5, 2), (2, 5), (9, 9)])])
    assert warned(load_all(files), "2 examples of model 'b' are numbered in another order")
    files |= dict([log("b", [(5, 2), (2, 6), (9, 9)])])
    refused_all(files, "2 of the 3 examples of model 'b' differ in content", "'t/5', 't/2'")


def test_b8_two_filters_are_a_choice_and_different_scores_an_error() -> None:
    records = [
        {
            "doc_id": i,
            "resps": [],
            "filter": f,
            "metrics": ["exact_match"],
            "exact_match": int(f == "flexible"),
        }
        for f in ("strict", "flexible")
        for i in range(1319)
    ]
    refused_all({SAMPLES: lines(records)}, "several filters: 'strict', 'flexible'")
    upload = load_all({SAMPLES: lines(records)}, filter="flexible")
    assert (report(upload).scored, report(upload).mean) == (1319, 1)
    wrong = [*records[:2], {**records[0], "exact_match": 1}]
    refused_all(
        {SAMPLES: lines(wrong)}, "'gsm8k/0' twice, with different scores", "line 1", "line 3", filter="strict"
    )


def test_b9_duplicate_ids_name_both_positions() -> None:
    refused(inspect_log([scored(1, 1), scored(1, 0)]), "sample 1", "sample 2", "'t/1' twice")
    refused("model,dup,dup\nm,1,0\n", "column 2 and column 3")


def test_b10_the_same_question_under_two_ids_is_told() -> None:
    records = [{"doc_id": i, "resps": [], "doc_hash": f"h{i % 5}", "acc": 1} for i in range(8)]
    assert warned(
        load_all({SAMPLES: lines(records)}), "same content as another example, under a different id: 3 of 8"
    )


def test_b11_b12_missing_stays_missing_unless_the_caller_says_otherwise() -> None:
    text = "model,q1,q2\na,1,\nb,,0\n"
    assert load(text).matrix.missing_cells == 2
    assert [r.mean for r in load(text).models] == [1, 0]
    assert [r.mean for r in load(text, missing="zero").models] == [0.5, 0]
    with pytest.raises(InvalidUpload, match="2 cells without a score"):
        load(text, missing="reject")


def test_b13_models_without_a_common_example_are_no_tie() -> None:
    one, other = np.array([1, np.nan, 1, np.nan]), np.array([np.nan, 0, np.nan, 1])
    with pytest.raises(Undefined, match="none of the 4 examples was answered by both"):
        compare(one, other, Design.random(4, 4), GateRule())
    with pytest.raises(Undefined, match="no example in common"):
        rank(np.array([one, other, np.ones(4)]), Design.random(4, 4))


def test_b15_order_never_matters() -> None:
    rng = np.random.default_rng(0)
    rows = [(f"m{i}", f"q{j}", int(rng.integers(2))) for i in range(9) for j in range(20)]
    shuffled = [rows[k] for k in rng.permutation(len(rows))]

    def table(cells: list[tuple[str, str, int]]) -> str:
        return "model,example,score\n" + "".join(f"{m},{e},{s}\n" for m, e, s in cells)

    first, second = load(table(rows)).matrix, load(table(shuffled)).matrix
    assert (first.models, first.examples) == (second.models, second.examples)
    assert first.scores.tobytes() == second.scores.tobytes()


def test_b16_an_example_without_its_group_is_an_error_that_names_it() -> None:
    refused("model,example,score,subtask\na,q1,1,x\na,q2,0,\n", "row 3: the subtask has no name")
    document = {"models": ["a"], "examples": ["q1", "q2"], "scores": [[1, 0]], "subtasks": ["x", None]}
    refused(json.dumps(document), "/subtasks/1")


def test_b17_both_scores_of_a_comparison_are_over_the_examples_they_share() -> None:
    one = np.repeat([1.0, 0.0], [300, 107])
    other = np.roll(one, 50)
    one[405:] = np.nan
    found = compare(one, other, Design.random(407, 407), GateRule())
    assert (found.n_common, found.n_asked) == (405, 407)
    scores = found.baseline_score, found.candidate_score
    assert scores == pytest.approx((one[:405].mean(), other[:405].mean()))

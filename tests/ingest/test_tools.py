"""The other tools' logs: HELM, lighteval, OpenAI evals, EvalPlus, SWE-bench and more, with their traps."""

from __future__ import annotations

import io
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.ingest.helpers import cells, lines, load, load_all, refused, refused_all, report, warned


def parquet(columns: dict[str, object]) -> bytes:
    pq.write_table(pa.table(columns), out := io.BytesIO())
    return out.getvalue()


def stat(name: str, value: float, count: int = 1, split: str = "test", **more: object) -> dict[str, object]:
    return {"name": {"name": name, "split": split, **more}, "count": count, "sum": value * count}


def instance(name: str, *stats: dict[str, object], trial: int = 0, **more: object) -> dict[str, object]:
    return {"instance_id": name, "train_trial_index": trial, "stats": list(stats), **more}


RUN = "mmlu:subject=law,model=org_m"
SPEC = json.dumps({"name": RUN, "adapter_spec": {"model": "org/m", "method": "x"}, "metric_specs": []})


def helm(*records: dict[str, object], **files: str) -> dict[str, str]:
    beside = {f"run/{name}.json": text for name, text in files.items()}
    return {"run/per_instance_stats.json": json.dumps(records), "run/run_spec.json": SPEC, **beside}


def test_helm_sums_over_counts_and_several_records_of_one_instance() -> None:
    upload = load_all(
        helm(
            instance("id1", stat("num_references", 4)),
            instance("id1", stat("exact_match", 1)),
            instance("id2", stat("exact_match", 0.5, count=2), stat("training_co2_cost", 0, count=0)),
            instance("id3", stat("exact_match", 0, count=0)),
        )
    )
    assert upload.matrix.examples == tuple(f"mmlu:subject=law/id{i}" for i in (1, 2, 3))
    assert cells(upload)["org/m", "mmlu:subject=law/id2"] == 0.5
    assert report(upload).unscored == 1


def test_helm_perturbations_are_examples_and_trials_repeats() -> None:
    dialect = {"name": "dialect", "prob": 1.0}
    upload = load_all(
        helm(
            instance("id1", stat("exact_match", 1)),
            instance("id1", stat("exact_match", 0), trial=1),
            instance("id1", stat("exact_match", 0, perturbation=dialect), perturbation=dialect),
        )
    )
    assert list(cells(upload).values()) == [0.5, 0]
    assert upload.matrix.examples[1].startswith("mmlu:subject=law/id1~dialect")
    twice = [instance("id1", stat("exact_match", 1)), instance("id1", stat("exact_match", 0))]
    refused_all(helm(*twice), "answers example 'mmlu:subject=law/id1' twice")


def test_helm_reported_mean_and_metric_choice() -> None:
    stats = json.dumps([stat("exact_match", 0.5), stat("quasi_exact_match", 1)])
    records = [instance("id1", stat("exact_match", 1), stat("quasi_exact_match", 1))]
    refused_all(helm(*records), "several metrics: 'exact_match', 'quasi_exact_match'", "leaderboards use")
    upload = load_all(helm(*records, stats=stats), metric="exact_match")
    assert (report(upload).mean, report(upload).reported) == (1, 0.5)
    assert warned(upload, "the mean of the answers is 1.0000, but the log reports 0.5000")


def test_helm_confidences_where_every_choice_was_scored() -> None:
    def request(index: int, logprob: float, mode: str = "original") -> dict[str, object]:
        references = [{"tags": []}, {"tags": ["correct"]}]
        return {
            "instance": {"id": "id1", "references": references},
            "reference_index": index,
            "request_mode": mode,
            "train_trial_index": 0,
            "result": {"completions": [{"logprob": logprob}]},
        }

    state = {
        "adapter_spec": {"method": "multiple_choice_separate_calibrated"},
        "request_states": [
            request(0, -2.0),
            request(1, -3.0),
            request(0, -1.0, "calibration"),
            request(1, -3.0, "calibration"),
        ],
    }
    upload = load_all(helm(instance("id1", stat("exact_match", 1)), scenario_state=json.dumps(state)))
    assert upload.matrix.confidences is not None
    assert upload.matrix.confidences[0, 0] == pytest.approx(1 / (1 + math.exp(-1)))


def test_helm_folder_as_it_is() -> None:
    beside = {
        "scenario": json.dumps({"name": "mmlu", "description": "x", "definition_path": "p", "tags": []}),
        "instances": json.dumps([{"input": {"text": "q"}, "references": [], "split": "test", "id": "id1"}]),
        "display_predictions": json.dumps(
            [
                {
                    "instance_id": "id1",
                    "predicted_text": "x",
                    "train_trial_index": 0,
                    "stats": {"exact_match": 1},
                }
            ]
        ),
    }
    upload = load_all(helm(instance("id1", stat("exact_match", 1)), **beside))
    assert report(upload).mean == 1
    assert warned(upload, "ignored because the format is not recognised: 'run/instances.json'")


def test_helm_without_a_run_name_or_model() -> None:
    record = json.dumps([instance("id1", stat("exact_match", 1))])
    refused(record, "has no name", model="m")
    folder = "mmlu-subject=law,model=org_m"
    upload = load_all({f"{folder}/per_instance_stats.json": record})
    assert (upload.matrix.models, upload.matrix.examples) == (("org_m",), ("mmlu:subject=law/id1",))


OLD = {
    "full_prompt": ["p0", "p1"],
    "example": ["e0", "e1"],
    "gold_index": [[0], [1]],
    "predictions": [[-1.0, -2.0], [-1.0, -1.0]],
}


def test_lighteval_layouts_give_the_same() -> None:
    nested = parquet({**OLD, "metrics": [{"acc": 1}, {"acc": None}]})
    flat = parquet({**OLD, "metrics.acc": [1, None]})
    bare = parquet({**OLD, "acc": [1.0, None]})
    text = {k: [repr(v) if k not in ("full_prompt", "example") else v for v in vs] for k, vs in OLD.items()}
    cast = parquet({**text, "metrics": ["{'acc': 1}", "{'acc': nan}"]})
    for data in (nested, flat, bare, cast):
        upload = load_all({"details/org/m/2025/details_arc|25_2025-01-01T00-00-00.0.parquet": data})
        assert cells(upload) == {("org/m", "arc|25/0"): 1, ("org/m", "arc|25/1"): None}
        assert upload.matrix.confidences is not None
        assert upload.matrix.confidences[0, 0] == pytest.approx(1 / (1 + math.exp(-1)))


def test_lighteval_leaderboard_folders_and_hostile_texts() -> None:
    data = parquet({**OLD, "metrics": [{"acc": 1}, {"acc": 0}]})
    upload = load_all({"details_org__m/harness_arc_25/latest.parquet": data})
    assert upload.matrix.models == ("org/m",)
    assert upload.matrix.examples[0] == "harness_arc_25/0"
    for text in ("__import__('os')", "(" * 5000, "1+", "{'acc': 1}" * 200_000):
        broken = parquet({"full_prompt": ["p"], "metrics": [text]})
        refused(broken, "is not a Python value", model="m")


def test_openai_evals() -> None:
    events = [
        {"spec": {"completion_fns": ["gpt-4"], "eval_name": "test-match.s1"}},
        {"final_report": {"accuracy": 0.5}},
        {"event_id": 1, "sample_id": "s.2", "type": "sampling", "data": {}},
        {"event_id": 2, "sample_id": "s.2", "type": "match", "data": {"correct": True}},
        {"event_id": 3, "sample_id": "s.1", "type": "match", "data": {"correct": False}},
        {"event_id": 4, "sample_id": "s.3", "type": "sampling", "data": {}},
        {"event_id": 5, "sample_id": "s.4", "type": "error", "data": {}},
    ]
    upload = load(lines(events))
    r = report(upload)
    assert (r.model, r.scored, r.unscored, r.errored, r.mean, r.reported) == ("gpt-4", 2, 1, 1, 0.5, 0.5)
    assert upload.matrix.examples[0] == "test-match.s1/s.1"
    assert warned(load(lines([events[0], *events[2:]])), "no final report")
    refused(lines([*events, events[3]]), "twice", "line 4", "line 8")


def test_openai_evals_graded() -> None:
    events = [
        {"spec": {"completion_fns": ["m"], "eval_name": "e"}},
        {"sample_id": "1", "type": "metrics", "data": {"choice": "A", "score": 1.0, "accuracy": None}},
        {"sample_id": "2", "type": "metrics", "data": {"choice": "B", "score": None, "accuracy": 1}},
    ]
    refused(lines(events), "several metrics: 'score', 'accuracy'")
    assert report(load(lines(events), metric="score")).unscored == 1


def test_evalplus_layouts() -> None:
    new = {
        "date": "d",
        "hash": "h",
        "eval": {"T/0": [{"task_id": "T/0", "base_status": "pass", "plus_status": "fail"}]},
    }
    old = {
        "date": "d",
        "hash": "h",
        "eval": {"T/0": {"nfiles": 1, "base": [["pass", []]], "plus": [["fail", []]]}},
    }
    base = {"date": "d", "hash": "h", "eval": {"T/0": [{"base_status": "pass", "plus_status": None}]}}
    code = {"date": "d", "eval": {"T/0": [{"status": "timeout"}]}}
    for document, metric, mean in (
        (new, "plus", 0),
        (new, "base", 1),
        (old, "plus", 0),
        (base, "base", 1),
        (code, "base", 0),
    ):
        upload = load(json.dumps(document), "org--m_temp_0.0_eval_results.json", metric=metric)
        assert (report(upload).model, report(upload).mean) == ("org/m_temp_0.0", mean)
    assert report(load(json.dumps(base), "m_eval_results.json")).mean == 1
    other = json.dumps({**new, "hash": "h2"})
    files = {"a/x_eval_results.json": json.dumps(new), "b/y_eval_results.json": other}
    refused_all(files, "differ in content")


def test_swe_bench_lists() -> None:
    document = {"resolved": ["a", "a"], "generated": ["a", "b"], "no_generation": ["c"], "applied": ["a"]}
    upload = load_all({"20240101_agent/results/results.json": json.dumps(document)})
    r = report(upload)
    assert (r.model, r.scored, r.not_run, r.mean) == ("20240101_agent", 2, 1, 0.5)
    assert warned(upload, "names 1 instances twice")
    refused(json.dumps({"resolved_ids": ["a"], "submitted_instances": 9}), "only the resolved instances")


def test_swe_bench_harness_report_and_verdicts_by_instance() -> None:
    ids = {"resolved_ids": ["a"], "unresolved_ids": ["b"], "error_ids": ["c"], "empty_patch_ids": ["d"]}
    upload = load(json.dumps({**ids, "incomplete_ids": ["e"], "submitted_instances": 4}), "org__m.run1.json")
    r = report(upload)
    assert (r.model, r.scored, r.errored, r.not_run, r.mean) == ("org__m", 3, 1, 1, pytest.approx(1 / 3))
    verdicts = {"django__django-1": {"resolved": True}, "django__django-2": {"resolved": False}}
    assert report(load(json.dumps(verdicts), "m.json")).mean == 0.5
    pro = {"django__django-1": True, "django__django-2": None}
    assert report(load(json.dumps(pro), "m.json")).unscored == 1


def test_livecodebench() -> None:
    rows = [
        {"question_id": 3000, "graded_list": [True, False], "pass@1": 0.5},
        {"question_id": "abc", "graded_list": [-2, -1], "pass@1": 0.0},
    ]
    upload = load_all({"O1-Mini (N=2)/Scenario.codegeneration_2_0.2_eval_all.json": json.dumps(rows)})
    assert cells(upload) == {("O1-Mini (N=2)", "3000"): 0.5, ("O1-Mini (N=2)", "abc"): 0}
    assert upload.repeats is not None
    assert upload.repeats.tolist() == [[2, 2]]
    tests = [{"question_id": 1, "test_id": k, "graded_list": [True]} for k in range(2)]
    assert load(json.dumps(tests), model="m").matrix.examples == ("1/0", "1/1")


def test_alpaca_preferences() -> None:
    def pair(instruction: str, preference: object, **more: object) -> dict[str, object]:
        return {
            "instruction": instruction,
            "preference": preference,
            "generator_2": "m",
            "dataset": "d",
            **more,
        }

    rows = [pair("a", 2), pair("b", 1.0), pair("c", 0), pair("d", 1.5), pair("e", 1.25), pair("f", None)]
    upload = load(json.dumps(rows))
    assert list(cells(upload).values()) == [1, 0, 0.5, 0.5, 0.25, None]
    assert warned(upload, "draws as 0.5")
    refused(json.dumps([pair("a", 2.5)]), "score 1.5")
    refused(json.dumps([pair("a", 1), pair("a", 2)]), "example 'a' twice, with different scores")
    both = [pair("a", 1, annotator="x"), pair("a", 2, annotator="y")]
    refused(json.dumps(both), "several filters: 'x', 'y'")
    assert report(load(json.dumps(both), filter="y")).mean == 1


def test_long_instructions_make_short_distinct_ids() -> None:
    rows = [{"instruction": "x" * 5000 + end, "preference": 1, "generator_2": "m"} for end in "ab"]
    examples = load(json.dumps(rows)).matrix.examples
    assert len(set(examples)) == 2
    assert max(map(len, examples)) < 150


def trials(run: str, *results: tuple[str, str, bool | None]) -> str:
    rows = [
        {"task_id": task, "trial_name": trial, "is_resolved": resolved} for task, trial, resolved in results
    ]
    return json.dumps({"id": run, "results": rows, "n_resolved": 0, "accuracy": 0.25})


def test_terminal_bench_repeats_in_one_file_or_several() -> None:
    meta = json.dumps({"agent_name": "terminus", "model_name": "m", "dataset_version": "1"})
    one = trials(
        "r",
        ("t", "t.1-of-2", True),
        ("t", "t.2-of-2", None),
        ("u", "u.1-of-2", None),
        ("u", "u.2-of-2", None),
    )
    upload = load_all({"run/results.json": one, "run/run_metadata.json": meta})
    assert cells(upload) == {("terminus+m", "t"): 1, ("terminus+m", "u"): None}
    assert (report(upload).errored, report(upload).reported) == (1, 0.25)
    assert warned(
        upload,
        "the mean of the answers is 1.0000, but the log reports 0.2500",
        "counts missing answers as wrong",
    )
    two = {"m/1.json": trials("r1", ("t", "t", True)), "m/2.json": trials("r2", ("t", "t", False))}
    assert list(cells(load_all(two)).values()) == [0.5]
    refused_all({**two, "m/3.json": trials("r1", ("t", "t", True))}, "twice")


def test_bfcl_complement() -> None:
    summary = {"accuracy": 0.5, "correct_count": 2, "total_count": 4}
    text = lines([summary, {"id": "simple_1"}, {"id": "simple_3"}])
    upload = load_all({"score/m/BFCL_v3_simple_score.json": text})
    assert cells(upload) == {("m", f"simple_{i}"): float(i in (0, 2)) for i in range(4)}
    assert report(upload).reported == 0.5
    numbered = lines([summary, {"id": 1}, {"id": 4}])
    assert list(cells(load(numbered, "x_score.json", model="m")).values()) == [0, 1, 1, 0]
    refused(lines([summary, {"id": "a"}]), "lists 1 failures, but its summary counts 2 of 4", model="m")
    refused(
        lines([summary, {"id": "live_0-0-0"}, {"id": "live_1-2-0"}]),
        "ids of the right answers are unknown",
        model="m",
    )


def result(q: str, success: bool, score: float, **more: object) -> dict[str, object]:
    return {
        "promptIdx": 0,
        "testIdx": 0,
        "provider": {"id": "openai:gpt", "label": ""},
        "prompt": {"raw": "p", "label": "p"},
        "vars": {"q": q},
        "testCase": {"assert": [{"type": "equals", "value": q}]},
        "success": success,
        "score": score,
        "failureReason": 0,
        **more,
    }


def test_promptfoo_repeats_errors_and_providers() -> None:
    rows = [result("a", True, 1), result("a", False, 0, testIdx=1), result("b", False, 0, failureReason=2)]
    rows += [result("a", True, 1, provider={"id": "openai:gpt", "label": "other"})]
    for data in (lines(rows), json.dumps({"evalId": "e", "results": {"version": 3, "results": rows}})):
        upload = load(data)
        assert upload.matrix.models == ("openai:gpt", "other")
        assert report(upload, "openai:gpt").mean == 0.5
        assert report(upload, "openai:gpt").errored == 1
    refused(lines([result("a", False, 0.75)]), "several metrics: 'pass', 'score'")

"""lm-evaluation-harness logs and their traps."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.ingest.helpers import cells, lines, load, load_all, refused, refused_all, report, warned, zipped

NAME = "samples_{}_2025-01-01T00-00-00.000000.jsonl"
RESULTS = "results_2025-01-01T00-00-00.000000.json"


def sample(doc_id: object, value: object, **more: object) -> dict[str, object]:
    return {
        "doc_id": doc_id,
        "doc": {"question": f"q{doc_id}"},
        "target": "0",
        "arguments": {},
        "resps": [["x"]],
        "filtered_resps": ["x"],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": f"hash{doc_id}",
        "acc": value,
        **more,
    }


def results(task: str, model: str = "org/m", **means: object) -> str:
    return json.dumps(
        {
            "results": {task: {"alias": task, **means}},
            "configs": {},
            "versions": {},
            "n-samples": {task: {"original": 3, "effective": 3}},
            "higher_is_better": {task: {"acc": True, "word_perplexity": False}},
            "group_subtasks": {"all": ["some"], "some": [task]},
            "model_name": model,
        }
    )


def log(values: Sequence[object], **more: object) -> str:
    return lines(sample(i, value, **more) for i, value in enumerate(values))


def test_ids_natives_and_hashes() -> None:
    upload = load(log([1.0, 0.0, True]), NAME.format("my_task"), model="m")
    assert upload.format == "lm_eval"
    assert upload.matrix.examples == ("my_task/0", "my_task/1", "my_task/2")
    assert upload.native is not None
    assert (upload.native.tool, upload.native.tasks[0], upload.native.ids) == (
        "lm_eval",
        "my_task",
        ("0", "1", "2"),
    )
    assert upload.hashes == ("hash0", "hash1", "hash2")
    assert report(upload).mean == pytest.approx(2 / 3)


def test_order_of_records_does_not_matter() -> None:
    records = [sample(i, i % 2) for i in range(10)]
    first, second = (load(lines(r), NAME.format("t"), model="m") for r in (records, records[::-1]))
    assert first.matrix.scores.tobytes() == second.matrix.scores.tobytes()
    assert first.native == second.native


def test_model_from_results_file_then_folder() -> None:
    files = {
        f"runs/org__m/{NAME.format('t')}": log([1, 0, 1]),
        f"runs/org__m/{RESULTS}": results("t", "org/m"),
    }
    assert report(load_all(files)).model == "org/m"
    upload = load_all({f"runs/org__m/{NAME.format('t')}": log([1, 0, 1])})
    assert report(upload).model == "org__m"
    assert warned(upload, "named after their folders, the first 'org__m'")


def test_several_models_and_tasks_in_one_zip() -> None:
    files: dict[str, bytes | str] = {"notes/readme.md": "hello, there, a, lot, of, commas\nx\n"}
    for model in ("a", "b"):
        for task in ("t1", "t2"):
            files[f"{model}/{NAME.format(task)}"] = log([1, 0])
    upload = load(zipped(files))
    assert upload.matrix.models == ("a", "b")
    assert upload.matrix.subtasks == ("t1", "t2")
    assert warned(upload, "ignored because the format is not recognised: 'notes/readme.md'")
    assert load(zipped(files), subtask="t2").matrix.examples == ("t2/0", "t2/1")


def test_groups_by_the_results_file() -> None:
    files = {f"m/{NAME.format('t')}": log([1, 0]), f"m/{RESULTS}": results("t")}
    assert load_all(files, subtask="all").matrix.examples == ("t/0", "t/1")
    refused_all(
        files, "no log has the task or group 'other' that subtask= names; the tasks are 't'", subtask="other"
    )


def test_same_id_with_other_content_is_another_version() -> None:
    files = {
        f"a/{NAME.format('t')}": log([1, 0, 1, 1]),
        f"b/{NAME.format('t')}": lines(sample(i, 1, doc_hash=f"other{i}") for i in range(4)),
    }
    problem = refused_all(
        files, "4 of the 4 examples of model 'b' differ in content", "'t/0', 't/1', 't/2' and 1"
    )
    assert problem.faults[0].pointer.endswith("line 1")
    assert load_all(files, unmatched="keep").matrix.missing_cells == 0


def test_documents_numbered_in_another_order_are_matched_by_their_content() -> None:
    rolled = lines(sample(i, int(i == 2), doc_hash=f"hash{(i + 1) % 3}") for i in range(3))
    files = {f"a/{NAME.format('t')}": log([1, 0, 0]), f"b/{NAME.format('t')}": rolled}
    upload = load_all(files)
    assert list(cells(upload).values()) == [1, 0, 0] * 2
    assert upload.hashes == ("hash0", "hash1", "hash2")
    assert warned(upload, "3 examples of model 'b' are numbered in another order", "'t/0'")
    assert list(cells(load_all(files, unmatched="keep")).values()) == [1, 0, 0, 0, 0, 1]


def test_a_part_of_the_documents_numbered_anew_is_matched_by_content() -> None:
    part = lines(sample(i, 1, doc_hash=f"hash{doc}") for i, doc in enumerate([3, 1]))
    files = {f"a/{NAME.format('t')}": log([0, 1, 0, 1]), f"b/{NAME.format('t')}": part}
    assert load_all(files, missing="keep").matrix.missing.tolist() == [
        [False] * 4,
        [True, False, True, False],
    ]


def test_two_documents_of_one_content_are_matched_in_order_and_a_third_is_refused() -> None:
    twice = [sample(i, 0, doc_hash=f"hash{min(i, 1)}") for i in range(3)]
    moved = [sample(i, int(i == 2), doc_hash=f"hash{int(i < 2)}") for i in range(3)]
    files = {f"a/{NAME.format('t')}": lines(twice), f"b/{NAME.format('t')}": lines(moved)}
    assert list(cells(load_all(files)).values())[3:] == [1, 0, 0]
    moved[2]["doc_hash"] = "hash1"
    refused_all({**files, f"b/{NAME.format('t')}": lines(moved)}, "differ in content")


def test_filters_are_for_the_caller_to_choose() -> None:
    records = [sample(i, i % 2, filter="strict-match") for i in range(4)]
    records += [sample(i, 1, filter="flexible-extract") for i in range(4)]
    problem = refused(
        lines(records), "several filters: 'strict-match', 'flexible-extract'", model="m", subtask="t"
    )
    assert [f.pointer for f in problem.faults] == ["filter=strict-match", "filter=flexible-extract"]
    assert report(load(lines(records), NAME.format("t"), model="m", filter="strict-match")).mean == 0.5
    assert report(load(lines(records), NAME.format("t"), model="m", filter="flexible-extract")).mean == 1
    refused(lines(records), "has no filter 'loose'", model="m", subtask="t", filter="loose")


def test_unnamed_filters_take_their_names_from_the_results() -> None:
    def old(i: int, value: int) -> dict[str, object]:
        record = sample(i, value)
        del record["filter"], record["metrics"]
        return record

    text = lines([old(i, 0) for i in range(3)] + [old(i, 1) for i in range(3)])
    files = {
        f"m/{NAME.format('t')}": text,
        f"m/{RESULTS}": results("t", **{"acc,strict": 0.0, "acc,loose": 1.0}),
    }
    upload = load_all(files, filter="loose")
    assert (report(upload).mean, report(upload).reported) == (1, 1)
    refused(text, "several filters: '#1', '#2'", "first block", model="m", subtask="t")
    assert report(load(text, NAME.format("t"), model="m", filter="#2")).mean == 1


def test_a_run_appended_twice_is_a_duplicate_with_both_places() -> None:
    text = log([1, 0, 1])
    problem = refused(text + text, "example 't/0' twice, with the same score", model="m", subtask="t")
    assert [fault.pointer for fault in problem.faults] == ["upload, line 1", "upload, line 4"]
    assert "with different scores" in refused(text + log([0, 0, 1]), model="m", subtask="t").detail


def test_two_files_of_one_model_and_task_are_duplicates() -> None:
    files = {f"m/{NAME.format('t')}": log([1]), "m/samples_t_2025-02-02T00-00-00.0.jsonl": log([1])}
    refused_all(files, "twice", "samples_t_2025-01-01", "samples_t_2025-02-02")


def test_metrics() -> None:
    text = log([0, 1], metrics=["acc", "acc_norm", "f1"], acc_norm=1, f1=[1, 0])
    problem = refused(text, "several metrics: 'acc', 'acc_norm'", model="m", subtask="t")
    assert "f1" not in problem.detail
    assert report(load(text, NAME.format("t"), model="m", metric="acc_norm")).mean == 1
    assert report(load(text, NAME.format("t"), model="m", metric="exact_match,acc")).mean == 0.5
    refused(text, "has no metric 'f1'", model="m", subtask="t", metric="f1")


def test_nan_is_unscored_and_reported_means_are_compared() -> None:
    text = lines([sample(0, 1), sample(1, 0)]) + json.dumps(sample(2, float("nan"))) + "\n"
    files = {f"m/{NAME.format('t')}": text, f"m/{RESULTS}": results("t", **{"acc,none": 0.3333})}
    upload = load_all(files)
    assert (report(upload).scored, report(upload).unscored, report(upload).mean) == (2, 1, 0.5)
    assert warned(
        upload,
        "the mean of the answers is 0.5000",
        "the log reports 0.3333",
        "counts missing answers as wrong",
    )


def test_lower_is_better_needs_a_scale() -> None:
    text = log([0, 0], metrics=["word_perplexity"], word_perplexity=0.25)
    files = {f"m/{NAME.format('t')}": text, f"m/{RESULTS}": results("t")}
    refused_all(files, "lower values of word_perplexity are better", "scale=1..0")
    upload = load_all(files, scale="1..0")
    assert report(upload).mean == 0.75
    assert warned(upload, "scores from 1 to 0 are read as 0 to 1")


def test_array_layout_and_strings_of_2023() -> None:
    rows = [
        {"doc_id": i, "prompt_0": "p", "logit_0": -1.0, "truth": "1", "acc": f"{i % 2}.0"} for i in range(4)
    ]
    upload = load(json.dumps(rows, indent=2), "m/t_write_out_info.json")
    assert upload.matrix.examples == ("t/0", "t/1", "t/2", "t/3")
    assert report(upload).mean == 0.5


def test_confidences() -> None:
    pairs = [["-1.0", "False"], ["-1.0", "True"], ["-inf", "False"]]
    by_index = sample(0, 1, filtered_resps=pairs, target="1")
    by_text = sample(
        1, 1, filtered_resps=pairs, target="b", arguments=[["q", " a"], ["q", " b"], ["q", " c"]]
    )
    upload = load(lines([by_index, by_text]), NAME.format("t"), model="m")
    assert upload.matrix.confidences is not None
    assert upload.matrix.confidences.tolist() == [[0.5, 0.5]]
    unknown = sample(1, 0, filtered_resps=pairs, target="?")
    assert load(lines([by_index, unknown]), NAME.format("t"), model="m").matrix.confidences is None


def test_broken_records() -> None:
    good = log([1, 0])
    refused(good + '{"doc_id": 2, "doc"\n', "line 3", "not valid JSON", model="m", subtask="t")
    refused(good + "[1]\n", "line 3", "not a JSON object", model="m", subtask="t")
    refused(good + json.dumps(sample(None, 1)), "record 3 has no doc_id", model="m", subtask="t")
    refused(good + json.dumps(sample(2, [1])), "which is not a score", model="m", subtask="t")
    refused(good + json.dumps(sample(2, 1.5)), "line 3: score 1.5", "example 't/2'", model="m", subtask="t")
    refused(good + json.dumps(sample(2, "yes")), "not a score", model="m", subtask="t")
    twice = json.dumps(sample(2, 1)).replace('"acc": 1', '"acc": 1, "acc": 0')
    refused(good + twice, "line 3", "'acc' occurs twice", model="m", subtask="t")


def test_nothing_names_the_task() -> None:
    refused(log([1]), "the task of", model="m")
    assert load(log([1]), "x.jsonl", model="m", subtask="t").matrix.examples == ("t/0",)


def test_gaps_between_models_are_cells_not_run() -> None:
    files = {
        f"a/{NAME.format('t')}": log([1] * 40),
        f"b/{NAME.format('t')}": log([1] * 39),
    }
    upload = load_all(files)
    assert report(upload, "b").not_run == 1
    assert cells(upload)["b", "t/39"] is None
    assert warned(upload, "cells without a score: 1 of 80 (1 not run)", "model 'b', example 't/39'")


def test_another_benchmark_is_refused_with_counts_unless_wanted() -> None:
    files = {f"a/{NAME.format('t')}": log([1] * 10), f"b/{NAME.format('u')}": log([1] * 8)}
    refused_all(files, "has no results on", "that no other model has", "unmatched=keep")
    assert load_all(files, unmatched="keep").matrix.missing_cells == 18

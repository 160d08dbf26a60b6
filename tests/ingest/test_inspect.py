"""Inspect logs, .json and .eval, and their traps."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib

import pytest
import zstandard

from tests.ingest.helpers import cells, load, load_all, refused, refused_all, report, warned, zipped

EVAL = {
    "task": "inspect_evals/tiny",
    "model": "openai/gpt",
    "dataset": {"name": "tiny", "samples": 3, "sample_ids": ["a", "b", "c"]},
    "config": {"epochs": 1},
    "scorers": [{"name": "match"}],
}


def one(name: object, value: object, epoch: int = 1, **more: object) -> dict[str, object]:
    return {"id": name, "epoch": epoch, "scores": {"match": {"value": value}}, **more}


def head(status: str = "success", **more: object) -> dict[str, object]:
    return {"version": 2, "status": status, "eval": EVAL, **more}


def log(samples: list[dict[str, object]], **more: object) -> str:
    return json.dumps({**head(), "samples": samples, **more})


THREE = [one("a", "C"), one("b", "I"), one("c", "P")]


def test_values_and_names() -> None:
    upload = load(log(THREE))
    assert upload.format == "inspect"
    assert cells(upload) == {
        ("openai/gpt", "tiny/a"): 1,
        ("openai/gpt", "tiny/b"): 0,
        ("openai/gpt", "tiny/c"): 0.5,
    }
    assert upload.native is not None
    assert (upload.native.tasks, upload.native.ids) == (("inspect_evals/tiny",) * 3, ("a", "b", "c"))


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ("C", 1),
        ("I", 0),
        ("P", 0.5),
        ("yes", 1),
        ("no", 0),
        ("true", 1),
        ("0.25", 0.25),
        (True, 1),
        (0, 0),
        (0.75, 0.75),
    ],
)
def test_values_as_inspect_has_them(value: object, score: float) -> None:
    assert cells(load(log([one("a", value), one("b", 1), one("c", 1)])))["openai/gpt", "tiny/a"] == score


@pytest.mark.parametrize("value", ["N", None, float("nan")])
def test_no_answer_is_no_score(value: object) -> None:
    upload = load(log([one("a", value), one("b", 1), one("c", 1)]))
    assert report(upload).unscored == 1


def test_no_answer_counts_as_wrong_on_request() -> None:
    text = log([one("a", "N"), one("b", 1), one("c", 1)])
    assert report(load(text, mapping="N:0")).mean == pytest.approx(2 / 3)
    assert report(load(text, missing="zero")).mean == pytest.approx(2 / 3)


def test_errored_unscored_and_not_run_are_three_states() -> None:
    samples = [one("a", "C"), {"id": "b", "epoch": 1, "scores": {}, "error": {"message": "x"}}]
    upload = load(log(samples, status="error"))
    r = report(upload)
    assert (r.scored, r.errored, r.unscored, r.not_run, r.mean) == (1, 1, 0, 1, 1)
    assert r.bounds == (pytest.approx(1 / 3), 1)
    assert warned(upload, "the run ended as 'error'")
    assert warned(upload, "1 errored, 1 not run")
    assert upload.states is not None
    assert upload.states.tolist() == [[0, 1, 3]]


def test_an_error_with_a_score_is_scored() -> None:
    upload = load(log([one("a", 0, error={"message": "x"}), one("b", "C"), one("c", "C")]))
    assert (report(upload).scored, report(upload).mean) == (3, pytest.approx(2 / 3))


def test_limits_are_scored_and_invalidated_samples_are_not() -> None:
    samples = [
        one("a", "I", limit={"type": "token"}),
        one("b", "C", invalidation={"reason": "x"}),
        one("c", "C"),
    ]
    assert (report(load(log(samples))).scored, report(load(log(samples))).unscored) == (2, 1)


def test_epochs_are_averaged_and_counted() -> None:
    samples = [
        one(name, value, epoch)
        for epoch, values in enumerate(("CIC", "CII"), 1)
        for name, value in zip("abc", values, strict=True)
    ]
    samples[5]["scores"] = {}
    samples[5]["error"] = {"message": "x"}
    upload = load(log(samples))
    assert cells(upload) == {
        ("openai/gpt", "tiny/a"): 1,
        ("openai/gpt", "tiny/b"): 0,
        ("openai/gpt", "tiny/c"): 1,
    }
    assert upload.repeats is not None
    assert upload.repeats.tolist() == [[2, 2, 1]]


def test_the_same_sample_twice_in_an_epoch_is_a_duplicate() -> None:
    problem = refused(log([*THREE, one("a", "I")]), "example 'tiny/a' twice, with different scores")
    assert [f.pointer for f in problem.faults] == ["upload, sample 1", "upload, sample 4"]
    refused(log([one(1, "C"), one("1", "C")]), "example 'tiny/1' twice")


def test_several_scorers() -> None:
    samples = [
        {
            "id": name,
            "epoch": 1,
            "scores": {"match": {"value": "C"}, "judge": {"value": {"style": 0, "facts": 1}}},
        }
        for name in "abc"
    ]
    refused(
        log(samples),
        "several metrics: 'match', 'judge/style', 'judge/facts'",
        "'match', is the one that Inspect shows first",
    )
    assert report(load(log(samples), metric="judge/style")).mean == 0
    assert report(load(log(samples), metric="match")).mean == 1


def test_old_logs_with_one_score() -> None:
    samples = [{"id": name, "epoch": 1, "score": {"value": "C"}} for name in "abc"]
    assert report(load(log(samples, version=1))).mean == 1


def test_metadata_as_subtask() -> None:
    samples = [one(name, "C", metadata={"subject": "x" if name == "a" else "y"}) for name in "abc"]
    assert load(log(samples), subtask="subject").matrix.subtasks == ("x", "y")
    assert load(log(samples), subtask="tiny").matrix.subtasks == ()
    assert load(log(samples[:2]), subtask="subject").matrix.examples == ("tiny/a", "tiny/b")
    refused(log(samples), "sample 1 has no 'topic'", subtask="topic")


def test_reported_accuracy() -> None:
    scores = [{"name": "match", "metrics": {"accuracy": {"value": 0.9}}}]
    upload = load(log(THREE, results={"total_samples": 3, "scores": scores}))
    assert report(upload).reported == 0.9
    assert warned(upload, "the mean of the answers is 0.5000, but the log reports 0.9000")


def test_two_models_in_one_upload() -> None:
    other = json.dumps({**head(), "eval": {**EVAL, "model": "b"}, "samples": THREE})
    upload = load_all({"1.json": log(THREE), "2.json": other})
    assert upload.matrix.models == ("b", "openai/gpt")
    refused_all({"1.json": log(THREE), "2.json": log(THREE)}, "twice", "1.json, sample 1", "2.json, sample 1")


def summaries(samples: list[dict[str, object]]) -> str:
    return json.dumps(samples)


def test_eval_reads_summaries() -> None:
    files = {
        "header.json": json.dumps(head()),
        "summaries.json": summaries(THREE),
        "samples/a_epoch_1.json": "broken",
    }
    assert report(load(zipped(files), "x.eval")).mean == 0.5


def test_eval_without_summaries_reads_samples_whole_or_in_chunks() -> None:
    files = {
        "header.json": json.dumps(head()),
        "samples/a_epoch_1.json": json.dumps(one("a", "C")),
        "samples/q/b ü_epoch_1.json": json.dumps(one("b", "C")),
        "samples/c_epoch_1/sample.json": json.dumps(one("c", "I")),
        "samples/c_epoch_1/events/1.json": "[]",
    }
    assert report(load(zipped(files))).mean == pytest.approx(2 / 3)


def test_eval_whose_header_comes_late() -> None:
    bulk = json.dumps([hashlib.sha256(bytes([i % 256, i // 256])).hexdigest() for i in range(50_000)])
    files = {
        "samples/a_epoch_1.json": bulk,
        "summaries.json": summaries(THREE),
        "header.json": json.dumps(head()),
    }
    assert report(load(zipped(files))).mean == 0.5


def test_crashed_run_reads_its_journal() -> None:
    start = {"version": 2, "eval": EVAL}
    files = {
        "_journal/start.json": json.dumps(start),
        "_journal/summaries/1.json": summaries(THREE[:1]),
        "_journal/summaries/2.json": summaries(THREE[1:2]),
    }
    upload = load(zipped(files))
    assert (report(upload).scored, report(upload).not_run) == (2, 1)
    assert warned(upload, "the run ended as 'started'")


def test_summaries_written_again_by_a_resumed_run() -> None:
    files = {"header.json": json.dumps(head()), "summaries.json": summaries([*THREE, THREE[0]])}
    assert report(load(zipped(files))).mean == 0.5
    files["summaries.json"] = summaries([*THREE, one("a", "I")])
    refused(zipped(files), "example 'tiny/a' twice, with different scores")


def zstd_zip(files: dict[str, str]) -> bytes:
    """A zip whose entries are zstd (method 93), which zipfile itself cannot write here."""
    out, directory = io.BytesIO(), b""
    for name, text in files.items():
        raw, path = text.encode(), name.encode()
        packed = zstandard.ZstdCompressor().compress(raw)
        fields = (63, 0, 93, 0, 0, zlib.crc32(raw), len(packed), len(raw), len(path), 0)
        offset = out.tell()
        out.write(struct.pack("<4s5H3I2H", b"PK\x03\x04", *fields) + path + packed)
        directory += struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 63, *fields, 0, 0, 0, 0, offset) + path
    start = out.tell()
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(files), len(files), len(directory), start, 0)
    return out.getvalue() + directory + end


def test_zstd_entries() -> None:
    files = {"header.json": json.dumps(head()), "summaries.json": summaries(THREE)}
    packed = zstd_zip(files)
    assert zipfile.ZipFile(io.BytesIO(packed)).infolist()[0].compress_type == 93
    assert report(load(packed, "x.eval")).mean == 0.5
    assert report(load(zipped({"logs/x.eval": packed, "logs/readme.txt": "hi"}))).mean == 0.5
    refused(packed.replace(packed[60:64], b"\0\0\0\0"), "cannot be decompressed")


def test_versions_and_empty_logs() -> None:
    refused(json.dumps({**head(), "version": 4, "samples": THREE}), "version 4", "reads versions 1 and 2")
    refused(log([]), "holds only a summary")
    refused(log([{"id": 1, "scores": {}, "error": {}}]), "none of the 1 samples", "1 had an error")
    refused(zipped({"header.json": "{}", "summaries.json": "[]"}), "holds only a summary")
    refused(log([{"epoch": 1}]), "sample 1 of the log has no id")


def test_reductions_stand_in_for_samples() -> None:
    reductions = [
        {
            "scorer": "match",
            "samples": [{"sample_id": n, "value": v} for n, v in zip("abc", (1, 0, 0.5), strict=True)],
        }
    ]
    upload = load(log([], reductions=reductions))
    assert report(upload).mean == 0.5
    assert warned(upload, "its means per sample are read instead")


def asked(name: str, question: object, value: str) -> dict[str, object]:
    return one(name, value, input=question, target="yes")


def test_samples_with_permuted_inputs_are_matched_by_their_content() -> None:
    first = log([asked("a", "one?", "C"), asked("b", "two?", "I"), asked("c", "three?", "I")])
    permuted = log([asked("a", "two?", "I"), asked("b", "three?", "I"), asked("c", "one?", "C")])
    upload = load_all({"x/1.json": first, "y/2.json": permuted.replace("openai/gpt", "openai/other")})
    assert list(cells(upload).values()) == [1, 0, 0] * 2
    assert warned(upload, "3 examples of model", "matched by their content")


def test_samples_with_other_inputs_are_refused_and_three_named() -> None:
    first = log([asked(name, f"{name}?", "C") for name in "abc"])
    other = log([asked(name, f"What is {name}?", "C") for name in "abc"]).replace("openai/gpt", "openai/new")
    refused_all({"x/1.json": first, "y/2.json": other}, "differ in content", "tiny/a', 'tiny/b', 'tiny/c'")
    assert load_all({"x/1.json": first, "y/2.json": other}, unmatched="keep").matrix.missing_cells == 0


def test_ids_of_messages_and_samples_that_did_not_run_are_no_other_content() -> None:
    def chat(message_id: str) -> list[dict[str, str]]:
        return [{"id": message_id, "role": "user", "content": "one?"}]

    first = log([asked("a", chat("m1"), "C"), asked("b", "two?", "I")])
    second = log([asked("a", chat("m2"), "I"), asked("b", "two?", "C")]).replace("openai/gpt", "openai/new")
    upload = load_all({"x/1.json": first, "y/2.json": second}, missing="keep")
    assert list(cells(upload).values())[3:5] == [0, 1]
    assert upload.hashes is not None
    assert upload.hashes[2] is None


def test_choices_in_another_order_are_the_same_question_and_another_answer_is_not() -> None:
    def run(model: str, choices: list[str], target: str) -> str:
        sample = one("a", "C", input="Which is even?", choices=choices, target=target)
        others = [asked("b", "two?", "I"), asked("c", "three?", "I")]
        return log([sample, *others]).replace("openai/gpt", model)

    first = run("m/1", ["3", "4"], "B")
    assert not warned(load_all({"x/1.json": first, "y/2.json": run("m/2", ["4", "3"], "A")}), "content")
    refused_all({"x/1.json": first, "y/2.json": run("m/2", ["4", "3"], "B")}, "differ in content")

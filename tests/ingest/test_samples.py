"""Every sample file beside the project: imported with the right numbers, or refused for the right reason.

The numbers are counted from the files themselves, and stand in the tools' own aggregates
where the sample has one.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from service.core.errors import InvalidUpload, Problem, UnsupportedMedia
from service.ingest import Limits, Options, Upload, read
from tests.ingest.helpers import load_all, report, warned

pytestmark = pytest.mark.shared

AREA = "20240825_SWE-agent_gpt-4o-2024-05-13"
GSM = "samples_metabench_gsm8k_secondary_2024-11-26T10-50-23.349203.jsonl"
WINO = "samples_metabench_winogrande_secondary_2024-11-26T10-50-23.349203.jsonl"
TINY = "lm_eval/v0.4.13/6v8uqx97/samples_tiny_{}_2026-11-29T13-45-18.626396.jsonl"
ARRAY = "lm_eval/v0.4.0/pretrained__EleutherAI__pythia-14m_metabench_winogrande_secondary.jsonl"
HELM = "{}/per_instance_stats.json"
LIGHT = "lighteval/{}.parquet"
CHEMISTRY = "details_mmlu_college_chemistry_5_2025-11-05T14-43-47.148527"
GSM_LIGHT = "details_gsm8k_0_2025-11-05T14-43-47.148527"
NESTED = "nested_details_leaderboard_arc_challenge_25_2025-03-24T10-00-00.000000"
STRINGS = "strcast_details_leaderboard_arc_challenge_25_2024-09-10T10-00-00.000000"
HUMANEVAL = {
    "claude-3-haiku-20240307": 1.0,
    "code-millenials-34b": 1.0,
    "speechless-coding-7b-16k-tora": 0.625,
}

ROWS = {"orientation": "models_as_rows"}
COLUMNS = {"orientation": "models_as_columns"}
NUMBERED = {**COLUMNS, "ids": "row_number"}

IMPORTED: list[tuple[str, dict[str, str], int, dict[str, float]]] = [
    ("plain/long_eval_arena.csv", {}, 8, HUMANEVAL),
    ("plain/long_eval_arena.tsv", {}, 8, HUMANEVAL),
    ("plain/long_eval_arena.jsonl", {}, 8, HUMANEVAL),
    ("plain/long.parquet", {}, 8, HUMANEVAL),
    ("plain/wide.parquet", {}, 8, HUMANEVAL),
    ("plain/records.json", {}, 8, HUMANEVAL),
    ("plain/pyirt.jsonlines", {}, 8, HUMANEVAL),
    ("plain/matrix_named.npz", {}, 8, HUMANEVAL),
    ("plain/model_item_dict.json", ROWS, 8, HUMANEVAL),
    ("plain/matrix_bool.npy", NUMBERED, 8, {"0": 1.0, "1": 1.0, "2": 0.625}),
    ("plain/matrix_float64.npy", NUMBERED, 8, {"0": 1.0, "1": 1.0, "2": 0.625}),
    ("plain/matrix_int8_fortran.npy", NUMBERED, 8, {"0": 1.0, "1": 1.0, "2": 0.625}),
    ("plain/matrix_compressed_unnamed.npz", NUMBERED, 8, {"0": 1.0, "1": 1.0, "2": 0.625}),
    ("plain/r_mirt_style_NA.csv", ROWS, 6, {"1": 5 / 6, "6": 2 / 5, "7": 1 / 5, "8": 4 / 5}),
    ("plain/r_frequency_table.csv", {**ROWS, "frequency": "freq"}, 5, {"1#12": 0.0, "2#19": 0.2, "5#3": 0.2}),
    ("plain/wide_models_as_columns_no_id.csv", NUMBERED, 20, {"Qwen__QwQ-32B": 0.35}),
    (
        "plain/wide_models_as_columns_meta_columns.csv",
        {**NUMBERED, "ignore": "subtask_range,subset"},
        20,
        {"Qwen__QwQ-32B": 0.35, "microsoft__Phi-3.5-mini-instruct": 0.4},
    ),
    (
        "plain/wide_models_as_rows_float_1to2.csv",
        {"scale": "1..2"},
        11,
        {"FuseChat-Gemma-2-9B-Instruct": 0.6469989093454545},
    ),
    ("py_irt/minitest.jsonlines", {}, 4, {"pedro": 0.5, "pinguino": 0.5, "ken": 1.0, "burt": 0.0}),
    (TINY.format("algebra"), {"metric": "acc", "model": "dummy"}, 5, {"dummy": 1.0}),
    (TINY.format("geography"), {"metric": "acc", "model": "dummy"}, 5, {"dummy": 0.4}),
    (TINY.format("gsm"), {"filter": "maj@3", "model": "dummy"}, 3, {"dummy": 0.0}),
    (f"lm_eval/v0.4.5/{GSM}", {"filter": "#1", "model": "pythia-14m"}, 4, {"pythia-14m": 0.0}),
    (f"lm_eval/v0.4.5/{WINO}", {"model": "pythia-14m"}, 8, {"pythia-14m": 0.5}),
    (ARRAY, {}, 5, {"EleutherAI/pythia-14m": 0.4}),
    (
        "lm_eval/v0.4.9/samples_math_perturbed_full_2026-01-21T03-44-18.458309.jsonl",
        {"model": "m"},
        10,
        {"m": 0.0},
    ),
    ("inspect/data_arc_qwen.json", {}, 3, {"ollama/qwen2.5:0.5b": 1 / 3}),
    ("inspect/data_pubmedqa_gpt4o_mini.json", {}, 2, {"openai/azure/gpt-4o-mini": 1.0}),
    ("inspect/data_intercode_ctf_local_path.json", {}, 1, {"mistral/mistral-small-latest": 0.0}),
    ("inspect/2025-05-12T20-28-13-04-00_no-samples.json", {}, 3, {"openai/gpt-4o-mini": 2 / 3}),
    ("inspect/log_formats.eval", {}, 1, {"ollama/llama3.1": 0.0}),
    ("inspect/log_read_sample.eval", {}, 1, {"ollama/gemma3": 1.0}),
    ("inspect/mmlu-summary-choices.eval", {}, 1, {"openai/gpt-4o": 0.0}),
    (LIGHT.format(CHEMISTRY), {"model": "m"}, 5, {"m": 0.2}),
    (LIGHT.format(GSM_LIGHT), {"model": "m", "metric": "pass@k:k=1&n=4"}, 5, {"m": 0.2}),
    (LIGHT.format(GSM_LIGHT), {"model": "m", "metric": "extractive_match"}, 5, {"m": 0.8}),
    (LIGHT.format(NESTED), {"model": "m", "metric": "acc"}, 4, {"m": 0.5}),
    (LIGHT.format(STRINGS), {"model": "m", "metric": "acc_norm"}, 4, {"m": 0.5}),
    ("every_eval_ever/demo_samples.jsonl", {}, 1, {"demo-org/demo-model": 1.0}),
    ("evalplus/samples_eval_results.json", {"model": "m"}, 3, {"m": 0.5}),
    ("evalplus/samples_eval_results.json", {"model": "m", "metric": "base"}, 3, {"m": 2 / 3}),
    (f"swebench/{AREA}__results.json", {}, 91, {AREA: 6 / 85}),
    (
        "swebench/20240825_SWE-agent_gpt-4o-mini-2024-07-18__results.json",
        {"missing": "zero"},
        91,
        {"20240825_SWE-agent_gpt-4o-mini-2024-07-18": 1 / 91},
    ),
    ("alpaca_eval/text_davinci_001__alpaca_eval_gpt4__annotations.json", {}, 4, {"text_davinci_001": 0.0}),
    (
        "alpaca_eval/text_davinci_001__weighted_alpaca_eval_gpt4_turbo__annotations.json",
        {},
        4,
        {"text_davinci_001": 6.69875e-07},
    ),
    (
        "promptfoo/generated/out.json",
        {"metric": "pass"},
        4,
        {"model-a | Answer: {{q}}": 0.0, "model-a | Q: {{q}} A:": 1 / 3},
    ),
    (
        "promptfoo/generated/out.jsonl",
        {"metric": "score"},
        4,
        {"model-b | Answer: {{q}}": 0.25 / 3, "model-b | Q: {{q}} A:": 1.75 / 3},
    ),
]

REFUSED: list[tuple[str, dict[str, str], type[Problem], str]] = [
    ("plain/matrix_object_pickled.npy", {}, InvalidUpload, "never unpickles"),
    ("plain/matrix_bool.npy", {}, InvalidUpload, "without names"),
    ("plain/r_frequency_table.csv", ROWS, InvalidUpload, "frequency=freq"),
    ("plain/wide_models_as_columns_no_id.csv", COLUMNS, InvalidUpload, "no column names the examples"),
    ("plain/wide_models_as_columns_no_id.csv", {}, InvalidUpload, "orientation=models_as_rows"),
    ("plain/wide_models_as_columns_meta_columns.csv", NUMBERED, InvalidUpload, "'subtask_range', 'subset'"),
    ("plain/wide_models_as_rows_float_1to2.csv", {}, InvalidUpload, "scale=1..2"),
    ("plain/model_item_dict.json", {}, InvalidUpload, "orientation=models_as_rows if the outer"),
    (TINY.format("algebra"), {}, InvalidUpload, "several metrics: 'acc', 'acc_norm'"),
    (TINY.format("algebra"), {"metric": "acc"}, InvalidUpload, "nothing names the model"),
    (TINY.format("gsm"), {}, InvalidUpload, "'strict-match', 'flexible-extract', 'maj@3'"),
    (f"lm_eval/v0.4.5/{GSM}", {}, InvalidUpload, "several filters: '#1', '#2'"),
    ("lm_eval/v0.4.9/results_2026-01-21T03-44-18.458309.json", {}, InvalidUpload, "aggregates only"),
    ("inspect/log_invalid.txt", {}, InvalidUpload, "unexpected end of data"),
    ("inspect/log_version_3.txt", {}, InvalidUpload, "version 4"),
    ("inspect/log_with_nan.txt", {}, InvalidUpload, "only a summary"),
    ("inspect/data_with_llm_scoring.json", {}, InvalidUpload, "only a summary"),
    (LIGHT.format(GSM_LIGHT), {"model": "m"}, InvalidUpload, "several metrics: 'extractive_match'"),
    (LIGHT.format(CHEMISTRY), {}, InvalidUpload, "nothing names the model"),
    ("evalplus/he.jsonl", {}, InvalidUpload, "without verdicts"),
    ("evalplus/samples.jsonl", {}, InvalidUpload, "without verdicts"),
    ("every_eval_ever/demo.json", {}, InvalidUpload, "aggregates only"),
    ("every_eval_ever/instance_level_eval.schema.json", {}, InvalidUpload, "JSON schema"),
    ("promptfoo/generated/out.csv", {}, InvalidUpload, "promptfoo's CSV"),
    ("promptfoo/generated/out.json", {}, InvalidUpload, "several metrics: 'pass', 'score', 'acc', 'fmt'"),
    ("promptfoo/generated/promptfooconfig.yaml", {}, UnsupportedMedia, "not one that this service reads"),
]


def imported(path: Path, options: dict[str, str]) -> Upload:
    with path.open("rb") as stream:
        return read(stream, filename=path.name, options=Options.parse(options), limits=Limits())


@pytest.mark.parametrize(("name", "options", "examples", "means"), IMPORTED)
def test_imported(
    shared: Path, name: str, options: dict[str, str], examples: int, means: dict[str, float]
) -> None:
    upload = imported(shared / "samples" / name, options)
    assert len(upload.matrix.examples) == examples
    for model, mean in means.items():
        assert report(upload, model).mean == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize(("name", "options", "kind", "reason"), REFUSED)
def test_refused(shared: Path, name: str, options: dict[str, str], kind: type[Problem], reason: str) -> None:
    with pytest.raises(kind) as caught:
        imported(shared / "samples" / name, options)
    assert reason in caught.value.detail
    assert caught.value.faults


def test_no_sample_is_forgotten(shared: Path) -> None:
    named = {name for name, *_ in IMPORTED} | {name for name, *_ in REFUSED}
    in_bundles = ("helm/", "lm_eval/v0.4.13/6v8uqx97/results")
    files = [
        p.relative_to(shared / "samples").as_posix() for p in (shared / "samples").rglob("*") if p.is_file()
    ]
    assert [
        f for f in files if f not in named and not f.startswith(in_bundles) and "SOURCE.txt" not in f
    ] == []


def folder(shared: Path, name: str) -> dict[str, bytes]:
    root = shared / "samples" / name
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_lm_eval_run_with_its_results_file(shared: Path) -> None:
    files = folder(shared, "lm_eval/v0.4.13")
    upload = load_all(files, metric="acc", subtask="tiny_mmlu")
    assert upload.matrix.subtasks == ("tiny_algebra", "tiny_geography")
    assert (report(upload).model, report(upload).mean, report(upload).reported) == ("6v8uqx97", 0.7, 0.7)
    assert warned(upload, "lm-eval gave the model the name '6v8uqx97'")
    whole = load_all(files, metric="acc_norm,exact_match", filter="strict-match", model="dummy")
    assert len(whole.matrix.examples) == 13
    assert warned(whole, "confidences are ignored")


def test_lm_eval_confidences(shared: Path) -> None:
    upload = imported(shared / "samples" / TINY.format("algebra"), {"metric": "acc", "model": "m"})
    assert upload.matrix.confidences is not None
    logprobs = [-0.7933250841302242, -0.0823729881966474, -0.6127831050407122]
    right = math.exp(logprobs[1]) / sum(map(math.exp, logprobs))
    assert upload.matrix.confidences[0, 0] == pytest.approx(right)


def test_lm_eval_log_shorter_than_its_results_say(shared: Path) -> None:
    upload = load_all(folder(shared, "lm_eval/v0.4.9"))
    assert report(upload).model.startswith("RylanSchaeffer/mem_Qwen3-93M")
    assert warned(upload, "the log says that 5000 examples ran, but it holds 10")


@pytest.mark.parametrize(
    ("run", "metric", "model", "examples", "mean"),
    [
        (
            "mmlu-subject=philosophy,method=multiple_choice_joint,model=openai_gpt2",
            "exact_match",
            "openai/gpt2",
            10,
            0.1,
        ),
        (
            "commonsense-dataset=hellaswag,method=multiple_choice_joint,model=eleutherai_pythia-1b-v0",
            "exact_match",
            "eleutherai/pythia-1b-v0",
            10,
            0.3,
        ),
        ("narrative_qa-model=openai_gpt2", "f1_score", "openai/gpt2", 5, 0.1394),
    ],
)
def test_helm_runs(shared: Path, run: str, metric: str, model: str, examples: int, mean: float) -> None:
    files = {f"{run}/{name}": data for name, data in folder(shared, f"helm/{run}").items()}
    upload = load_all(files, metric=metric)
    assert len(upload.matrix.examples) == examples
    assert (report(upload).model, report(upload).scored) == (model, examples)
    assert report(upload).mean == pytest.approx(mean, abs=5e-4)


def test_helm_metrics_are_for_the_caller_to_choose(shared: Path) -> None:
    with pytest.raises(InvalidUpload, match="several metrics: 'exact_match'") as caught:
        load_all({f"helm/{name}": data for name, data in folder(shared, "helm").items()})
    assert not any("num_" in fault.pointer for fault in caught.value.faults)


def test_two_runs_of_swe_bench(shared: Path) -> None:
    upload = load_all(folder(shared, "swebench"))
    (full, mini) = upload.models
    assert (full.scored, full.not_run, full.mean) == (85, 6, pytest.approx(6 / 85))
    assert (mini.scored, mini.not_run) == (1, 90)
    assert full.reported == pytest.approx(6 / 91)
    assert full.bounds[0] == pytest.approx(6 / 91)
    assert warned(upload, AREA, "it counts missing answers as wrong")
    assert warned(upload, "less than half", "mini")


def test_every_eval_ever_beside_its_aggregate(shared: Path) -> None:
    upload = load_all(folder(shared, "every_eval_ever"))
    assert report(upload).reported == 0.75
    assert warned(upload, "the mean of the answers is 1.0000, but the log reports 0.7500")


def test_evalplus_repeats_are_kept(shared: Path) -> None:
    upload = imported(shared / "samples/evalplus/samples_eval_results.json", {"model": "m"})
    assert upload.matrix.scores.tolist() == [[0.5, 0.5, 0.5]]
    assert upload.repeats is not None
    assert upload.repeats.tolist() == [[2, 2, 2]]


def test_inspect_states_what_it_lacks(shared: Path) -> None:
    upload = imported(shared / "samples/inspect/data_intercode_ctf_local_path.json", {})
    assert report(upload).reported == pytest.approx(0.3544, abs=1e-4)
    assert warned(upload, "79 examples ran, but it holds 1")
    assert warned(imported(shared / "samples/inspect/data_arc_qwen.json", {}), "first 3 of 2376 examples")

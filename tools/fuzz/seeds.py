"""Small good uploads of every format, for mutation to spoil."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.ingest.helpers import lines, npz, zipped

LM = "samples_t_2025-01-01T00-00-00.0.jsonl"
NAME = f"m/{LM}"
OPTIONS = {"orientation": "models_as_rows", "ids": "row_number"}


def _parquet(columns: dict[str, object]) -> bytes:
    pq.write_table(pa.table(columns), out := io.BytesIO())
    return out.getvalue()


def _npy() -> bytes:
    np.save(out := io.BytesIO(), np.eye(3))
    return out.getvalue()


def _lm(i: int) -> dict[str, object]:
    pairs = [["-1.0", "False"], ["-2.0", "True"]]
    return {
        "doc_id": i,
        "doc": {"q": "x"},
        "target": "1",
        "arguments": {"g": {"arg_0": "a", "arg_1": "b"}},
        "resps": [pairs],
        "filtered_resps": pairs,
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": f"h{i}",
        "acc": i % 2,
    }


_HEADER = {
    "version": 2,
    "status": "success",
    "eval": {
        "task": "t",
        "model": "m",
        "config": {"epochs": 1},
        "dataset": {"samples": 3, "sample_ids": [1, 2, 3]},
        "scorers": [{"name": "s"}],
    },
    "results": {"total_samples": 3, "scores": [{"name": "s", "metrics": {"accuracy": {"value": 0.5}}}]},
}
_SAMPLES = [{"id": i, "epoch": 1, "scores": {"s": {"value": "C"}}, "metadata": {"k": "v"}} for i in (1, 2)]
_STATS = [
    {
        "instance_id": f"id{i}",
        "train_trial_index": 0,
        "stats": [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1}],
    }
    for i in (1, 2)
]
_STATE = {
    "adapter_spec": {"method": "multiple_choice_separate_original"},
    "request_states": [
        {
            "instance": {"id": "id1", "references": [{"tags": ["correct"]}, {"tags": []}]},
            "reference_index": i,
            "request_mode": "original",
            "train_trial_index": 0,
            "result": {"completions": [{"logprob": -1.0}]},
        }
        for i in (0, 1)
    ],
}
_PROMPTFOO = {
    "promptIdx": 0,
    "testIdx": 0,
    "provider": {"id": "p", "label": "l"},
    "prompt": {"raw": "r", "label": "r"},
    "vars": {"q": 1},
    "testCase": {"assert": [{"type": "equals"}]},
    "success": True,
    "score": 1,
    "failureReason": 0,
}
_EEE = {
    "evaluation_id": "e",
    "model_id": "m",
    "evaluation_name": "n",
    "sample_id": "1",
    "evaluation": {"score": 1},
}
_OLD = {
    "full_prompt": ["a", "b"],
    "gold_index": ["[0]", "[1]"],
    "predictions": ["[(-1.0, True), (-2.0, False)]"] * 2,
    "metrics": ["{'acc': 1}", "{'acc': 0}"],
}
_NEW = {
    "doc": [{"id": "1", "query": "q", "task_name": "t|0", "gold_index": 0}],
    "metric": [{"acc": 1}],
    "model_response": [{"logprobs": [-1.0, -2.0]}],
}

SEEDS: Mapping[str, list[bytes]] = {
    "csv": [
        b"model,q1,q2\na,1,0\nb,0.5,\n",
        b"model,example_id,score,subtask,epoch\na,q1,1,x,1\na,q1,0,x,2\n",
        b"x;y\n0,5;1\n",
    ],
    "json": [
        b'{"models":["a","b"],"examples":["q"],"scores":[[1],[null]],"subtasks":["s"],"confidences":[[0.5],[1]]}',
        b'[{"model":"a","q":1,"r":null}]',
        b'{"a":{"q1":1,"q2":0}}',
    ],
    "jsonl": [lines({"model": "a", "example_id": i, "score": 1} for i in range(3)).encode()],
    "py_irt": [lines({"subject_id": s, "responses": {"q1": 1, "q2": 0.5}} for s in "ab").encode()],
    "npz": [npz(models=np.array(["a"]), examples=np.array(["q", "r"]), scores=np.array([[1.0, np.nan]]))],
    "npy": [_npy()],
    "parquet": [
        _parquet({"model": ["a", "b"], "q1": [1.0, None]}),
        _parquet({"model": ["a"], "example_id": [1.0], "score": [1]}),
    ],
    "lm_eval": [
        lines(map(_lm, range(3))).encode(),
        json.dumps([_lm(0), _lm(1)]).encode(),
        zipped({f"m/{LM}": lines([_lm(0)])}),
    ],
    "inspect": [
        json.dumps({**_HEADER, "samples": _SAMPLES}).encode(),
        zipped({"header.json": json.dumps(_HEADER), "summaries.json": json.dumps(_SAMPLES)}),
        zipped({"header.json": json.dumps(_HEADER), "samples/1_epoch_1.json": json.dumps(_SAMPLES[0])}),
    ],
    "helm": [
        json.dumps(_STATS).encode(),
        zipped(
            {"r/per_instance_stats.json": json.dumps(_STATS), "r/scenario_state.json": json.dumps(_STATE)}
        ),
    ],
    "lighteval": [_parquet(_OLD), _parquet(_NEW)],
    "every_eval_ever": [
        lines(
            [
                {
                    "evaluation_id": "e",
                    "model_id": "m",
                    "evaluation_name": "n",
                    "sample_id": "1",
                    "evaluation": {"score": 1},
                }
            ]
        ).encode()
    ],
    "openai_evals": [
        lines(
            [
                {"spec": {"completion_fns": ["m"], "eval_name": "e"}},
                {"sample_id": "1", "type": "match", "data": {"correct": True}},
                {"final_report": {"accuracy": 1}},
            ]
        ).encode()
    ],
    "evalplus": [
        b'{"date":"d","hash":"h","eval":{"T/0":[{"base_status":"pass","plus_status":"fail"}]},"pass_at_k":{}}',
        b'{"date":"d","eval":{"T/0":{"nfiles":1,"base":[["pass",[]]],"plus":[["fail",[]]]}}}',
    ],
    "swe_bench": [
        b'{"resolved_ids":["a"],"unresolved_ids":["b"],"error_ids":["c"],"submitted_instances":3}',
        b'{"a__b-1":{"resolved":true},"a__b-2":{"resolved":null}}',
    ],
    "livecodebench": [b'[{"question_id":1,"graded_list":[true,-2],"pass@1":0.5}]'],
    "promptfoo": [
        lines([_PROMPTFOO]).encode(),
        json.dumps({"evalId": "e", "results": {"version": 3, "results": [_PROMPTFOO]}}).encode(),
    ],
    "alpaca_eval": [
        b'[{"instruction":"i","preference":1.5,"generator_2":"m","dataset":"d","annotator":"a"}]'
    ],
    "terminal_bench": [
        b'{"id":"r","results":[{"task_id":"t","trial_name":"t.1","is_resolved":true}],"n_resolved":1,"accuracy":1.0}'
    ],
    "harbor": [
        b'{"id":"u","task_name":"t","trial_name":"t__a","agent_info":{"name":"a","model_info":{"name":"m"}},'
        b'"verifier_result":{"rewards":{"reward":1.0}},"exception_info":null}'
    ],
    "bfcl": [lines([{"accuracy": 0.5, "correct_count": 1, "total_count": 2}, {"id": "simple_1"}]).encode()],
}

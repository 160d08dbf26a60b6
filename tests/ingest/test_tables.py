"""Long tables in every container, wide Parquet, bare arrays, nested JSON, py-irt."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import TooLarge
from service.ingest import Limits
from tests.ingest.helpers import cells, lines, load, load_all, refused, report, warned

ROWS = [("a", "q1", 1.0), ("a", "q2", 0.0), ("b", "q1", 0.5), ("b", "q2", None)]


def table(rows: list[tuple[object, ...]], header: str = "model,example_id,score") -> str:
    text = "".join(",".join("" if c is None else str(c) for c in row) + "\n" for row in rows)
    return header + "\n" + text


def parquet(columns: dict[str, object]) -> bytes:
    pq.write_table(pa.table(columns), out := io.BytesIO())
    return out.getvalue()


EXPECTED = {("a", "q1"): 1.0, ("a", "q2"): 0.0, ("b", "q1"): 0.5, ("b", "q2"): None}


def test_long_in_every_container() -> None:
    records = [{"model": m, "example_id": e, "score": s} for m, e, s in ROWS]
    columns = {name: [r[name] for r in records] for name in ("model", "example_id", "score")}
    for data in (
        table(ROWS),
        table(ROWS).replace(",", "\t"),
        lines(records),
        json.dumps(records),
        parquet(columns),
    ):
        assert cells(load(data)) == EXPECTED
    assert cells(load(table(ROWS[::-1]))) == EXPECTED


@pytest.mark.parametrize("rows", [1, 2, 10])
@pytest.mark.parametrize("gaps", [False, True])
def test_wide_parquet_in_row_groups_of_any_size(rows: int, gaps: bool) -> None:
    scores = np.random.default_rng(0).integers(0, 2, (7, 3))
    columns = {"example": [f"q{j}" for j in range(7)]} | {f"m{i}": scores[:, i].tolist() for i in range(3)}
    if gaps:
        columns["m1"][4] = None
    pq.write_table(pa.table(columns), out := io.BytesIO(), row_group_size=rows)
    found = cells(load(out.getvalue(), missing="keep"))
    expected = {(f"m{i}", f"q{j}"): float(scores[j, i]) for i in range(3) for j in range(7)}
    assert found == expected | ({("m1", "q4"): None} if gaps else {})


def test_duplicates_name_both_rows_unless_they_are_repeats() -> None:
    rows = [*ROWS, ("a", "q1", 0.0)]
    problem = refused(
        table(rows), "model 'a' answers example 'q1' twice, with different scores", "row 2", "row 6"
    )
    assert len(problem.faults) == 2
    repeats = table([(*row, i) for i, row in enumerate(rows)], "model,example_id,score,epoch")
    upload = load(repeats)
    assert cells(upload)["a", "q1"] == 0.5
    assert upload.repeats is not None
    assert upload.repeats.tolist() == [[2, 1], [1, 0]]


def test_metric_and_filter_columns() -> None:
    rows = [("a", "q", "acc", "x", 1), ("a", "q", "acc", "y", 0), ("a", "q", "f1", "x", 0.25)]
    text = table(rows, "model,example,metric,filter,score")
    refused(text, "several metrics: 'acc', 'f1'")
    refused(text, "several filters: 'x', 'y'", metric="acc")
    assert cells(load(text, metric="acc", filter="y")) == {("a", "q"): 0}
    assert cells(load(text, metric="f1")) == {("a", "q"): 0.25}


def test_several_score_columns() -> None:
    text = table([("a", "q", 1, 0.5)], "model,example,is_correct,score")
    refused(text, "'score', 'is_correct' could all hold the score")
    assert cells(load(text, metric="score")) == {("a", "q"): 0.5}
    assert cells(load(table([("a", "q", 1)], "model,example,rouge"), metric="rouge")) == {("a", "q"): 1}


def test_column_names_given_twice() -> None:
    refused("model,example,score,score\na,q,1,0\n", "the table has 2 columns called 'score'")
    refused("model,Model,example,score\na,b,q,1\n", "it is unclear whether the rows")


def test_eval_arena_counts() -> None:
    rows = [("hm", "a", "q1", 0.5745454545, 1100, 632), ("hm", "a", "q2", 1, 2, 2)]
    upload = load(table(rows, "benchmark_id,model,example_id,pass1,count,correct"))
    assert cells(upload) == {("a", "q1"): 632 / 1100, ("a", "q2"): 1}
    assert upload.repeats is not None
    assert upload.repeats.tolist() == [[1100, 2]]
    two = table([("h", "a", "q", 1), ("m", "a", "q", 0)], "benchmark_id,model,example_id,pass1")
    upload = load(two)
    assert upload.matrix.examples == ("h/q", "m/q")
    assert upload.matrix.subtasks == ("h", "m")


def test_subtasks_and_confidences() -> None:
    rows = [
        ("a", "q1", 1, "x", 0.5),
        ("a", "q2", 0, "y", 0.25),
        ("b", "q1", 1, "x", 1),
        ("b", "q2", 0, "y", 0),
    ]
    upload = load(table(rows, "model,example,score,subtask,confidence"))
    assert upload.matrix.subtasks == ("x", "y")
    assert upload.matrix.confidences is not None
    assert upload.matrix.confidences.tolist() == [[0.5, 0.25], [1, 0]]
    rows[2] = ("b", "q1", 1, "y", 1)
    refused(
        table(rows, "model,example,score,subtask,confidence"),
        "row 4: example 'q1' has the subtask 'y' here and 'x'",
    )
    rows[2] = ("b", "q1", 1, None, 1)
    refused(table(rows, "model,example,score,subtask,confidence"), "row 4: the subtask has no name")
    refused(
        "example,m,subtask\nq1,1,x\nq2,1,\n",
        "row 3, column 'subtask': the subtask has no name",
        subtask="subtask",
    )


@pytest.mark.parametrize(
    ("rows", "needle"),
    [
        ([("a", "q1", 2)], "row 2: score 2"),
        ([("a", "q1", "good")], "row 2: 'good' is not a score"),
        ([("a", "q1", "nan")], "'nan' is not a score"),
        ([(None, "q1", 1)], "row 2: the model has no name"),
        ([("a", None, 1)], "row 2: the example has no name"),
    ],
)
def test_long_refusals(rows: list[tuple[object, ...]], needle: str) -> None:
    refused(table(rows), needle)


def test_one_model_without_a_model_column() -> None:
    text = "example,score\nq1,1\nq2,0\n"
    assert cells(load(text, model="m")) == {("m", "q1"): 1, ("m", "q2"): 0}
    assert cells(
        load('{"task_id": "q1", "passed": true}\n{"task_id": "q2", "passed": false}\n', model="m")
    ) == {
        ("m", "q1"): 1,
        ("m", "q2"): 0,
    }


def test_the_named_model_of_several() -> None:
    upload = load(table(ROWS), model="a")
    assert cells(upload) == {("a", "q1"): 1, ("a", "q2"): 0}
    refused(table(ROWS), "none of the 2 models in the upload ('a', 'b') is 'c'", model="c")
    renamed = load("model,q1\nx,1\n", model="y")
    assert renamed.matrix.models == ("y",)
    assert warned(renamed, "calls the model 'x'; it is stored as 'y'")


def test_several_tables_join_by_id() -> None:
    upload = load_all({"1.csv": "model,q1,q2\na,1,0\n", "2.csv": "model,q2,q1\nb,1,0.5\n"})
    assert cells(upload) == {("a", "q1"): 1, ("a", "q2"): 0, ("b", "q1"): 0.5, ("b", "q2"): 1}


def test_parquet_wide_types_and_embeddings() -> None:
    data = {
        "a": pa.array([1, 0, None], pa.int64()),
        "b": [0.5, float("nan"), 1.0],
        "c": [True, False, True],
        "id": [3.0, 1.0, 2.0],
        "embedding": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    }
    upload = load(parquet(data), orientation="models_as_columns")
    assert upload.matrix.examples == ("1", "2", "3")
    assert upload.matrix.missing_cells == 2
    assert upload.matrix.embeddings is not None
    assert upload.matrix.embeddings.tolist() == [[3, 4], [5, 6], [1, 2]]
    assert warned(upload, "1.0 is read as 1")
    words = {"example": ["q1", "q2"], "m": pa.array(["true", "false"]).dictionary_encode()}
    assert cells(load(parquet(words))) == {("m", "q1"): 1, ("m", "q2"): 0}


def test_parquet_refusals() -> None:
    good = parquet({"example": ["q1"], "m": [1.0]})
    refused(good[:-8], "not a Parquet file", format="parquet")
    refused(parquet({"example": ["q1"], "m": [{"x": 1}]}), "not scores", "ignore=m")
    refused(parquet({"example": ["q1"], "m": [1.0], "embedding": [[1.0, None]]}), "not finite")
    refused(
        parquet({"example": ["q1", "q2"], "m": [1.0, 1.0], "embedding": [[1.0], [1.0, 2.0]]}),
        "have different lengths",
    )
    with pytest.raises(TooLarge):
        load(parquet({"example": [f"q{i}" for i in range(9)], "m": [1.0] * 9}), limits=Limits(cells=4))


def npy(array: object) -> bytes:
    np.save(out := io.BytesIO(), np.asarray(array))
    return out.getvalue()


def test_npy() -> None:
    options = {"orientation": "models_as_rows", "ids": "row_number"}
    upload = load(npy([[1.0, np.nan], [0.0, 1.0]]), **options)
    assert cells(upload) == {("0", "0"): 1, ("0", "1"): None, ("1", "0"): 0, ("1", "1"): 1}
    assert warned(upload, "named by their number")
    refused(npy([[1.0]]), "without names", ids="row_number")
    refused(npy([1.0]), "shape (1,)", **options)
    refused(npy([["a"]]), "<U1", **options)
    refused(npy([[255]]), "mapping=255:missing", **options)


def test_nested_json() -> None:
    text = json.dumps({"m1": {"q1": 1, "q2": True}, "m2": {"q1": 0}})
    refused(text, "'true' is not a score", orientation="models_as_rows")
    text = json.dumps({"m1": {"q1": 1, "q2": 0}, "m2": {"q1": 0}})
    refused(text, "the outer keys are 'm1', 'm2' and the inner ones 'q1', 'q2'")
    by_model = load(text, orientation="models_as_rows")
    assert cells(by_model) == {("m1", "q1"): 1, ("m1", "q2"): 0, ("m2", "q1"): 0, ("m2", "q2"): None}
    turned = json.dumps({"q1": {"m1": 1, "m2": 0}, "q2": {"m1": 0}})
    assert cells(load(turned, orientation="models_as_columns")) == cells(by_model)


def test_json_records_wide() -> None:
    records = [{"example_id": 1, "m": 1}, {"example_id": "01", "m": 0}]
    assert cells(load(json.dumps(records))) == {("m", "1"): 1, ("m", "01"): 0}
    refused(json.dumps([*records, {"example_id": "1", "m": 0}]), "once ids are text", "/0 and /2")
    refused(json.dumps([{"example_id": 1.0, "m": 1}]), "neither text nor a whole number")
    refused('[{"example_id": "a", "m": 1, "m": 0}]', "'m' occurs twice")


def test_py_irt() -> None:
    text = lines(
        [{"subject_id": "a", "responses": {"q1": 1, "q2": 0.5}}, {"subject_id": "b", "responses": {"q1": 0}}]
    )
    upload = load(text.rstrip("\n"))
    assert cells(upload) == {("a", "q1"): 1, ("a", "q2"): 0.5, ("b", "q1"): 0, ("b", "q2"): None}
    assert report(upload, "b").not_run == 1
    refused(text + text, "model 'a' answers example 'q1' twice", "line 1", "line 3")
    refused(lines([{"subject_id": "a", "responses": {"q1": 3}}]), "score 3")
    refused('{"subject_id": "a", "responses": {"q1": 1, "q1": 0}}\n', "'q1' occurs twice")
    refused('{"subject_id": "a", "responses": []}\n', "needs subject_id and responses")


def test_decimal_comma() -> None:
    assert cells(load("model;q1;q2\na;0,5;1\n")) == {("a", "q1"): 0.5, ("a", "q2"): 1}


def test_lines_of_something_else() -> None:
    refused(
        lines([{"prompt": "x", "answer": "y"}] * 2), "fields 'answer', 'prompt'", "model, example and score"
    )


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from([0, 1, 0.5, None])),
        min_size=1,
    )
)
def test_long_equals_a_dictionary(rows: list[tuple[str, str, float | None]]) -> None:
    distinct = {(m, e): s for m, e, s in rows}
    upload = load(table([(m, e, s) for (m, e), s in distinct.items()]))
    found = cells(upload)
    models, examples = {m for m, _ in distinct}, {e for _, e in distinct}
    assert found == {(m, e): distinct.get((m, e)) for m in models for e in examples}

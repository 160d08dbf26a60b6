"""Wide CSV and TSV: both orientations, and every way they go wrong."""

from __future__ import annotations

import gzip
import io
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from service.core.errors import InvalidUpload, TooLarge
from service.ingest import Limits, Options, read
from tests.ingest.helpers import load, refused

TINY = "model,q1,q2,q3\nb,1,0,1\na,0,0,1\n"


@pytest.mark.shared
def test_gpqa_as_it_is(shared: Path) -> None:
    options = Options.parse({"orientation": "models_as_rows"})
    with (shared / "data/gpqa/correctness.csv.gz").open("rb") as stream:
        upload = read(stream, filename="correctness.csv.gz", options=options, limits=Limits())
    assert upload.matrix.scores.shape == (420, 448)
    assert upload.matrix.binary
    assert round(float(upload.matrix.accuracies.mean()), 5) == 0.29077


def test_rows_are_models() -> None:
    matrix = load(TINY).matrix
    assert matrix.models == ("a", "b")
    assert matrix.examples == ("q1", "q2", "q3")
    assert matrix.scores.tolist() == [[0, 0, 1], [1, 0, 1]]


def test_columns_are_models() -> None:
    text = "example_id,b,a\nq1,1,0\nq2,0,0\nq3,1,1\n"
    assert load(text).matrix.scores.tolist() == load(TINY).matrix.scores.tolist()


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_compressed(pack: Callable[[bytes], bytes]) -> None:
    assert load(pack(TINY.encode())).matrix.models == ("a", "b")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_separators(mark: str) -> None:
    assert load(TINY.replace(",", mark)).matrix.scores.sum() == 3


def test_separators_within_ids() -> None:
    assert load("example\tm,1\tm,2,3\nWhat, now?\t1\t0\n").matrix.models == ("m,1", "m,2,3")
    assert load('model,"q;1;2;3","q;2"\na,1,0\n').matrix.examples == ("q;1;2;3", "q;2")


def test_byte_order_mark_blank_lines_and_carriage_returns() -> None:
    assert load(b"\xef\xbb\xbf\r\n" + TINY.replace("\n", "\r\n\r\n").encode()).matrix.scores.sum() == 3


def test_ids_with_quotes_and_newlines() -> None:
    matrix = load('model,"q,1","q\n2"\n"a ""x""",1,0\n').matrix
    assert matrix.examples == ("q\n2", "q,1")
    assert matrix.models == ('a "x"',)


def test_ids_stay_text() -> None:
    assert load("example,m\n1,1\n01,0\n1.0,1\n").matrix.examples == ("01", "1", "1.0")


def test_shuffled_rows_and_columns_give_the_same_matrix() -> None:
    first, second = load(TINY).matrix, load("model,q3,q1,q2\na,1,0,0\nb,1,1,0\n").matrix
    assert first.models == second.models
    assert first.scores.tobytes() == second.scores.tobytes()


@pytest.mark.parametrize("blank", ["", "NA", "null", '""', '"NA"'])
def test_empty_cells_are_missing(blank: str) -> None:
    text = f"model,q1,q2\na,{blank},1\nb,0,1\n"
    upload = load(text)
    assert upload.matrix.missing_cells == 1
    assert upload.models[0].mean == 1
    assert (upload.models[0].scored, upload.models[0].unscored) == (1, 1)
    assert load(text, missing="zero").models[0].mean == 0.5
    assert "counted as wrong" in load(text, missing="zero").warnings[0]
    refused(
        text, "1 cell without a score, in 1 model and 1 example", "model 'a', example 'q1'", missing="reject"
    )


def test_graded_scores_are_kept_as_they_are() -> None:
    assert load("model,q1,q2\na,0.25,1\n").matrix.scores.tolist() == [[0.25, 1]]


def test_truth_words() -> None:
    assert load("model,q1,q2\na,True,false\nb,FALSE,\n").matrix.scores.tolist() == [[1, 0], [0, 0]]


def test_mapping_turns_words_into_scores() -> None:
    upload = load("model,q1,q2\na,yes,no\nb,1,err\n", mapping="yes:1,no:0,err:missing")
    assert upload.matrix.scores.tolist() == [[0 + 1, 0], [1, 0]]
    assert upload.matrix.missing_cells == 1


def test_scales() -> None:
    assert load("model,q1,q2\na,50,100\n", scale="percent").matrix.scores.tolist() == [[0.5, 1]]
    assert load("model,q1,q2\na,1.25,2\n", scale="1..2").matrix.scores.tolist() == [[0.25, 1]]
    assert load("model,q1,q2\na,0,10\n", scale="10..0").matrix.scores.tolist() == [[1, 0]]


def test_sentinels_by_mapping() -> None:
    upload = load("model,q1,q2\na,-1,1\n", mapping="-1:missing")
    assert upload.matrix.missing_cells == 1


def test_mapping_leaves_other_numbers_exact() -> None:
    upload = load("model,q1,q2,q3\na,-1,0.123456789012,1\n", mapping="-1:missing")
    assert upload.matrix.scores.tolist() == [[0, 0.123456789012, 1]]
    refused("model,q1,q2\na,7,1\n", "if the column does not hold scores, name it in ignore=")


@pytest.mark.parametrize(
    ("text", "needles"),
    [
        ("model,q1,q2\na,1\n", ["row 2 has 2 cells, but the header has 3"]),
        ("model,q1,q2\na,1,0\nb,1,0,1\n", ["row 3 has 4 cells"]),
        ("model,q1,q2\na,1,0\nb,1,0\na,0,0\n", ["model 'a' occurs twice", "row 2 and row 4"]),
        ("model,q1,q1\na,1,0\n", ["example 'q1' occurs twice", "column 2 and column 3"]),
        ("model,q1,q2\na,1,1.5\n", ["row 2, column 'q2'", "score 1.5", "model 'a', example 'q2'"]),
        ("model,q1,q2\na,1,-0.5\n", ["score -0.5"]),
        ("model,q1,q2\na,1,nan\n", ["score nan", "Leave the cell empty"]),
        ("model,q1,q2\na,1,NaN\n", ["score nan"]),
        ("model,q1,q2\na,1,inf\n", ["score inf"]),
        ("model,q1,q2\na,1,yes\nb,0,1\n", ["row 2, column 'q2'", "'yes' is not a score", "mapping=yes:1"]),
        ("model,q1,q2\na,1,50\n", ["scale=percent"]),
        ("model,q1,q2\na,1,9\n", ["mapping=9:missing"]),
        ("model,q1,q2\na\0,1,0\n", ["U+0000", "row 2"]),
        ("model,q1,q\0\na,1,0\n", ["U+0000"]),
        ("model,q1,\na,1,0\n", ["column 3: the example has no name"]),
        ("model,q1,q2\n,1,0\n", ["row 2: the model has no name"]),
        ("model,q1,q2\n", ["header but no rows"]),
        ("model,q1,q2", ["header but no rows"]),
        ('model,q1,q2\n"a,1,0\n', ["row 2 is broken"]),
        ("foo,q1,q2\na,1,0\n", ["orientation=models_as_rows or orientation=models_as_columns"]),
        ("model,q1,where\na,1,x\nb,0,y\n", ["'where' hold words that are not scores", "ignore=where"]),
    ],
)
def test_refusals(text: str, needles: list[str]) -> None:
    problem = refused(text, *needles, kind=InvalidUpload)
    assert problem.faults


def test_empty_body() -> None:
    refused("", "is empty", kind=InvalidUpload)


def test_invalid_utf8_is_placed() -> None:
    refused(b"model,q1,q2\na,1,0\n\xffb,1,0\n", "row 3 is not UTF-8")
    refused(b"model,q\xff,q2\na,1,0\n", "row 1")
    refused("model,q1\na,1\n".encode("utf-16"), "UTF-16", format="csv")


def test_header_against_orientation() -> None:
    refused(TINY, "rows are models", orientation="models_as_columns")


def test_no_id_column() -> None:
    text = "m1,m2,m3\n1,0,1\n0,0,1\n"
    refused(text, "no column names the examples", "ids=row_number", orientation="models_as_columns")
    upload = load(text, orientation="models_as_columns", ids="row_number")
    assert upload.matrix.examples == ("0", "1")
    assert upload.matrix.models == ("m1", "m2", "m3")


def test_numbered_ids_under_any_name() -> None:
    assert load("nr,m\n0,1\n1,0\n2,1\n", orientation="models_as_columns").matrix.examples == ("0", "1", "2")


def test_metadata_columns() -> None:
    text = "example,m1,m2,kind\nq1,1,0,easy\nq2,0,0,hard\n"
    refused(text, "'kind' hold words that are not scores", "subtask=<column>")
    assert load(text, ignore="kind").matrix.models == ("m1", "m2")
    assert load(text, subtask="kind").matrix.subtasks == ("easy", "hard")
    refused(text, "no column 'sort'", subtask="sort")


def test_frequency_tables_expand() -> None:
    text = '"","i1","i2","freq"\n"1",0,0,2\n"2",1,0,3\n'
    matrix = load(text, orientation="models_as_rows", frequency="freq").matrix
    assert matrix.models == ("1#1", "1#2", "2#1", "2#2", "2#3")
    assert matrix.scores.tolist() == [[0, 0]] * 2 + [[1, 0]] * 3
    refused(text, "send frequency=freq", orientation="models_as_rows")


def test_bombs_and_limits() -> None:
    bomb = gzip.compress(b"model,q1\n" + b"a,1\n" * 1_000_000)
    for data in (bomb, zstandard.ZstdCompressor().compress(bytes(4_000_000))):
        with pytest.raises(TooLarge, match="expands to more than"):
            load(data, limits=Limits(bytes=1_000_000))
    for limits in (Limits(models=1), Limits(examples=2), Limits(cells=5), Limits(bytes=5)):
        with pytest.raises(TooLarge):
            load(TINY, limits=limits)


def test_broken_compression() -> None:
    refused(gzip.compress(TINY.encode())[:-9], "cannot be decompressed")
    refused(zstandard.ZstdCompressor().compress(TINY.encode())[:-3], "cannot be decompressed")


@given(st.data())
def test_what_is_written_is_read(data: st.DataObject) -> None:
    raw = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)
    # Ids that are not composed are refused.
    text = raw.map(lambda some: unicodedata.normalize("NFC", f"x{some}"))
    models = data.draw(st.lists(text, min_size=1, max_size=4, unique=True))
    examples = data.draw(st.lists(text, min_size=2, max_size=4, unique=True))
    cell = st.one_of(st.none(), st.sampled_from([0.0, 1.0]), st.floats(0, 1))
    cells = data.draw(st.lists(st.lists(cell, min_size=len(examples), max_size=len(examples)),
                               min_size=len(models), max_size=len(models)))  # fmt: skip
    out = io.StringIO()
    _write(out, ["model", *examples], [[m, *row] for m, row in zip(models, cells, strict=True)])
    matrix = load(out.getvalue(), format="csv", orientation="models_as_rows", limits=Limits()).matrix
    for i, model in enumerate(models):
        for j, example in enumerate(examples):
            at = matrix.models.index(model), matrix.examples.index(example)
            gone = matrix.missing is not None and bool(matrix.missing[at])
            assert gone == (cells[i][j] is None)
            assert gone or float(matrix.scores[at]) == cells[i][j]


def _write(out: io.StringIO, header: list[str], rows: list[list[object]]) -> None:
    for row in [header, *rows]:
        out.write(",".join('"' + ("" if c is None else str(c)).replace('"', '""') + '"' for c in row) + "\n")


def test_memory_layout_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (7, 300))
    rows = "model," + ",".join(f"q{j:03}" for j in range(300)) + "\n"
    rows += "".join(f"m{i}," + ",".join(map(str, row)) + "\n" for i, row in enumerate(cells.tolist()))
    assert np.array_equal(load(rows).matrix.scores, cells)

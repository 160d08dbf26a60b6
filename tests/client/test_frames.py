"""Frames in every shape that people have become the bytes that the service reads."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from tastetest_client._frames import Rows, uploaded
from tastetest_client.errors import InvalidData
from tastetest_client.results import CurveRow

WIDE = pd.DataFrame({"q1": [1.0, 0.0], "q,2": [0.5, None]}, index=["a", "b"])


def sent(data: Any) -> str:
    upload, release = uploaded(data)
    text = upload.file.read().decode()
    release()
    return text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (WIDE.rename_axis("model"), 'model,q1,"q,2"\na,1.0,0.5\nb,0.0,\n'),
        (WIDE, 'id,q1,"q,2"\na,1.0,0.5\nb,0.0,\n'),
        (WIDE.reset_index(drop=True)[1:], 'q1,"q,2"\n0.0,\n'),
        (pl.DataFrame({"model": ["a"], "example": ["007"], "score": [1]}), "model,example,score\na,007,1\n"),
        (pl.LazyFrame({"model": ["a"], "q": [1]}), "model,q\na,1\n"),
        ({"q1": True, 'q"2': 0.5, "q3": None}, 'example,score\nq1,1.0\n"q""2",0.5\nq3,\n'),
        (WIDE["q,2"], "example,score\na,0.5\nb,\n"),
        (b"raw", "raw"),
        (io.BytesIO(b"open"), "open"),
    ],
)  # fmt: skip
def test_a_frame_is_sent_as_a_table(data: Any, text: str) -> None:
    assert sent(data) == text


def test_a_file_is_sent_under_its_name_and_closed(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text("{}")
    upload, release = uploaded(str(tmp_path / "log.json"))
    release()
    assert upload.name == "log.json"
    assert upload.file.closed


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: 7, "builtins.int"),
        (lambda: [[1, 0]], "DataFrame"),
        (lambda: WIDE[:0], "empty"),
        (lambda: Path("no/such.csv"), "no/such.csv cannot be read"),
        (lambda: WIDE.rename_axis("q1"), "q1"),
    ],
)
def test_what_cannot_be_sent_is_named(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(InvalidData, match=says):
        uploaded(make())


@pytest.mark.parametrize(("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_records_become_a_frame_with_intervals_as_two_columns(backend: Any, kind: type) -> None:
    row = CurveRow("random", None, 10, 0.05, (0.04, 0.06), 0.9, 0.01, 55, None)
    made = Rows([row, CurveRow("random", None, 20, None, None, None, None, None, "few pairs")]).to_frame(
        backend
    )
    assert isinstance(made, kind)
    assert made["interval_low"][0] == 0.04
    assert list(made["size"]) == [10, 20]
    assert made.shape == (2, 10)

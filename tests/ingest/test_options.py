"""What a caller may say about an upload."""

from __future__ import annotations

import pytest

from service.core.errors import InvalidRequest
from service.ingest import Options
from service.ingest.options import Scale
from tests.ingest.helpers import load


def test_all_options() -> None:
    parsed = Options.parse(
        {
            "format": "csv",
            "orientation": "models_as_rows",
            "metric": "acc, f1",
            "filter": "strict",
            "subtask": "topic",
            "missing": "zero",
            "model": "m",
            "ignore": "a,b",
            "frequency": "freq",
            "ids": "row_number",
            "unmatched": "keep",
            "scale": "10..0",
            "mapping": "yes:1,no:0,a:b:0.5,-1:missing",
        }
    )
    assert parsed.metric == ("acc", "f1")
    assert parsed.ignore == ("a", "b")
    assert parsed.scale == Scale(10, 0)
    assert parsed.mapping == {"yes": 1, "no": 0, "a:b": 0.5, "-1": None}
    assert Options.parse({}) == Options()
    assert Options.parse({"scale": "percent"}).scale == Scale(0, 100)


@pytest.mark.parametrize(
    ("name", "text", "needle"),
    [
        ("colour", "x", "there is no option 'colour'"),
        ("orientation", "rows", "models_as_rows, models_as_columns"),
        ("missing", "", "keep, reject, zero"),
        ("scale", "1", "worst..best"),
        ("scale", "1..1", "two different finite ends"),
        ("scale", "0..inf", "two different finite ends"),
        ("scale", "a..b", "worst..best"),
        ("mapping", "yes", "word:score"),
        ("mapping", "yes:nan", "word:score"),
        ("mapping", "yes:maybe", "word:score"),
    ],
)
def test_what_is_no_option(name: str, text: str, needle: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Options.parse({name: text, "ids": "given"})
    assert needle in caught.value.detail
    assert [fault.pointer for fault in caught.value.faults] == [f"/{name}"]


def test_every_bad_option_is_named() -> None:
    with pytest.raises(InvalidRequest) as caught:
        Options.parse({"ids": "x", "missing": "y"})
    assert [fault.pointer for fault in caught.value.faults] == ["/ids", "/missing"]


def test_an_unknown_format_lists_the_known() -> None:
    with pytest.raises(InvalidRequest, match="inspect, lm_eval, helm"):
        load("model,q\na,1\n", format="excel")

"""Big logs are read a record at a time: what they hold never lies in memory at once."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable

import pytest

from service.core.errors import TooLarge
from service.ingest import Limits, Upload, documents, streams
from service.ingest.documents import without_nan
from tests.ingest.helpers import load, refused, report

LM = "m/samples_t_2025-01-01T00-00-00.0.jsonl"
TEXT = "an answer of ordinary length, of which a model writes many; " * 400
MIB = 1 << 20


@pytest.fixture(autouse=True)
def _small_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts as small, made smaller, so that the logs need not be huge."""
    monkeypatch.setattr(documents, "WHOLE", MIB)
    monkeypatch.setattr(streams, "IN_MEMORY", MIB)


def peak(read: Callable[[], Upload]) -> tuple[Upload, float]:
    """The upload, and the most MiB that reading it took."""
    tracemalloc.start()
    try:
        upload = read()
        return upload, tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def packed(name: str, chunks: list[bytes]) -> bytes:
    """A zip with one large entry."""
    with (
        zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w") as entry,
    ):
        for chunk in chunks:
            entry.write(chunk)
    return out.getvalue()


def lm_lines(n: int) -> list[bytes]:
    return [
        json.dumps(
            {"doc_id": i, "doc": {"q": TEXT}, "resps": [[TEXT]], "filtered_resps": [TEXT], "acc": i % 2}
        ).encode()
        + b"\n"
        for i in range(n)
    ]


def test_json_lines() -> None:
    data = packed(LM, lm_lines(300))
    upload, mib = peak(lambda: load(data))
    assert report(upload).mean == 0.5
    assert mib < 10


def test_a_pretty_printed_array() -> None:
    lines = [line.rstrip() for line in lm_lines(300)]
    data = packed(LM.replace("jsonl", "json"), [b"[", b",\n".join(lines), b"]"])
    upload, mib = peak(lambda: load(data))
    assert len(upload.matrix.examples) == 300
    assert mib < 12


def inspect_log(n: int) -> list[bytes]:
    head = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "plan": {}, "samples": []}
    start = json.dumps(head).removesuffix("]}").encode()
    samples = [
        json.dumps(
            {
                "id": i,
                "epoch": 1,
                "messages": [TEXT],
                "scores": {"s": {"value": float("nan") if i % 4 == 0 else "C"}},
            }
        )
        for i in range(n)
    ]
    return [start, ",".join(samples).encode(), b"]}"]


def test_an_inspect_log_with_bare_nan() -> None:
    chunks = inspect_log(400)
    assert sum(map(len, chunks)) > 4 * documents.WHOLE
    upload, mib = peak(lambda: load(packed("log.json", chunks)))
    assert (report(upload).scored, report(upload).unscored, report(upload).mean) == (300, 100, 1)
    assert mib < 12


def test_a_compressed_upload_goes_through_the_disk() -> None:
    data = gzip.compress(b"".join(lm_lines(300)), 1)
    upload, mib = peak(lambda: load(data, LM + ".gz"))
    assert len(upload.matrix.examples) == 300
    assert mib < 12


def test_one_record_larger_than_the_limit() -> None:
    with pytest.raises(TooLarge, match="line 1 has more than"):
        load(lm_lines(1)[0], LM, limits=Limits(record=1_000))


def test_broken_and_bottomless_documents_in_a_stream() -> None:
    chunks = inspect_log(400)
    refused(packed("log.json", [chunks[0], chunks[1][:-9]]), "is not valid JSON")
    refused(packed("log.json", [chunks[0], chunks[1], b"," + b"[" * 100_000]), "is nested more than")


def test_nan_only_outside_strings() -> None:
    text = rb'{"NaN": [NaN, -Infinity, "a \" NaN", Infinity], "x": "\\", "y": NaN}'
    assert without_nan(text) == rb'{"NaN": [null, null, "a \" NaN", null], "x": "\\", "y": null}'

"""A minute of fuzzing in the suite: every reader on spoiled input, found by hypothesis' seeds."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.fuzz.check import check
from tools.fuzz.mutate import spoil
from tools.fuzz.seeds import NAME, OPTIONS, SEEDS


@pytest.mark.parametrize("name", SEEDS)
def test_seeds_are_good(name: str) -> None:
    for data in SEEDS[name]:
        assert check(data, NAME, OPTIONS), data


@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=60, deadline=5_000, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**64))
def test_spoiled_input_is_read_or_refused(name: str, seed: int) -> None:
    rng = random.Random(seed)
    data = spoil(rng.choice(SEEDS[name]), rng)
    check(data, NAME, OPTIONS | ({"format": name} if rng.random() < 0.5 else {}))


@settings(max_examples=150, deadline=5_000)
@given(st.binary(max_size=300), st.sampled_from([None, *SEEDS]))
def test_any_bytes_under_any_format(data: bytes, name: str | None) -> None:
    check(data, "x", OPTIONS | ({"format": name} if name else {}))


FOUND = {
    "an NPY header that is no Python": ("npy", b"\x93NUMPY\x01\x00\x20\x00{'descr': '<f8', (            \n"),
    "an NPY cut short": ("npy", SEEDS["npy"][0][:-10]),
    "text in NPZ that is no Unicode": ("npz", SEEDS["npz"][0].replace(b"a\0\0\0", b"\xff\xff\xff\xff")),
    "a zip of a later version": (
        "npz",
        SEEDS["npz"][0].replace(b"PK\x01\x02\x2d\x03\x2d", b"PK\x01\x02\x2d\x03\xff"),
    ),
    "records without fields": ("json", b"[{}]"),
    "a long table without rows": ("csv", b"model,example_id,score\n"),
    "a document id that is a list": (
        "lm_eval",
        SEEDS["lm_eval"][0].replace(b'"doc_id": 0', b'"doc_id": [0]'),
    ),
    "a filter that is a number": ("lm_eval", SEEDS["lm_eval"][0].replace(b'"none"', b"7")),
    "a hash on some documents only": ("lm_eval", SEEDS["lm_eval"][0].replace(b'"doc_hash": "h0", ', b"")),
    "an example only a later model has, with no name": (
        "jsonl",
        b'{"model":"a","id":"q","score":1}\n{"model":"b","id":"","score":1}\n',
    ),
    "a member whose name is no UTF-8": (
        "helm",
        SEEDS["helm"][1].replace(b"\x00\x00\x00r/per", b"\x00\x08\x00r\xbd/pe", 1),
    ),
    "nothing but a blank line": ("bfcl", b"\n"),
    "brackets without end": ("inspect", b"[" * 100_000),
    "a string without end": ("json", b'{"' + b'\\"' * 100_000),
}


@pytest.mark.parametrize(("name", "data"), FOUND.values(), ids=FOUND)
def test_found_by_fuzzing(name: str, data: bytes) -> None:
    assert data not in SEEDS[name]
    check(data, NAME, OPTIONS)
    check(data, NAME, OPTIONS | {"format": name})

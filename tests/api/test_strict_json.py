"""JSON is read strictly, and each refusal names the place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.api import strict_json
from service.core.errors import InvalidRequest

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
numbers = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers
values = st.recursive(
    scalars | text, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
)


@given(values)
def test_sound_documents_are_read_as_any_reader_would(value: object) -> None:
    assert strict_json.parse(json.dumps(value).encode()) == value


def test_a_byte_order_mark_is_no_part_of_the_document() -> None:
    assert strict_json.parse(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("raw", "pointer", "code"),
    [
        (b'{"a": 1, "a": 2}', "", "duplicate_key"),
        (b'{"x": [0, {"a": 1, "b": 2, "b": 2}]}', "/x/1", "duplicate_key"),
        (b'{"seed": NaN}', "/seed", "non_finite"),
        (b'{"sizes": [1, -Infinity]}', "/sizes/1", "non_finite"),
        (b'{"a": 1e999}', "/a", "out_of_range"),
        (b'{"a": ' + b"9" * 5000 + b"}", "/a", "out_of_range"),
        (b'{"a/b": {"c~d": "x\\u0000y"}}', "/a~1b/c~0d", "nul_character"),
        (b'{"a\\u0000": 1}', "", "nul_character"),
        (b'{"a": "\\ud800"}', "/a", "lone_surrogate"),
        (b'{"a": "\xff"}', "", "invalid_utf8"),
        ('{"a": 1}'.encode("utf-16"), "", "invalid_utf8"),
        (b'{"a": 1', "", "invalid_json"),
        (b'{"a": 1} {"a": 1}', "", "invalid_json"),
        (b"{'a': 1}", "", "invalid_json"),
        (b"[" * 200_000, "", "too_deep"),
    ],
)
def test_what_other_readers_let_through_is_refused(raw: bytes, pointer: str, code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        strict_json.parse(raw)
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == (pointer, code)
    assert fault.message.endswith(".")


def test_a_surrogate_pair_is_a_character() -> None:
    assert strict_json.parse(b'"\\ud83d\\ude00"') == "\N{GRINNING FACE}"

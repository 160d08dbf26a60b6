"""What counts as a change, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden import stored
from tests.golden.changes import EXACT, ROUNDED, Tolerance, changes, complaint
from tests.golden.groups import GROUPS
from tests.golden.selecting import METHODS

OLD: dict[str, Any] = {
    "first": {"status": 200, "answer": {"score": 0.25, "ids": ["e1", "e2"], "said": "Two of them."}}
}


def changed(**fields: Any) -> dict[str, Any]:
    return {"first": {"status": 200, "answer": OLD["first"]["answer"] | fields}}


@pytest.mark.parametrize(
    ("old", "new", "allowed", "same"),
    [
        (0.25, 0.25 * (1 + 5e-10), EXACT, True),
        (0.25, 0.25 * (1 + 5e-9), EXACT, False),
        (0.0, 5e-13, EXACT, True),
        (0.0, 5e-12, EXACT, False),
        (0.0012345678, 0.0012345679, ROUNDED, True),
        (0.0012345678, 0.0012345680, ROUNDED, False),
        (1, 1.0, EXACT, True),
        (1, 2, EXACT, False),
        (10**12, 10**12 + 1, EXACT, False),
        (1, True, EXACT, False),
        (None, 0.0, EXACT, False),
        ([1.0, 2.0], [1.0], EXACT, False),
        ("e1", "e2", EXACT, False),
    ],
)
def test_numbers_may_differ_in_their_last_bits_and_nothing_else(
    old: Any, new: Any, allowed: Tolerance, same: bool
) -> None:
    assert (not list(changes(old, new, allowed))) is same


def test_a_changed_number_is_named_with_what_to_do() -> None:
    said = complaint("select", ("3", OLD), ("3", changed(score=0.26)))
    assert said == (
        "tests/golden/answers/select.json: answer 'first', field /answer/score was 0.25 and is 0.26, while "
        "ENGINE_VERSION is still '3'; if this is meant, raise ENGINE_VERSION, record again with `make "
        "golden` and review the diff, and note the change in the changelog."
    )


def test_a_changed_choice_goes_before_a_changed_text() -> None:
    said = complaint("select", ("3", OLD), ("3", changed(said="Both of them.", ids=["e1", "e3"])))
    assert "field /answer/ids/1 was 'e2' and is 'e3' (and 1 more), while ENGINE_VERSION" in str(said)


@pytest.mark.parametrize("now", [changed(said="Both of them."), changed(more=1)])
def test_texts_and_new_fields_need_no_new_version_of_the_engine(now: dict[str, Any]) -> None:
    said = complaint("compare", ("3", OLD), ("3", now))
    assert "a text or the shape of an answer only" in str(said)
    assert "`make golden`" in str(said)


def test_another_version_asks_for_a_review_and_none_stored_for_a_record() -> None:
    assert complaint("select", ("3", OLD), ("4", OLD)) == (
        "tests/golden/answers/select.json was recorded with ENGINE_VERSION '3' and this is '4': record again "
        "with `make golden` and review the diff."
    )
    assert "nothing is stored for select" in str(complaint("select", ("", {}), ("3", OLD)))
    assert complaint("select", ("3", OLD), ("3", OLD)) is None


def test_what_is_written_is_read_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "FOLDER", tmp_path / "answers")
    rows = [{"id": f"e{at}", "weight": at / 7, "tags": [at, None], "said": "x" * 40} for at in range(9)]
    answers = {"first": {"status": 200, "answer": {"rows": rows, "uneven": [{"a": 1}, {"b": {"c": 2}}, {}]}}}
    stored.write("some", "3", answers)
    version, read = stored.read("some")
    assert version == "3"
    assert not list(changes(answers, read))
    assert max(map(len, stored.path("some").read_text().splitlines())) < 120


def test_every_file_is_of_a_group_and_every_method_has_one() -> None:
    assert {path.stem for path in stored.FOLDER.glob("*.json")} == set(GROUPS)
    _, answers = stored.read("select_refusals")
    told = str(answers["unknown method"]["answer"]["detail"]).partition("known are ")[2]
    assert told == f"{', '.join(METHODS)}."

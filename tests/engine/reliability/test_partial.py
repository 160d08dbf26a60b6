"""What a running experiment shows is what the result will say of the same trials."""

from __future__ import annotations

import pytest

from service.engine.reliability import mdad_job
from service.engine.reliability.partial import so_far
from tests.engine import made

REQUEST = {"methods": ["random", "optimal_design"], "sizes": [5, 20], "trials": 12, "holdout": 0.5}


def test_all_trials_so_far_are_the_result_without_intervals() -> None:
    data = made.matrix(made.answers(30, 80))
    plan = made.plan_of(data, REQUEST)
    pieces = made.pieces_of(data, plan, 5)
    result = mdad_job.assemble(data, plan, pieces, made.silent)

    shown = so_far(plan, pieces)

    assert (shown["trials_done"], shown["trials"]) == (12, 12)
    for method, line in zip(shown["methods"], result["methods"], strict=True):
        assert method["label"] == line["label"]
        for cell, entry in zip(method["sizes"], line["sizes"], strict=True):
            for truth in ("same_items", "new_items"):
                expected = {key: entry[truth][key] for key in ("agreement", "mdad")}
                assert cell[truth] == pytest.approx(expected, abs=1e-9)


def test_some_trials_so_far_are_those_and_no_others() -> None:
    data = made.matrix(made.answers(30, 80))
    plan = made.plan_of(data, REQUEST)
    first, last = made.pieces_of(data, plan, 7)
    shown = so_far(plan, [last])
    assert (shown["trials_done"], shown["trials"]) == (5, 12)
    assert shown["methods"] != so_far(plan, [first])["methods"]
    assert so_far(plan, []) == {"trials_done": 0, "trials": 12, "methods": []}


def test_sizes_of_both_stages_are_shown_and_trials_beside_them_not_counted() -> None:
    data = made.matrix(made.answers(30, 80))
    plan = made.plan_of(data, {"methods": ["optimal_design"], "trials": 10})
    pieces = made.pieces_of(data, plan, 4)
    shown = so_far(plan, pieces)
    assert (shown["trials_done"], shown["trials"]) == (10, 10)
    (line,) = mdad_job.assemble(data, plan, pieces, made.silent)["methods"]
    assert [cell["size"] for cell in shown["methods"][0]["sizes"]] == [e["size"] for e in line["sizes"]]
    first = so_far(plan, [piece for piece in pieces if piece[0]["stage"] == 1])
    assert first["trials_done"] == 2
    assert {c["size"] for c in first["methods"][0]["sizes"]} < {e["size"] for e in line["sizes"]}

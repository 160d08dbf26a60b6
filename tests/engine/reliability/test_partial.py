"""What a running experiment shows is what the result will say of the same trials."""

from __future__ import annotations

import pytest

from service.engine.reliability import mdad_job
from service.engine.reliability.partial import so_far
from tests.engine import made

REQUEST = {"methods": ["random", "optimal_design"], "sizes": [5, 20], "trials": 12}


def test_all_trials_so_far_are_the_result_without_intervals() -> None:
    data = made.matrix(made.answers(30, 80))
    plan = made.plan_of(data, REQUEST)
    blobs = [mdad_job.run_part(data, plan, {"trials": span}, made.silent) for span in ([0, 5], [5, 12])]
    result = mdad_job.assemble(data, plan, blobs, made.silent)

    shown = so_far(plan, blobs)

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
    last = mdad_job.run_part(data, plan, {"trials": [7, 12]}, made.silent)
    shown = so_far(plan, [last])
    assert (shown["trials_done"], shown["trials"]) == (5, 12)
    first = mdad_job.run_part(data, plan, {"trials": [0, 7]}, made.silent)
    assert shown["methods"] != so_far(plan, [first])["methods"]
    assert so_far(plan, []) == {"trials_done": 0, "trials": 12, "methods": []}

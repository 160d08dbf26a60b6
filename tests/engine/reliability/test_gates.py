"""What a gate finds is said beside the MDAD, and a pull-request check gets the size that finds its drop."""

from __future__ import annotations

import numpy as np
import pytest

from service.engine.comparison import GateRule
from service.engine.comparison.planned_gate import planned_gate
from service.engine.data.contracts import Source
from service.engine.planning.plan import PlanError
from service.engine.reliability import gates
from tests.engine import made

DATA = made.matrix(made.answers(40, 400, seed=3))


def test_a_gate_sees_less_than_the_mdad_says() -> None:
    result = made.run(DATA, methods=["random"], target_mdad=0.06)
    (gate,) = result["gates"]
    assert (gate["label"], gate["preset"], gate["confidence"]) == ("random", "regression", 0.9)
    size = result["recommendation"]["size"]
    at = next(entry for entry in gate["by_size"] if entry["size"] == size)
    assert at["smallest_detectable_drop"] > result["recommendation"]["mdad"]
    assert at["by_drop"][0]["fail"] == pytest.approx(0.05, abs=1e-6)
    drops = [entry["smallest_detectable_drop"] for entry in gate["by_size"]]
    assert drops == sorted(drops, reverse=True)


def test_a_check_gets_the_fewest_examples_that_find_its_drop() -> None:
    result = made.run(
        DATA, methods=["random", "optimal_design"], purpose="pull_request_check", drop=0.1, trials=3
    )
    found = result["recommendation"]
    sizes = {gate["label"]: gate["size"] for gate in result["gates"]}
    assert found["size"] == min(sizes.values())
    assert found["method"] == min(sizes, key=sizes.__getitem__)
    assert f"Use {found['size']} of 400" in found["sentence"]
    assert "a drop of 10 points" in found["sentence"]
    rule = GateRule(confidence=0.9, preset="regression")
    source = Source(DATA.scores, DATA.strata)
    planned = planned_gate(0.1, [*gates.SIZES[:4], 400], rule, total=400, disagreement=0.4, source=source)
    assert sizes["random"] == pytest.approx(planned.size, rel=0.1)


def test_a_larger_drop_needs_fewer_examples() -> None:
    sizes = [
        made.run(DATA, methods=["random"], purpose="pull_request_check", drop=drop)["recommendation"]["size"]
        for drop in (0.05, 0.1, 0.2)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 * sizes[2]


def test_a_drop_of_less_than_an_example_needs_them_all() -> None:
    found = made.run(DATA, methods=["random"], purpose="pull_request_check", drop=0.001)["recommendation"]
    assert (found["status"], found["size"]) == ("use_full_benchmark", None)
    assert "full benchmark" in found["sentence"]


def test_better_models_are_checked_on_a_sample() -> None:
    ask = {"methods": ["random", "optimal_design"], "purpose": "pull_request_check", "drop": 0.1, "trials": 3}
    found = made.run(DATA, expect="better", **ask)["recommendation"]
    assert found["method"] == "random"


def test_the_drop_goes_with_its_purpose() -> None:
    with pytest.raises(PlanError, match="Say the drop"):
        made.run(DATA, methods=["random"], purpose="pull_request_check")
    with pytest.raises(PlanError, match="goes with the purpose"):
        made.run(DATA, methods=["random"], drop=0.1)


def test_equal_models_have_no_gate() -> None:
    same = made.matrix(np.tile(made.answers(1, 60), (12, 1)))
    found = made.run(same, methods=["random"], purpose="pull_request_check", drop=0.1)
    assert found["gates"] == []
    assert "same score" in found["recommendation"]["sentence"]

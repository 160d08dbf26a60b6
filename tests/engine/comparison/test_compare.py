import dataclasses
import json

import numpy as np
import pytest

from service.engine.comparison import Design, FullScores, GateRule, Setting, compare, compare_many
from service.engine.data.errors import Undefined


def rows(gain=0, loss=0, n=100):
    baseline, candidate = np.zeros(n), np.zeros(n)
    candidate[:gain], baseline[gain : gain + loss] = 1, 1
    return baseline, candidate


PLAIN = GateRule()


def judge(gain=0, loss=0, n=100, total=1000, rule=PLAIN, **more):
    return compare(*rows(gain, loss, n), Design.random(n, total), rule, Setting(**more))


class Estimated:
    """Full scores of two models, estimated with this error."""

    def __init__(self, baseline, candidate, error, examples=1000):
        self.scores_of, self.error, self.examples = np.array([baseline, candidate]), error, examples

    def scores(self, answers, baseline=None, clusters=None):
        variance = self.error**2 * np.array([[0.0, 1.0], [1.0, 0.0]])
        coefficients = np.full(answers.shape, 1 / answers.shape[1])
        return FullScores(
            self.scores_of, np.full(2, self.error**2 / 2), variance, coefficients,
            np.zeros(2, dtype=bool), *np.zeros((3, 2)), np.ones(2), self.examples, "predicted", 0,
            (None, None),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("gain", "loss", "expected"),
    [(30, 5, "pass"), (5, 30, "fail"), (18, 17, "inconclusive"), (8, 2, "inconclusive")],
)
def test_verdicts(gain, loss, expected):
    found = judge(gain, loss)
    assert (found.verdict, found.b, found.c) == (expected, loss, gain)
    assert found.difference == pytest.approx((gain - loss) / 100)
    assert found.disagreement == (gain + loss) / 100


def test_everything_in_it_is_plain_finite_json():
    rng = np.random.default_rng(0)
    answers = [
        judge(10, 5, rule=GateRule(margin=0.02)),
        judge(0, 0, n=1, total=1),
        judge(3, 1, n=10, total=10, truth="full_benchmark"),
        judge(3, 1, evidence=Estimated(0.5, 0.52, 0.0), truth="full_benchmark"),
        compare(
            rng.random((40, 3)),
            rng.random(40),
            Design.random(40, 40),
            GateRule(),
            Setting(clusters=list("abcdefgh" * 5)),
        ),
    ]
    for found in answers:
        json.dumps(dataclasses.asdict(found), allow_nan=False)


def test_only_examples_both_answered_count_and_coverage_says_so():
    baseline, candidate = rows(10, 5)
    baseline[[0, 99]] = np.nan
    candidate[[10, 50]] = np.nan
    found = compare(baseline, candidate, Design.random(100, 1000), GateRule())
    assert (found.n_common, found.n_asked, found.coverage) == (96, 100, 0.96)
    assert (found.c, found.b) == (9, 4)
    assert found.flips.won == tuple(range(1, 10))
    assert found.flips.lost == (11, 12, 13, 14)
    assert found.baseline_score == pytest.approx(4 / 96)
    assert "4 of 100 examples" in found.warnings[0]


def test_nothing_in_common_is_refused():
    baseline, candidate = rows(n=4)
    baseline[:2], candidate[2:] = np.nan, np.nan
    with pytest.raises(Undefined, match="none of the 4 examples"):
        compare(baseline, candidate, Design.random(4, 10), GateRule())


def test_the_verdict_of_a_subset_is_about_the_models_unless_asked_about_the_benchmark():
    models, benchmark = (
        judge(24, 10, n=100, total=110),
        judge(24, 10, n=100, total=110, truth="full_benchmark"),
    )
    assert models.interval == judge(24, 10, n=100, total=10_000).interval
    assert benchmark.interval == models.full_benchmark.interval
    assert benchmark.interval[0] > models.interval[0]
    assert models.full_benchmark.order_probability == benchmark.full_benchmark.order_probability


def test_when_neither_is_ahead_there_is_no_order():
    assert judge(5, 5).full_benchmark.order_probability is None


def test_the_full_benchmark_decides_about_itself_at_once():
    found = judge(5, 6, n=100, total=100, truth="full_benchmark")
    assert (found.verdict, found.interval, found.effective_size) == ("fail", (-0.01, -0.01), None)
    assert found.full_benchmark.order_probability == 1
    assert "Every example was answered" in found.reason


def test_a_modelled_difference_decides_by_its_own_error():
    found = judge(10, 10, evidence=Estimated(0.6, 0.5, 0.02), truth="full_benchmark")
    assert found.verdict == "fail"
    assert (found.baseline_score, found.candidate_score) == (0.6, 0.5)
    assert found.interval == pytest.approx((-0.1 - 0.0391993, -0.1 + 0.0391993))
    assert found.interval_method == "model"


def test_a_margin_asks_for_equivalence_too():
    found = judge(10, 9, n=500, total=5000, rule=GateRule(margin=0.03))
    assert found.verdict == "pass"
    assert found.equivalence is not None
    assert found.equivalence.equivalent
    assert judge(10, 9).equivalence is None


def test_what_is_needed_is_said_in_examples_of_this_kind():
    alone = judge(14, 8)
    assert alone.gate.examples_needed == pytest.approx(480, rel=0.15)
    repeated = compare(
        np.repeat(rows(14, 8)[0], 3), np.repeat(rows(14, 8)[1], 3), Design.random(300, 3000), GateRule(),
        Setting(clusters=[str(i // 3) for i in range(300)]),
    )  # fmt: skip
    assert repeated.gate.examples_needed == pytest.approx(3 * alone.gate.examples_needed, rel=0.05)


def test_of_a_finite_benchmark_never_more_than_all_are_needed():
    found = judge(9, 8, n=50, total=100, truth="full_benchmark")
    assert found.gate.examples_needed <= 100


def test_many_candidates_hold_together():
    rng = np.random.default_rng(3)
    baseline = rng.integers(0, 2, 200).astype(float)
    flipped = [np.where(rng.random(200) < rate, 1 - baseline, baseline) for rate in (0.02, 0.3)]
    found = compare_many(baseline, flipped, Design.random(200, 2000), GateRule())
    assert found.confidence_each == pytest.approx(0.95**0.5)
    assert [one.confidence for one in found.comparisons] == [found.confidence_each] * 2
    assert {place.model for place in found.ranking.models} == {0, 1, 2}
    single = compare(baseline, flipped[0], Design.random(200, 2000), GateRule())
    assert found.comparisons[0].interval[0] < single.interval[0]


def test_reasons_are_sentences_with_the_numbers():
    assert "95 % interval" in judge(30, 5).reason
    assert "above zero" in judge(30, 5).reason
    assert "margin of −2.00 points" in judge(5, 40, rule=GateRule(margin=0.02)).reason
    text = judge(8, 10, total=300).reason
    assert "points or more are found" in text
    assert "more than the 300 of the benchmark" in text


@pytest.mark.parametrize(("gain", "side"), [(0, "0.00 points, not above"), (4, "+4.00 points, above")])
def test_an_exact_gain_is_said_to_lie_above_or_not(gain, side):
    found = judge(gain, n=100, total=100, rule=GateRule(preset="improvement"), truth="full_benchmark")
    assert found.verdict == ("pass" if gain else "fail")
    assert f"the difference is {side} zero." in found.reason

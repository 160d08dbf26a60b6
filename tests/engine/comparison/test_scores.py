import dataclasses
import json
import time

import numpy as np
import pytest

from service.engine.comparison import (
    AbilityEstimator,
    Calibration,
    Design,
    Estimator,
    KnownScores,
    estimate_scores,
)
from service.engine.comparison.intervals import finite_size, wilson, wilson_share
from service.engine.comparison.score_estimates import design_score
from service.engine.data.contracts import Source
from service.engine.data.errors import Undefined
from service.engine.prediction.ability_model import fit_ability_model


def known(models=40, n=50, seed=0):
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(0, 1, (models, 1)), rng.normal(0, 1.5, n)
    answers = (rng.random((models, n)) < 1 / (1 + np.exp(difficulty - ability))).astype(float)
    return KnownScores(answers.mean(axis=1), answers, np.ones(models, bool))


def measured(deviation=0.03, models=40, measured_on="new_models"):
    return Calibration(models, 0.0, deviation, 100.0, measured_on)


def one(row, by, about=None, **more):
    return estimate_scores(np.asarray(row, dtype=np.float64)[None], by, about or known(n=len(row)), **more)[0]


def test_a_random_sample_gets_wilsons_interval_without_replacement():
    row = np.repeat([1.0, 0.0], [32, 18])
    found = one(row, Design.random(50, 448))
    assert found.basis == "design"
    assert found.score == 0.64
    assert found.interval == pytest.approx(
        [float(end) for end in wilson_share(0.64, finite_size(50, 448))], abs=1e-9
    )


@pytest.mark.parametrize(("right", "n"), [(3, 3), (0, 10), (1, 1)])
def test_all_right_or_all_wrong_of_many_is_wilson(right, n):
    row = np.full(n, float(right > 0))
    assert design_score(row, Design.random(n, 10**9), 0.95)[1] == pytest.approx(
        [float(end) for end in wilson(right, n)], abs=1e-6
    )


def test_strata_that_are_all_right_and_all_wrong_are_not_certainty():
    strata = np.repeat([0, 1], 10)
    mean, (low, high), error = design_score(
        (strata == 0).astype(float), Design.stratified(strata, np.array([100, 100])), 0.95
    )
    assert mean == 0.5
    assert 0.05 < high - low < 0.3
    assert error > 0.01


def test_the_whole_benchmark_is_known():
    row = np.repeat([1.0, 0.0], [30, 20])
    found = one(row, Design.random(50, 50))
    assert found.interval == (0.6, 0.6)
    assert found.rank == found.rank_interval[0] == found.rank_interval[1]


def test_a_macro_average_comes_with_its_own_error():
    """Two subtasks of unequal size, counted equally: the error is that of the same mean."""
    rng = np.random.default_rng(0)
    strata = np.repeat([0, 1], [180, 20])
    row = rng.integers(0, 2, 200).astype(float)
    sizes = np.array([18_000, 2_000])
    micro = design_score(row, Design.stratified(strata, sizes), 0.95)
    macro = design_score(row, Design.stratified(strata, sizes, np.array([0.5, 0.5])), 0.95)
    parts = [row[strata == h] for h in (0, 1)]
    expected = sum(0.25 * part.var(ddof=1) / len(part) for part in parts) ** 0.5
    assert macro[0] == pytest.approx(np.mean([part.mean() for part in parts]))
    assert macro[2] == pytest.approx(expected, rel=0.06)
    assert macro[2] > 1.5 * micro[2]


def test_graded_scores_are_less_uncertain_than_right_or_wrong():
    rng = np.random.default_rng(0)
    graded = rng.beta(20, 20, 100)
    width = np.diff(design_score(graded, Design.random(100, 10_000), 0.95)[1])[0]
    assert width == pytest.approx(2 * 1.9842 * 0.99**0.5 * graded.std(ddof=1) / 10, rel=1e-4)


def test_missing_answers_give_coverage_bounds_and_a_warning():
    row = np.repeat([1.0, 0.0, np.nan], [80, 10, 10])
    found = one(row, Design.random(100, 100))
    assert (found.answered, found.asked, found.coverage) == (90, 100, 0.9)
    assert found.score == pytest.approx(80 / 90)
    assert found.bounds == pytest.approx((0.8, 0.9))
    assert found.interval[0] < 80 / 90 < found.interval[1]
    assert "10 of 100" in found.warnings[0]


def test_too_few_answers_give_no_rank():
    found = one(np.repeat([1.0, np.nan], [10, 40]), Design.random(50, 500))
    assert found.rank is None
    assert found.rank_interval is None


def test_no_answer_is_refused_by_name():
    with pytest.raises(Undefined, match="model 1 answered none of the 5"):
        estimate_scores(np.array([[1.0] * 5, [np.nan] * 5]), Design.random(5, 50), known(n=5))


def test_ranks_among_known_models_follow_from_the_interval():
    about = KnownScores(np.array([0.2, 0.4, 0.6, 0.8]), np.full((4, 3), 0.5), np.ones(4, bool))
    by = Estimator(np.full(3, 1 / 3), measured(0.06))
    found = one([0.5, 0.5, 0.5], by, about)
    assert (found.rank, found.rank_interval) == (3, (2, 4))
    assert found.indistinguishable == (1, 2)


def test_a_model_based_interval_is_as_wide_as_the_errors_measured():
    found = one(np.full(10, 0.5), Estimator(np.full(10, 0.1), measured(0.03)))
    assert found.basis == "model"
    assert found.interval == pytest.approx((0.5 - 2.0227 * 0.03, 0.5 + 2.0227 * 0.03), abs=1e-5)
    assert found.standard_error == pytest.approx(0.03)


def test_a_missing_answer_is_filled_by_what_others_got_and_widens_the_interval():
    about = known(n=50)
    by = Estimator(np.full(50, 0.02), measured(0.03))
    row = about.answers[3].copy()
    whole, part = one(row, by, about), one(np.where(np.arange(50) < 10, np.nan, row), by, about)
    assert part.score == pytest.approx(whole.score, abs=0.1)
    assert part.standard_error > whole.standard_error
    assert part.bounds[0] <= part.score <= part.bounds[1]


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_half_the_answers_all_alike_leave_doubt_about_the_other_half(value):
    by = Estimator(np.full(50, 0.02), measured(0.001))
    row = np.where(np.arange(50) < 25, value, np.nan)
    about = KnownScores(np.full(4, 0.5), np.full((4, 50), 0.5), np.ones(4, bool))
    found = one(row, by, about)
    assert 0.01 < abs(found.score - value) < 0.02
    assert found.standard_error > 0.015


def test_a_predictor_with_an_intercept_is_used_as_it_is():
    found = one(np.ones(4), Estimator(np.full(4, 0.2), measured(), intercept=0.1))
    assert found.score == pytest.approx(0.9)


def test_warnings_say_what_the_numbers_rest_on():
    by = Estimator(np.full(50, 0.02), measured(models=6, measured_on="source_models"))
    text = " ".join(one(np.ones(50), by).warnings)
    assert "above every source model" in text
    assert "measured on the models that chose the examples" in text
    assert "Only 6 models" in text


def test_a_model_unlike_the_sources_is_noticed_and_the_sources_are_not():
    about = known(models=60, n=200)
    by = Design.random(200, 2000)
    upside_down = 1 - about.answers[0]
    assert "unlike" in " ".join(one(upside_down, by, about).warnings)
    said = [found.warnings for found in estimate_scores(about.answers, by, about)]
    assert sum(map(bool, said)) <= 1


def test_it_is_plain_finite_json():
    row = np.repeat([1.0, 0.0, np.nan], [20, 25, 5])
    for by in (Design.random(50, 500), Estimator(np.full(50, 0.02), measured())):
        json.dumps(dataclasses.asdict(one(row, by)), allow_nan=False)


def test_500_known_models_and_1000_examples_take_milliseconds():
    rng = np.random.default_rng(0)
    about = KnownScores(rng.random(500), (rng.random((500, 1000)) < 0.6).astype(float), np.ones(500, bool))
    row, by = (rng.random((1, 1000)) < 0.6).astype(float), Design.random(1000, 12_000)
    times = []
    for _ in range(5):
        start = time.thread_time()
        estimate_scores(row, by, about)
        times.append(time.thread_time() - start)
    assert min(times) < 0.05


@pytest.mark.parametrize("n", [5, 10, 50, 200])
def test_intervals_of_random_samples_cover(n):
    """20,000 draws of 448 examples, by the hypergeometric counts they give."""
    rng = np.random.default_rng(0)
    right = rng.integers(60, 390, 20_000)
    drawn = rng.hypergeometric(right, 448 - right, n)
    intervals = np.array(
        [
            design_score(np.repeat([1.0, 0.0], [k, n - k]), Design.random(n, 448), 0.95)[1]
            for k in range(n + 1)
        ]
    )
    truth = right / 448
    covered = (intervals[drawn, 0] <= truth + 1e-12) & (truth - 1e-12 <= intervals[drawn, 1])
    assert 0.935 <= covered.mean() <= 0.985


@pytest.mark.parametrize(("strata", "each"), [(4, 2), (10, 1), (10, 2), (20, 5)])
def test_intervals_of_stratified_samples_cover(strata, each):
    rng = np.random.default_rng(1)
    size = 400 // strata
    covered = []
    for _ in range(1200):
        chance = np.repeat(rng.beta(1, 1, strata), size)
        truth = (rng.random(400) < chance).astype(float)
        drawn = np.concatenate([h * size + rng.choice(size, each, replace=False) for h in range(strata)])
        design = Design.stratified(drawn // size, np.full(strata, size))
        low, high = design_score(truth[drawn], design, 0.95)[1]
        covered.append(low - 1e-12 <= truth.mean() <= high + 1e-12)
    assert np.mean(covered) >= 0.935


def beyond_the_sources(size, right, sources=40, examples=50):
    """A model with these answers on the first `size` examples, by the sources' own curves."""
    about = known(sources, examples)
    ability = fit_ability_model(Source(about.answers, np.zeros(examples, dtype=np.int32)))
    by = AbilityEstimator(ability, np.arange(size))
    part = KnownScores(about.scores, about.answers[:, :size], about.source)
    return one(np.full(size, float(right)), by, part), about.scores


def test_a_model_with_every_answer_lies_within_its_interval():
    about = known(40, 300)
    ability = fit_ability_model(Source(about.answers, np.zeros(300, dtype=np.int32)))
    for found in estimate_scores(about.answers, AbilityEstimator(ability, np.arange(300)), about):
        assert found.interval[0] <= found.score <= found.interval[1]


def test_a_model_with_every_answer_rests_on_no_extrapolation():
    found, _ = beyond_the_sources(50, right=True)
    assert found.score == pytest.approx(1)
    assert not any("extrapolation" in warning for warning in found.warnings)


def test_a_score_within_those_of_the_sources_is_not_said_to_be_better_than_them():
    found, sources = beyond_the_sources(2, right=True)
    assert found.score < sources.max()
    assert not any(warning.startswith("Better") for warning in found.warnings)
    assert any(warning.startswith("Possibly better than every source") for warning in found.warnings)

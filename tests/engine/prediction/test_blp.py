"""The predictor of full scores: against textbook formulas, at its limits, and on models it has not seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.engine.data.contracts import Source
from service.engine.prediction import blp
from service.engine.prediction.covariance import Covariance, covariance
from service.engine.prediction.holdout_error import LeftOut, correction, spread
from service.engine.prediction.linear import linear_predictor
from service.engine.prediction.shrinkage import group_loadings, intensity, loadings, moments, standardise
from service.engine.prediction.subtask_effects import tenths


def source(scores, strata=None):
    return Source(scores, np.zeros(scores.shape[1], dtype=np.int32) if strata is None else strata)


def one_factor(models, examples, seed, loading=0.5):
    """0/1 scores of a threshold model with one ability."""
    rng = np.random.default_rng(seed)
    latent = loading * rng.normal(size=(models, 1)) + np.sqrt(1 - loading**2) * rng.normal(
        size=(models, examples)
    )
    return (latent > rng.normal(scale=0.8, size=examples)).astype(np.uint8)


def graded(models, examples, seed):
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=(models, 1))
    return 1 / (1 + np.exp(rng.normal(-1.5, 1, examples) - ability + rng.normal(size=(models, examples))))


def any_covariance(seed, examples=12, rank=3):
    rng = np.random.default_rng(seed)
    return Covariance(
        rng.random(examples), rng.normal(size=(examples, rank)), rng.uniform(0.1, 1, examples), 0.5
    )


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 11])
def test_predictor_is_the_conditional_expectation_of_a_normal_vector(size):
    c = any_covariance(size)
    sigma = c.factor @ c.factor.T + np.diag(c.noise)
    chosen = np.random.default_rng(size).permutation(12)[:size]
    full = np.full(12, 1 / 12)
    weights = np.linalg.solve(sigma[np.ix_(chosen, chosen)], sigma[chosen] @ full)
    variance = full @ sigma @ full - weights @ sigma[chosen] @ full

    found = linear_predictor(c, chosen)

    assert found.coefficients == pytest.approx(weights)
    assert found.intercept == pytest.approx(c.mean.mean() - weights @ c.mean[chosen])
    assert found.deviation == pytest.approx(np.sqrt(variance))


def test_all_examples_give_the_exact_mean_and_no_error():
    found = linear_predictor(any_covariance(0), np.arange(12))
    answers = np.random.default_rng(1).random((4, 12))

    assert found.estimate(answers) == pytest.approx(answers.mean(axis=1))
    assert found.deviation == 0


def test_a_corrected_predictor_moves_the_rest_and_leaves_what_was_observed():
    plain = linear_predictor(any_covariance(3), np.array([1, 5, 8]))
    answers = np.random.default_rng(2).random((4, 3))

    assert plain.corrected(0.02, 0.8).rest(answers) == pytest.approx(0.02 + 0.8 * plain.rest(answers))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 20), st.integers(1, 29))
def test_estimates_stay_within_what_the_answers_leave_possible(seed, size):
    scores = one_factor(15, 30, seed)
    indices = np.random.default_rng(seed).permutation(30)[:size]
    answers = np.random.default_rng(seed).random((5, size)).round()

    estimates = blp.fit(source(scores)).estimate(indices, answers)

    assert (estimates >= answers.sum(axis=1) / 30 - 1e-12).all()
    assert (estimates <= (answers.sum(axis=1) + 30 - size) / 30 + 1e-12).all()


def test_without_a_factor_models_are_ordered_by_their_plain_means():
    """Random sampling's behaviour where examples have nothing to do with each other: a theorem."""
    rng = np.random.default_rng(0)
    c = Covariance(rng.random(50), np.zeros((50, 0)), rng.uniform(0.1, 0.2, 50), 1.0)
    answers = rng.integers(0, 2, size=(20, 15)).astype(float)

    estimates = linear_predictor(c, np.arange(15)).estimate(answers)

    assert estimates == pytest.approx((answers.sum(axis=1) + c.mean[15:].sum()) / 50)


@pytest.mark.parametrize("models", [10, 80])
def test_independent_columns_leave_no_structure(models):
    """So the estimate is, but for a few percent, an affine function of the plain mean."""
    rng = np.random.default_rng(5)
    chances = rng.uniform(0.1, 0.9, 300)
    scores = (rng.random((models, 300)) < chances).astype(np.uint8)
    new = (rng.random((200, 300)) < chances).astype(float)
    chosen = rng.permutation(300)[:100]

    found = blp.fit(source(scores))
    estimates = found.estimate(chosen, new[:, chosen])

    assert found.covariance.intensity >= 0.9
    assert np.corrcoef(estimates, new[:, chosen].mean(axis=1))[0, 1] > 0.9
    assert (
        np.abs(estimates - new.mean(axis=1)).mean()
        < np.abs(new[:, chosen].mean(axis=1) - new.mean(axis=1)).mean()
    )


@pytest.mark.parametrize("make", [one_factor, graded])
@pytest.mark.parametrize("models", [2, 10, 60])
def test_errors_on_new_models_are_below_the_plain_means(make, models):
    scores = make(models + 100, 300, seed=models)
    chosen = np.random.default_rng(models).permutation(300)[:25]
    new, truth = scores[models:].astype(float)[:, chosen], scores[models:].mean(axis=1)

    estimates = blp.fit(source(scores[:models])).estimate(chosen, new)

    assert np.abs(estimates - truth).mean() < np.abs(new.mean(axis=1) - truth).mean()


def test_one_source_model_is_enough_to_predict():
    scores = one_factor(60, 100, seed=1)

    found = blp.fit(source(scores[:1]))

    answers = scores[1:, :20].astype(float)
    assert np.isfinite(found.interval(np.arange(20), answers)).all()
    assert np.corrcoef(found.estimate(np.arange(20), answers), scores[1:].mean(axis=1))[0, 1] > 0.7


def test_missing_scores_are_made_good_by_models_and_examples():
    scores = one_factor(40, 100, seed=2)
    observed = np.random.default_rng(3).random(scores.shape) > 0.2
    holes = np.where(observed, scores, 1 - scores).astype(np.uint8)

    with_holes = blp.fit(source(holes), observed).covariance
    complete = blp.fit(source(scores)).covariance

    assert np.abs(with_holes.mean - complete.mean).mean() < 0.05
    assert with_holes.mean.tolist() == blp.fit(source(scores), observed).covariance.mean.tolist()


@pytest.mark.parametrize("make", [one_factor, graded])
def test_intervals_cover_and_probabilities_hold_for_models_not_seen(make):
    scores = make(240, 200, seed=9)
    chosen = np.random.default_rng(1).permutation(200)[:40]
    new, truth = scores[60:].astype(float)[:, chosen], scores[60:].mean(axis=1)
    found = blp.fit(source(scores[:60]))

    low, high = found.interval(chosen, new, 0.9).T
    surely = found.better(chosen, new[:90], new[90:])

    assert 0.84 < ((low <= truth) & (truth <= high)).mean() < 0.97
    stated = np.maximum(surely, 1 - surely)
    right = (surely > 0.5) == (truth[:90] > truth[90:])
    assert right.mean() == pytest.approx(stated.mean(), abs=0.08)


def test_the_chance_of_being_better_is_half_for_equal_answers_and_mirrored():
    scores = one_factor(30, 60, seed=4)
    found, chosen = blp.fit(source(scores)), np.arange(0, 60, 4)
    first, second = scores[:10, chosen].astype(float), scores[10:20, chosen].astype(float)

    assert found.better(chosen, first, first) == pytest.approx(0.5)
    assert found.better(chosen, first, second) == pytest.approx(1 - found.better(chosen, second, first))
    everything = np.arange(60)
    sure = found.better(everything, np.ones((1, 60)), np.zeros((1, 60)))
    assert sure.tolist() == [1.0]


def test_means_of_beta_binomial_examples_come_out_unbiased_where_they_are_extreme():
    rng = np.random.default_rng(0)
    chances = rng.beta(2, 3, size=4000)
    scores = (rng.random((10, 4000)) < chances).astype(float)

    found = moments(scores)

    best = np.argsort(-found.mean)[:400]
    assert found.mean[best].mean() == pytest.approx(chances[best].mean(), abs=0.015)
    assert scores.mean(axis=0)[best].mean() > chances[best].mean() + 0.1
    assert found.variance == pytest.approx(found.mean * (1 - found.mean), rel=0.3)


def test_loadings_are_recovered_and_drawn_together_when_models_are_few():
    rng = np.random.default_rng(1)
    true = rng.uniform(0.1, 0.9, 300)
    data = rng.normal(size=(1000, 1)) * true + rng.normal(size=(1000, 300)) * np.sqrt(1 - true**2)

    many, few = (loadings(*standardise(data[:n])) for n in (1000, 12))

    assert np.abs(many - true).mean() < 0.05
    assert few.std() < true.std()
    assert loadings(*standardise(rng.normal(size=(200, 100)))) == pytest.approx(0, abs=0.2)


def test_loadings_on_the_factors_of_groups_are_recovered_beside_the_general_one():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(5, dtype=np.int32), 40)
    general, own = rng.uniform(0.2, 0.5, 200), rng.uniform(0.1, 0.8, 200)
    skills = rng.normal(size=(1500, 5))[:, groups]
    noise = rng.normal(size=(1500, 200)) * np.sqrt(1 - general**2 - own**2)
    standard, varied = standardise(rng.normal(size=(1500, 1)) * general + skills * own + noise)

    found = group_loadings(standard, varied, general, groups)

    assert np.corrcoef(found, own)[0, 1] > 0.95
    assert np.abs(found - own).mean() < 0.06
    few = group_loadings(*standardise(noise[:12]), np.zeros(200), groups)
    assert np.abs(few).mean() < 0.2


def test_groups_of_one_or_two_examples_have_no_factor():
    standard, varied = standardise(np.random.default_rng(0).normal(size=(20, 7)))
    found = group_loadings(standard, varied, np.zeros(7), np.array([0, 1, 1, 2, 2, 2, 2]))
    assert found[:3].tolist() == [0, 0, 0]


def test_intensity_maximises_the_likelihood_of_left_out_models():
    """Against the definition: every model left out, its normal density under the others'."""
    rng = np.random.default_rng(3)
    residuals = rng.normal(size=(9, 3)) @ rng.normal(size=(3, 20)) + 0.8 * rng.normal(size=(9, 20))
    residuals -= residuals.mean(axis=0)
    factor, noise = rng.normal(scale=0.3, size=(20, 2)), rng.uniform(0.5, 1.5, 20)
    target = factor @ factor.T + np.diag(noise)

    def likelihood(share):
        total = 0.0
        for i in range(9):
            others = np.delete(residuals, i, axis=0)
            sample = np.cov(others.T, ddof=0)
            sigma = (1 - share) * sample + share * target
            x = residuals[i] - others.mean(axis=0)
            total -= np.linalg.slogdet(sigma)[1] + x @ np.linalg.solve(sigma, x)
        return total

    found = intensity(residuals, factor, noise)

    grid = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 0.99, 1.0]
    assert found == max(grid, key=likelihood)
    assert 0 < found < 1


def test_examples_of_equal_difficulty_are_never_parted():
    mean = np.random.default_rng(0).integers(0, 6, size=200) / 6
    groups = tenths(mean)
    assert all(len(set(groups[mean == value].tolist())) == 1 for value in set(mean.tolist()))


def test_covariance_has_the_variances_of_the_scores():
    scores = one_factor(200, 150, seed=6)
    found = covariance(source(scores))
    diagonal = (found.factor**2).sum(axis=1) + found.noise
    assert diagonal.mean() == pytest.approx(scores.var(axis=0).mean(), rel=0.15)


def test_more_examples_than_rank_and_fewer_agree():
    """The two ways to solve the system meet where their sizes do."""
    c = any_covariance(8, examples=30, rank=6)
    for size in (6, 7):
        chosen = np.arange(size)
        sigma = c.factor @ c.factor.T + np.diag(c.noise)
        weights = np.linalg.solve(sigma[np.ix_(chosen, chosen)], sigma[chosen].mean(axis=1))
        assert linear_predictor(c, chosen).coefficients == pytest.approx(weights)


def left_out(models, slope, noise, seed=0):
    rng = np.random.default_rng(seed)
    predicted = rng.normal(0.5, 0.1, models)
    true = 0.5 + slope * (predicted - 0.5) + rng.normal(scale=noise, size=models)
    return LeftOut(np.full(models, 0.05), predicted, true, np.full(models, 0.02 * 0.9), 0.1)


def test_many_left_out_models_correct_the_scale_and_few_hardly_do():
    assert correction(left_out(300, 0.8, 0.02))[1] == pytest.approx(0.8, abs=0.04)
    assert correction(left_out(8, 0.8, 0.02))[1] > 0.9
    offset, slope = correction(left_out(300, 1.0, 0.02))
    assert offset + slope * 0.5 == pytest.approx(0.5, abs=0.01)


def test_spread_follows_the_errors():
    right, wide = (spread(left_out(300, 1.0, noise)) for noise in (0.02, 0.06))
    middle = np.array([0.5])
    assert right(middle)[0] == pytest.approx(1, abs=0.15)
    assert wide(middle)[0] == pytest.approx(3, rel=0.15)

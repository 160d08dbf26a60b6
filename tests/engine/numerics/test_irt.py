import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from service.engine.numerics import irt
from tests.engine.selection.sources import simulated


def one_dimensional(models: int, examples: int, seed: int = 1):
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(size=models), rng.normal(size=examples)
    discrimination = np.exp(0.3 * rng.normal(size=examples))
    chance = expit(ability[:, None] * discrimination - difficulty)
    return (rng.random(chance.shape) < chance).astype(np.uint8), ability, discrimination, difficulty


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def test_simulated_parameters_come_back():
    scores, ability, discrimination, difficulty = one_dimensional(500, 200)
    model = irt.fit(scores, 1)
    assert model.converged
    assert correlation(model.difficulty, difficulty) > 0.99
    assert correlation(model.difficulty / model.discrimination[:, 0], difficulty / discrimination) > 0.95
    assert correlation(model.discrimination[:, 0], discrimination) > 0.85
    assert correlation(model.ability[:, 0], ability) > 0.95


def test_examples_agree_with_logistic_regression_when_abilities_are_given():
    scores = simulated(150, 40)
    model = irt.fit(scores, 3, tolerance=1e-10)
    scales = np.array([irt.DISCRIMINATION_SD] * 3 + [irt.DIFFICULTY_SD])
    design = np.column_stack((model.ability, np.ones(150))) * scales
    for example in range(40):
        oracle = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8).fit(design, scores[:, example])
        expected = oracle.coef_[0] * scales
        found = np.append(model.discrimination[example], -model.difficulty[example])
        assert found == pytest.approx(expected, abs=0.02)


def test_abilities_agree_with_logistic_regression():
    rng = np.random.default_rng(0)
    discrimination, answers = rng.normal(size=(80, 4)), rng.integers(0, 2, size=(6, 80))
    found = irt.abilities(discrimination, np.zeros(80), answers.astype(float))
    for theta, row in zip(found, answers, strict=True):
        oracle = LogisticRegression(C=irt.ABILITY_SD**2, fit_intercept=False, tol=1e-10).fit(
            discrimination, row
        )
        assert theta == pytest.approx(oracle.coef_[0], abs=1e-4)


def test_ability_of_one_graded_answer_by_hand():
    # One example, a = 2, b = 1: the mode solves 2 (y − σ(2θ − 1)) = θ.
    theta = irt.abilities(np.array([[2.0]]), np.array([1.0]), np.array([[0.75]]))[0, 0]
    assert 2 * (0.75 - expit(2 * theta - 1)) == pytest.approx(theta, abs=1e-9)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_answers_all_right_or_all_wrong_have_finite_opposite_abilities(scale: float):
    discrimination = scale * np.abs(np.random.default_rng(0).normal(size=(100, 2)))
    answers = np.stack((np.ones(100), np.zeros(100)))
    right, wrong = irt.abilities(discrimination, np.zeros(100), answers)
    assert np.isfinite(right).all()
    assert right == pytest.approx(-wrong)
    assert (right > 0).all()


def test_constant_examples_and_models_have_finite_parameters():
    scores = simulated(30, 20)
    scores[:, :3], scores[:, 3:6] = 1, 0
    scores[0], scores[1] = 1, 0
    model = irt.fit(scores, 2)
    assert model.converged
    for values in (model.ability, model.discrimination, model.difficulty):
        assert np.isfinite(values).all()
    assert model.difficulty[:3].max() < model.difficulty[6:].min()
    assert model.difficulty[3:6].min() > model.difficulty[6:].max()


@pytest.mark.parametrize("shape", [(27, 30), (20, 198), (94, 7), (119, 40)])
def test_models_that_agree_on_everything_are_fitted_at_once(shape: tuple[int, int]):
    model = irt.fit(np.ones(shape, dtype=np.uint8))
    assert model.converged
    assert model.iterations < 20
    assert (model.difficulty < -2).all()


def test_missing_cells_are_skipped():
    scores, _, _, difficulty = one_dimensional(300, 60)
    rng = np.random.default_rng(3)
    observed = rng.random(scores.shape) < 0.7
    hidden = np.where(observed, scores, 1 - scores)
    models = [irt.fit(values, 1, observed=observed) for values in (scores, hidden)]
    assert models[0].difficulty.tolist() == models[1].difficulty.tolist()
    assert correlation(models[0].difficulty, difficulty) > 0.98


def test_graded_scores_enter_the_likelihood_as_fractions_and_the_fit_is_its_mode():
    scores = simulated(40, 25).astype(np.float64)
    scores[0, :4] = [0.25, 0.5, 0.75, 1.0]
    model = irt.fit(scores, 2, tolerance=1e-10)

    def objective(x: np.ndarray) -> float:
        theta, a, b = x[:80].reshape(40, 2), x[80:130].reshape(25, 2), x[130:]
        z = theta @ a.T - b
        prior = (theta**2).sum() / irt.ABILITY_SD**2 + (a**2).sum() / irt.DISCRIMINATION_SD**2
        prior += (b**2).sum() / irt.DIFFICULTY_SD**2
        return float((np.logaddexp(0, z) - scores * z).sum() + prior / 2)

    found = np.concatenate((model.ability.ravel(), model.discrimination.ravel(), model.difficulty))
    polished = minimize(objective, found, method="L-BFGS-B", options={"maxfun": 20_000})
    assert objective(found) == pytest.approx(polished.fun, rel=1e-5)


def test_axes_are_orthogonal_ordered_and_point_up():
    model = irt.fit(simulated(200, 80), 4)
    gram = model.discrimination.T @ model.discrimination
    assert gram - np.diag(np.diag(gram)) == pytest.approx(np.zeros((4, 4)), abs=1e-8 * gram.max())
    assert (np.diff(np.diag(gram)) <= 0).all()
    assert (model.discrimination.sum(axis=0) >= 0).all()


def test_the_order_of_models_and_examples_moves_nothing_beyond_the_tolerance():
    scores, rng = simulated(200, 60), np.random.default_rng(0)
    rows, columns = rng.permutation(200), rng.permutation(60)
    plain, moved = irt.fit(scores, 2), irt.fit(scores[np.ix_(rows, columns)], 2)
    assert moved.difficulty == pytest.approx(plain.difficulty[columns], abs=0.02)


def test_dimensions_are_cut_to_what_the_scores_can_tell_apart():
    assert irt.fit(simulated(4, 30), 10).discrimination.shape == (30, 4)
    assert irt.fit(simulated(1, 1), 10).discrimination.shape == (1, 1)


def test_a_fit_cut_short_says_so():
    model = irt.fit(simulated(100, 50), 5, max_iterations=2)
    assert not model.converged
    assert model.iterations == 2

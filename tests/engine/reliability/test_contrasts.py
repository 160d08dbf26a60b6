"""How methods are compared at one size, and which is recommended for its scores."""

from __future__ import annotations

import numpy as np
import pytest

from service.engine.experiment.curves import Cell, Errors
from service.engine.experiment.estimates import Estimates
from service.engine.reliability import mdad_job
from service.engine.reliability.contrasts import Gap, error_contrast
from tests.engine import made

PREDICTORS = [{"method": "random", "estimator": "blp"}, "optimal_design"]
TRIALS, TARGETS, SIZE = 20, 20, 20


def chosen(noise: tuple[float, float], shift: tuple[float, float]) -> str:
    """The recommended of two methods whose estimates are off by noise, and by a shift of all models."""
    data = made.matrix(made.answers(40, 200, spread=2))
    plan = made.plan_of(
        data,
        {
            "methods": PREDICTORS, "sizes": [SIZE], "trials": TRIALS, "source_models": 20,
            "truth": "same_items", "holdout": 0, "target_mdad": 0.5, "target_models": TARGETS,
        },
    )  # fmt: skip
    rng = np.random.default_rng(0)
    labels = tuple(spec.label for spec in plan.simulated)
    found = Estimates.empty(1, 2, (SIZE,), labels, (TRIALS, TARGETS))
    for trial in range(TRIALS):
        found.targets[trial] = np.sort(rng.permutation(40)[:TARGETS])
        found.same[0, trial] = data.scores[found.targets[trial]].sum(axis=1)
        for entry in (0, 1):
            off = rng.normal(scale=noise[entry], size=TARGETS) + shift[entry]
            found.scores[0, entry, 0, trial] = found.same[0, trial] / 200 + off
    pieces = [({"stage": 1, "heldout": 0, "trials": [0, TRIALS]}, found.to_bytes())]
    return mdad_job.assemble(data, plan, pieces, made.silent)["recommendation"]["method"]


@pytest.mark.parametrize(
    ("noise", "shift", "label"),
    [
        pytest.param((0.01, 0.01), (0, 0), "random (blp)", id="as good in all: the simpler"),
        pytest.param((0.01, 0.01), (0.05, 0), "optimal_design", id="orders as well, estimates better"),
        pytest.param((0.1, 0.01), (0, 0), "optimal_design", id="better in all"),
        pytest.param((0.05, 0.01), (0, 0.2), "random (blp)", id="orders worse, estimates better"),
    ],
)
def test_a_method_that_predicts_scores_is_recommended_only_where_none_predicts_better(noise, shift, label):
    assert chosen(noise, shift) == label


def cell(values, models):
    return Cell({}, errors=Errors(values.astype(np.float32), models))


def two_way(rng, trials, targets, models, of_model, of_trial):
    """Errors with an effect of the model and of the trial, and which models there are."""
    drawn = np.stack([rng.permutation(models)[:targets] for _ in range(trials)])
    effects = rng.normal(scale=of_model, size=models)[drawn] + rng.normal(scale=of_trial, size=(trials, 1))
    return effects + rng.normal(size=drawn.shape), drawn


@pytest.mark.parametrize(("of_model", "of_trial"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_the_interval_of_a_difference_of_errors_covers_it_when_trials_and_models_are_shared(
    of_model, of_trial
):
    rng, covered = np.random.default_rng(1), 0
    for _ in range(400):
        errors, models = two_way(rng, 25, 15, 40, of_model, of_trial)
        found = error_contrast(cell(errors, models), cell(np.zeros_like(errors), models), "same_items")
        covered += found.interval[0] <= 0 <= found.interval[1]
    assert 0.92 <= covered / 400 <= 0.99


def test_what_two_methods_share_cancels_in_the_difference_of_their_errors():
    errors, models = two_way(np.random.default_rng(2), 25, 15, 40, 3, 3)
    ours, theirs = cell(errors + 1, models), cell(errors, models)

    found = error_contrast(ours, theirs, "same_items")
    mirrored = error_contrast(theirs, ours, "same_items")

    assert found.difference == pytest.approx(1, abs=1e-6)
    assert found.interval == pytest.approx([1, 1], abs=1e-5)
    assert mirrored.interval == pytest.approx([-end for end in reversed(found.interval)], abs=1e-9)


def test_a_method_with_a_formula_has_one_error_and_no_noise():
    values, models = two_way(np.random.default_rng(3), 30, 12, 30, 1, 0)
    formula = Cell({}, extra={"same_items": {"estimation_error": {"mean": 0.25}}})

    found = error_contrast(cell(values, models), formula, "same_items")

    assert found.difference == pytest.approx(values.mean() - 0.25, abs=1e-6)
    assert found.interval[0] < found.difference < found.interval[1]
    alone = error_contrast(formula, formula, "same_items")
    assert alone == Gap(0, None, "both by formula")


def test_draws_judged_by_trials_are_set_beside_a_formula_that_is_better():
    rng = np.random.default_rng(0)
    level = np.repeat(np.linspace(-3, 3, 4), 20)
    chance = 1 / (1 + np.exp(4 * (level - rng.normal(size=(40, 1)))))
    data = made.matrix(
        (rng.random(chance.shape) < chance).astype(np.uint8),
        subtasks=[f"s{k}" for k in np.repeat(np.arange(4), 20)],
        confidences=(rng.random(chance.shape) + chance) / 2,
    )

    result = made.run(
        data,
        methods=[{"method": "random", "scored_by": "confidences"}, "stratified"],
        sizes=[10, 40], trials=10, holdout=0, truth="same_items", target_mdad=0.5,
        target_models="all", source_models=0,
    )  # fmt: skip

    assert result["recommendation"]["status"] == "recommended"

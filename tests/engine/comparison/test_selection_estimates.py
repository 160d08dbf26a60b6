import numpy as np
import pytest

from service.engine.comparison import (
    AbilityEstimator,
    Calibration,
    Design,
    Estimator,
    GateRule,
    KnownScores,
    Selected,
    Setting,
    basis,
    compare,
    compare_many,
    estimate_scores,
    evidence,
    rank,
)
from service.engine.comparison.full_scores import SampledEvidence
from service.engine.comparison.score_basis import AssistedSample
from service.engine.data.contracts import Source
from service.engine.prediction.ability_model import fit_ability_model
from service.engine.selection.registry import create
from tests.engine.made import answers

SCORES = answers(200, 300, seed=3)
STRATA = (np.arange(300) // 100).astype(np.int32)


SOURCE = Source(SCORES[:60], STRATA)


def chosen(method, size=40, sources=60, options=None, calibration=None, scores=True, weighted=True):
    """A selection whose answers are scores, or confidences."""
    options, source = options or {}, Source(SCORES[:sources], STRATA)
    subset = create(method, options).fit(source, np.random.default_rng(0)).pick(size)
    ability = AbilityEstimator(fit_ability_model(source), subset.indices) if scores else None
    return Selected(method, options, subset.indices, subset.weights, STRATA, weighted, ability, calibration)


def known(selected, models=200, sources=60):
    part = SCORES[:models].astype(float)
    return KnownScores(part.mean(axis=1), part[:, selected.chosen], np.arange(models) < sources)


def test_random_selections_are_samples():
    selected = chosen("random")
    by = basis(selected, known(selected))
    assert isinstance(by, Design)
    assert (by.total, len(by.weights)) == (300, 40)


@pytest.mark.parametrize("allocation", ["proportional", "equal"])
@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_stratified_selections_keep_their_weights(allocation, size):
    selected = chosen("stratified", size, options={"allocation": allocation})
    by = basis(selected, known(selected))
    assert by.weights == pytest.approx(selected.weights)
    assert by.total == 300


def test_the_errors_of_models_without_a_part_in_the_choice_come_first():
    stored = Calibration(60, 0.0, 0.5, 9.0, "cross_validation")
    selected = chosen("anchor_points", calibration=stored, scores=False)
    by = basis(selected, known(selected))
    assert isinstance(by, Estimator)
    assert (by.calibration.models, by.calibration.measured_on) == (140, "new_models")


def test_then_those_found_when_it_was_made_then_those_of_the_sources():
    stored = Calibration(60, 0.0, 0.5, 9.0, "cross_validation")
    selected = chosen("anchor_points", calibration=stored, scores=False)
    assert basis(selected, known(selected, models=69)).calibration == stored
    selected = chosen("anchor_points", scores=False)
    found = basis(selected, known(selected, models=69)).calibration
    assert (found.models, found.measured_on) == (60, "source_models")


def test_models_with_missing_answers_measure_nothing():
    selected = chosen("anchor_points", scores=False)
    about = known(selected)
    about.answers[100:, 0] = np.nan
    assert basis(selected, about).calibration.models == 40


@pytest.mark.parametrize("method", ["anchor_points", "random"])
def test_differences_of_new_models_err_as_often_as_the_intervals_say(method):
    selected = chosen(method)
    by, rng, missed = evidence(selected, SOURCE), np.random.default_rng(0), []
    for _ in range(400):
        first, second = 130 + rng.choice(70, 2, replace=False)
        rows = SCORES[[first, second]][:, selected.chosen].astype(float)
        found = by.scores(rows)
        truth = SCORES[second].mean() - SCORES[first].mean()
        off = found.scores[1] - found.scores[0] - truth
        missed.append(abs(off) > 1.96 * found.of_differences[0, 1] ** 0.5)
    assert np.mean(missed) < 0.09


def test_a_comparison_on_such_a_selection_goes_through():
    selected = chosen("anchor_points")
    about = known(selected)
    by = evidence(selected, SOURCE)
    best, worst = np.argmax(about.scores), np.argmin(about.scores)
    rows = about.answers[[worst, best]]
    found = compare(*rows, Design.random(40, 300), GateRule(), Setting(evidence=by))
    assert (found.verdict, found.interval_method, found.n_benchmark) == ("pass", "model", 300)


def test_many_candidates_on_such_a_selection_are_ranked_by_its_estimates():
    selected = chosen("anchor_points")
    about = known(selected)
    by = evidence(selected, SOURCE)
    rows = about.answers[np.argsort(about.scores)[[0, 100, 198, 199]]]
    found = compare_many(rows[0], rows[1:], Design.random(40, 300), GateRule(), Setting(evidence=by))
    ordered = sorted(by.estimator.estimates(rows), reverse=True)
    assert [place.score for place in found.ranking.models] == pytest.approx(ordered)
    assert found.comparisons[2].verdict == "pass"
    assert found.comparisons[2].interval_method == "model"
    assert found.ranking.models[-1].rank_interval[0] > 2
    realised = rank(rows, Design.random(40, 300), truth="full_benchmark", evidence=by)
    assert realised.separable_pairs >= found.ranking.separable_pairs


def test_ranks_by_an_estimator_are_hardly_ever_wrong():
    """Joint: the true rank of every one of ten new models within its interval."""
    selected = chosen("anchor_points")
    by, rng, held = evidence(selected, SOURCE), np.random.default_rng(0), []
    for _ in range(150):
        rows = 130 + rng.choice(70, 10, replace=False)
        found = rank(
            SCORES[rows][:, selected.chosen].astype(float), Design.random(40, 300),
            truth="full_benchmark", evidence=by,
        )  # fmt: skip
        full = SCORES[rows].mean(axis=1)
        ranks = {place.model: place.rank_interval for place in found.models}
        held.append(all(low <= 1 + (full > full[m]).sum() <= high for m, (low, high) in ranks.items()))
    assert np.mean(held) > 0.9


def test_a_sample_with_another_estimator_is_scored_by_the_model():
    selected = chosen("random", weighted=False)
    assert basis(selected, known(selected)) is selected.ability


def test_near_copies_share_their_errors_and_strangers_do_not():
    selected = chosen("anchor_points")
    rows = SCORES[100:103][:, selected.chosen].astype(float)
    rows[1] = rows[0]
    rows[1, 0] = 1 - rows[1, 0]
    variance = basis(selected, known(selected)).difference_variance(rows)
    assert variance[0, 1] < 0.2 * variance[0, 2]
    assert (np.diag(variance) >= 0).all()


def test_ranks_and_comparisons_on_such_a_selection_speak_of_the_same_differences():
    """Some answers are missing."""
    selected = chosen("anchor_points")
    about = known(selected)
    by = evidence(selected, SOURCE)
    rows = about.answers[np.argsort(about.scores)[[100, 0, 120, 199]]]
    rows[:, :3] = np.nan
    found = compare_many(rows[0], rows[1:], Design.random(40, 300), GateRule(), Setting(evidence=by))
    best = found.ranking.models[0]
    places = {place.model: place for place in found.ranking.models}
    for at, pair in enumerate(found.comparisons, start=1):
        assert places[at].score == pytest.approx(pair.candidate_score)
        assert places[at].difference_from_best == pytest.approx(pair.candidate_score - best.score)
        assert places[at].win_rate < 1
    two = rank(rows[[0, 3]], Design.random(40, 300), evidence=by)
    alone = compare(rows[3], rows[0], Design.random(40, 300), GateRule(), Setting(evidence=by))
    assert two.models[1].difference_from_best_interval == pytest.approx(alone.interval)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 1), (1, 0)])
def test_equal_and_opposite_answers_still_tell_how_many_examples_it_takes(first, second):
    selected = chosen("anchor_points")
    rows = np.full((2, 40), [[first], [second]], dtype=float)
    found = compare(
        *rows, Design.random(40, 300), GateRule(margin=0.02), Setting(evidence=evidence(selected, SOURCE))
    )
    assert 0 < found.effective_size < 300
    assert 1 <= found.gate.examples_needed < 20_000


@pytest.mark.parametrize("method", ["random", "optimal_design"])
@pytest.mark.parametrize("right", [0.02, 0.97])
def test_scores_near_the_ends_err_as_often_as_their_intervals_say(method, right):
    rng, inside = np.random.default_rng(8), []
    ability = fit_ability_model(SOURCE)
    for start in range(150):
        full = rng.permutation(np.arange(300) < round(right * 300)).astype(float)
        if method == "random":
            drawn = np.sort(rng.choice(300, 50, replace=False))
            by = AssistedSample(
                Design.random(50, 300),
                SampledEvidence(drawn, np.full(50, 1 / 6), 300, ability, SOURCE.scores.mean(axis=0)),
            )
        else:
            fitted = create(method, {"guarantee": True}).fit(SOURCE, np.random.default_rng(start))
            subset = fitted.pick(50)
            drawn, by = subset.indices, AbilityEstimator(ability, subset.indices, inclusion=subset.inclusion)
        about = KnownScores(SCORES[:60].mean(axis=1), SCORES[:60, drawn].astype(float), np.ones(60, bool))
        low, high = estimate_scores(full[None, drawn], by, about)[0].interval
        inside.append(low - 1e-9 <= full.mean() <= high + 1e-9)
    assert np.mean(inside) > 0.91

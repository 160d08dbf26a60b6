"""Full scores of several models from their answers on the same chosen examples, with what their errors share.

Two kinds of evidence, one contract. `SampledEvidence`: the examples are a probability
sample; the models' errors there correct predictions from the source models, so the
intervals hold whatever the models are. `DesignedEvidence`: the examples were chosen by a
model; its predictions and their deviations are all there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from service.engine.comparison.ability_estimator import FAR_BEYOND, AbilityEstimator
from service.engine.data.contracts import Source
from service.engine.prediction.ability_model import AbilityModel, fit_ability_model
from service.engine.prediction.ability_predictor import Prediction
from service.engine.prediction.model_assisted import predict_examples
from service.engine.prediction.regression_assisted import regress_examples
from service.engine.prediction.sample_correction import CorrectedScore, corrected_score, variance

Floats = NDArray[np.float64]
EstimatorUsed = Literal["plain", "regression", "assisted", "predicted"]

LEAST_MODELS = 10
"""Effective source models from which on abilities and residuals tell more than mean answers."""
LEAST_ANSWERS = 10
"""Answers below which a sample carries no regression."""
_FITTED = 4
"""Degrees of freedom that the fit of ability and level and the mixture take beyond the mean."""


@dataclass(frozen=True, slots=True, eq=False)
class FullScores:
    """Estimated full scores of K models.

    Attributes
    ----------
    scores : ndarray of float64, shape (K,)
    variance : ndarray of float64, shape (K,)
        Of each score's error.
    of_differences : ndarray of float64, shape (K, K)
        Variance of the error of each difference; 0 on the diagonal.
    coefficients : ndarray of float64, shape (K, n)
        Weight of each answer in the score; 1/N each for a model known in full.
    known : ndarray of bool, shape (K,)
        Models whose answers on every example are known.
    skewness : ndarray of float64, shape (K,)
        Of the errors behind each difference from row 0, or behind row 0's own score where it is
        estimated alone; 0 where it is not known.
    baseline_noise : ndarray of float64, shape (K,)
        Part of the variance of row 0's answers over runs that is in the difference of each from it.
    low, high : ndarray of float64, shape (K,)
        What the answers leave possible.
    examples : int
        N.
    used : str
    freedom : int
        Of Student's t; 0 for the normal distribution.
    notes : tuple of (str or None), length K
        What must be known of each estimate before it is trusted.
    """

    scores: Floats
    variance: Floats
    of_differences: Floats
    coefficients: Floats
    known: NDArray[np.bool_]
    skewness: Floats
    baseline_noise: Floats
    low: Floats
    high: Floats
    examples: int
    used: EstimatorUsed
    freedom: int
    notes: tuple[str | None, ...]


class Evidence(Protocol):
    """What full scores are estimated from, beside the answers."""

    @property
    def cells(self) -> int:
        """What it weighs in memory, in numbers."""

    def scores(
        self, answers: Floats, baseline: Floats | None = None, clusters: NDArray[np.int64] | None = None
    ) -> FullScores:
        """Estimate together.

        Parameters
        ----------
        answers : ndarray of float64, shape (K, n)
            On the chosen examples, in [0, 1]; NaN where missing. Each model has one at least.
        baseline : ndarray of float64, shape (N,), optional
            Row 0's scores on every example, where they are known.
        clusters : ndarray of int, shape (n,), optional
            Chosen examples that stand or fall together.
        """


@dataclass(frozen=True, slots=True, eq=False)
class SampledEvidence:
    """A probability sample and the source models.

    Attributes
    ----------
    chosen : ndarray of int, shape (n,)
    inclusion : ndarray of float64, shape (n,)
        In (0, 1].
    model : AbilityModel, optional
        None without source models.
    source_mean : ndarray of float64, shape (N,), optional
        Mean of the sources' scores.
    """

    chosen: NDArray[np.int64]
    inclusion: Floats
    examples: int
    model: AbilityModel | None = None
    source_mean: Floats | None = None

    @property
    def cells(self) -> int:
        """See `Evidence`."""
        return self.examples + (0 if self.model is None else self.model.cells)

    def scores(
        self, answers: Floats, baseline: Floats | None = None, clusters: NDArray[np.int64] | None = None
    ) -> FullScores:
        """See `Evidence`."""
        there = ~np.isnan(answers)
        inclusions = [self._answered(row) for row in there]
        used = self._used(baseline, int(there.sum(axis=1).min()))
        found, similar = self._each_corrected(used, answers, inclusions, baseline)
        influence = np.array([one.influence for one in found])
        scores = np.array([one.score for one in found])
        coefficients = np.array([one.coefficients for one in found])
        known = np.zeros(len(answers), dtype=bool)
        if baseline is not None:
            known[0], scores[0], influence[0], similar[0] = True, baseline.mean(), 0.0, 1.0
        of_sample = (coefficients[0] ** 2).sum()
        noise = np.full(len(answers), of_sample)
        if baseline is not None:
            coefficients[0] = 1 / self.examples
            noise = similar**2 * of_sample + (1 - similar) ** 2 / self.examples
        low = np.nansum(answers, axis=1) / self.examples
        high = low + 1 - there.sum(axis=1) / self.examples
        lows, highs = np.where(known, scores, low), np.where(known, scores, high)
        together = np.array(inclusions).max(axis=0) if len(inclusions) > 1 else inclusions[0]
        size = int(there.sum(axis=1).min())
        alone = [self._variance(row, own, clusters) for row, own in zip(influence, inclusions, strict=True)]
        return FullScores(
            scores=np.clip(scores, lows, highs),
            variance=np.where(known, 0.0, alone),
            of_differences=self._differences(influence, together, clusters),
            coefficients=coefficients,
            known=known,
            skewness=_skewness(influence - influence[0] * (len(influence) > 1), clusters),
            baseline_noise=noise,
            low=lows,
            high=highs,
            examples=self.examples,
            used=used,
            freedom=self._freedom(used, size, clusters),
            notes=(None,) * len(answers),
        )

    def _used(self, baseline: Floats | None, answered: int) -> EstimatorUsed:
        if self.model is not None and self.model.models >= LEAST_MODELS:
            return "assisted"
        if answered < LEAST_ANSWERS or (baseline is None and self.source_mean is None):
            return "plain"
        return "regression"

    def _answered(self, there: NDArray[np.bool_]) -> Floats:
        """Inclusion probabilities with the missing taken as missing at random; 0 where there is no answer.

        Within groups of equal probability (strata), the share answered.
        """
        inclusion = np.where(there, self.inclusion, 0.0)
        for value in np.unique(self.inclusion[self.inclusion < 1]):
            group = self.inclusion == value
            inclusion[group & there] = value * there[group].mean()
        return inclusion

    def _each_corrected(
        self, used: EstimatorUsed, answers: Floats, inclusions: list[Floats], baseline: Floats | None
    ) -> tuple[list[CorrectedScore], Floats]:
        """Each model's score, and the shares of `_corrected`; what is known in full needs no prediction."""
        ways: list[EstimatorUsed] = [used] * len(answers)
        if baseline is not None:
            ways[0] = "plain"
        corrected, shares = zip(
            *(
                self._corrected(way, row, own, baseline)
                for way, row, own in zip(ways, answers, inclusions, strict=True)
            ),
            strict=True,
        )
        return list(corrected), np.array(shares)

    def _corrected(
        self, used: EstimatorUsed, row: Floats, inclusion: Floats, baseline: Floats | None
    ) -> tuple[CorrectedScore, float]:
        """One model's score, and how far it is predicted by the baseline's own answers.

        A new version of the baseline mostly answers as it does: its answers are then the
        better prediction, and the difference of equal answers is 0.
        """
        there = inclusion > 0
        chosen, given, drawn = self.chosen[there], row[there], inclusion[there]
        ways = self._predictions(used, chosen, given, drawn, baseline)
        predicted, errors, share = np.zeros(self.examples), given, 0.0
        if ways:
            weights = best_mixture(np.array([error for _, error in ways]), 1 / drawn)
            predicted = np.sum([weight * way for weight, (way, _) in zip(weights, ways, strict=True)], axis=0)
            errors = weights @ np.array([error for _, error in ways])
            share = float(weights[-1]) if baseline is not None else 0.0
        one = corrected_score(predicted, errors, chosen, given, drawn)
        influence, coefficients = np.zeros(len(row)), np.zeros(len(row))
        influence[there], coefficients[there] = one.influence, one.coefficients
        return replace(one, influence=influence, coefficients=coefficients), share

    def _predictions(
        self,
        used: EstimatorUsed,
        chosen: NDArray[np.int64],
        given: Floats,
        drawn: Floats,
        baseline: Floats | None,
    ) -> list[tuple[Floats, Floats]]:
        """Predictions of every example and errors of the answers, by each way there is; the baseline last."""
        if used == "plain":
            return []
        ways = []
        if used == "assisted" and self.model is not None:
            ways.append(predict_examples(self.model, chosen, given, baseline))
        known = [part for part in (baseline, self.source_mean) if part is not None]
        if known:
            ways.append(regress_examples(chosen, given, np.column_stack(known), 1 / drawn))
        if baseline is not None:
            ways.append((baseline, given - baseline[chosen]))
        return ways

    def _variance(self, influence: Floats, inclusion: Floats, clusters: NDArray[np.int64] | None) -> float:
        there = inclusion > 0
        groups = None if clusters is None else np.unique(clusters[there], return_inverse=True)[1]
        return variance(influence[there], inclusion[there], self.examples, groups)

    def _differences(
        self, influence: Floats, inclusion: Floats, clusters: NDArray[np.int64] | None
    ) -> Floats:
        found = np.zeros((len(influence), len(influence)))
        for first, second in zip(*np.triu_indices(len(influence), 1), strict=True):
            value = self._variance(influence[first] - influence[second], inclusion, clusters)
            found[first, second] = found[second, first] = value
        return found

    def _freedom(self, used: EstimatorUsed, answered: int, clusters: NDArray[np.int64] | None) -> int:
        if clusters is not None:
            return max(len(np.unique(clusters)) - 1, 1)
        return max(answered - 1 - (0 if used == "plain" else _FITTED), 1)


@dataclass(frozen=True, slots=True, eq=False)
class DesignedEvidence:
    """Examples chosen by a model of the source models.

    Attributes
    ----------
    estimator : AbilityEstimator
    source : Source
        What its model was fitted to.
    """

    estimator: AbilityEstimator
    source: Source

    @property
    def cells(self) -> int:
        """See `Evidence`."""
        return self.estimator.model.cells + int(self.source.scores.size) // 8

    def scores(
        self, answers: Floats, baseline: Floats | None = None, clusters: NDArray[np.int64] | None = None
    ) -> FullScores:
        """See `Evidence`; a baseline known in full joins the source models. Clusters change nothing."""
        by = self.estimator if baseline is None else self._joined(baseline)
        found = by.predict(answers)
        known = np.zeros(len(answers), dtype=bool)
        own, scores, coefficients = found.deviation() ** 2, found.score.copy(), found.coefficients.copy()
        low, high, apart = found.low.copy(), found.high.copy(), by.difference_variance(answers)
        noise = np.full(len(answers), (coefficients[0] ** 2).sum())
        if baseline is not None:
            known[0], own[0], full = True, 0.0, float(baseline.mean())
            # A new version of the baseline shares its errors on these examples: what the two differ by there
            # then says more than the new one's answers alone.
            similar = apart[0] < own
            scores = np.where(similar, scores - scores[0] + full, scores)
            own = np.where(similar, apart[0], own)
            noise = np.where(similar, noise, 1 / len(baseline))
            scores[0] = low[0] = high[0] = full
            own[0], coefficients[0] = 0.0, 1 / len(baseline)
            apart[0], apart[:, 0] = own, own
        np.fill_diagonal(apart, 0.0)
        return FullScores(
            scores=scores,
            variance=own,
            of_differences=apart,
            coefficients=coefficients,
            known=known,
            skewness=np.zeros(len(answers)),
            baseline_noise=noise,
            low=low,
            high=high,
            examples=by.model.mean.shape[1],
            used="predicted",
            freedom=0,
            notes=tuple(
                None if full else note for full, note in zip(known, self._notes(by, found), strict=True)
            ),
        )

    def _notes(self, by: AbilityEstimator, found: Prediction) -> list[str | None]:
        """Where the source models cannot say, or an estimate goes on beyond them."""
        notes: list[str | None] = []
        points = 164.5 * found.deviation()
        for at, reason in enumerate(by.cannot_say(found)):
            if reason is not None:
                notes.append(
                    f"The source models cannot say what this model scores: {reason}. The estimate may be "
                    f"{points[at]:.1f} points off or more; a random sample needs no sources."
                )
            elif found.beyond[at] >= FAR_BEYOND:
                notes.append(
                    f"{self._place(found, at)}: the estimate rests on extrapolation, "
                    f"± {points[at]:.1f} points; a random sample needs none."
                )
            else:
                notes.append(None)
        return notes

    def _place(self, found: Prediction, at: int) -> str:
        """Where a model of an ability beyond the sources' stands among their scores."""
        sources = self.source.scores.mean(axis=1)
        if found.ability[at] > 0:
            better = found.score[at] > sources.max()
            return "Better than every source model" if better else "More able than every source model"
        worse = found.score[at] < sources.min()
        return "Worse than every source model" if worse else "Less able than every source model"

    def _joined(self, baseline: Floats) -> AbilityEstimator:
        """The estimator with the baseline among the sources, unless it is one."""
        rows = self.source.scores
        if (rows == baseline).all(axis=1).any():
            return self.estimator
        kind = rows.dtype if np.isin(baseline, (0, 1)).all() else np.dtype(np.float64)
        joined = Source(np.vstack((rows.astype(kind), baseline.astype(kind))), self.source.strata)
        return replace(self.estimator, model=fit_ability_model(joined))


def _skewness(influence: Floats, clusters: NDArray[np.int64] | None) -> Floats:
    """Of the values whose mean has this influence, shape (K, n) → (K,); of clusters it says nothing."""
    if clusters is not None:
        return np.zeros(len(influence))
    squares, cubes = (influence**2).sum(axis=1), (influence**3).sum(axis=1)
    counts = np.count_nonzero(influence, axis=1)
    return np.asarray(
        np.where(squares > 0, cubes * counts**0.5 / np.where(squares > 0, squares, 1) ** 1.5, 0)
    )


def best_mixture(errors: Floats, weights: Floats) -> Floats:
    """Shares of several predictions, at least 0 and summing to 1, with which the mixture's errors vary least.

    Parameters
    ----------
    errors : ndarray of float64, shape (P, n)
        Of each answer predicted without itself.
    weights : ndarray of float64, shape (n,)
        Inverse inclusion probabilities, in any unit.
    """
    if len(errors) == 1:
        return np.ones(1)
    weights = weights / weights.sum()
    centred = (errors - (errors @ weights)[:, None]) * np.sqrt(weights)
    scale = max(float(np.abs(centred).max()), 1e-12)
    sums = np.full((1, len(errors)), 1e4 * scale)
    shares = nnls(np.vstack((centred.T, sums)), np.append(np.zeros(errors.shape[1]), sums[0, 0]))[0]
    return np.asarray(shares / shares.sum())

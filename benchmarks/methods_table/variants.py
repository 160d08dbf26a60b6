"""Everything that was tried: a variant is what its fit returns, `choose` and `estimate`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Protocol
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import Source
from service.engine.numerics import irt
from service.engine.prediction import blp, covariance, subtask_effects
from service.engine.prediction.covariance import CAUTION, Covariance
from service.engine.prediction.greedy import Greedy
from service.engine.prediction.shrinkage import Moments
from service.engine.selection import optimal_design
from service.engine.selection.registry import METHODS, create

Floats = NDArray[np.float64]
Indices = NDArray[np.integer]


class Fitted(Protocol):
    def choose(self, size: int) -> Indices: ...

    def estimate(self, chosen: Indices, answers: Floats) -> Floats: ...


Variant = Callable[[Source, np.random.Generator], Fitted]


class Registered:
    """A method of the service, with its own estimator or another."""

    def __init__(self, name: str, estimator: str, source: Source, rng: np.random.Generator) -> None:
        self._fitted, self._estimator = create(name, {}).fit(source, rng), estimator
        self._blp = blp.fit(source) if estimator == "blp" and name != "optimal_design" else None

    def choose(self, size: int) -> Indices:
        self._subset = self._fitted.pick(size)
        return self._subset.indices

    def estimate(self, chosen: Indices, answers: Floats) -> Floats:
        if self._blp is not None:
            return self._blp.estimate(chosen, answers)
        return self._fitted.estimate(self._subset, answers, self._estimator)


class Designed:
    """A covariance of one's own, chosen from and predicted by as the service does."""

    def __init__(self, source: Source, known: Covariance, choosing: Covariance | None = None) -> None:
        self.source, self.covariance = source, known
        self._blp = blp.BLP(source, known)
        self._greedy = greedy(source, choosing or known)

    def choose(self, size: int) -> Indices:
        return self._greedy.first(size)

    def estimate(self, chosen: Indices, answers: Floats) -> Floats:
        return self._blp.estimate(chosen, answers)


def greedy(source: Source, known: Covariance) -> Greedy:
    nothing, everything = np.array([], dtype=np.int64), np.ones(source.n_examples, dtype=bool)
    return Greedy(known, known, 0.0, source.strata, include=nothing, allowed=everything)


def method(name: str, estimator: str | None = None) -> Variant:
    return lambda source, rng: Registered(name, estimator or METHODS[name].estimators[0], source, rng)


def without(module: Any, **parts: Any) -> Variant:
    """`optimal_design` with parts of the engine replaced."""

    def fit(source: Source, rng: np.random.Generator) -> Fitted:
        return Patched(module, parts, source, rng)

    return fit


class Patched(Registered):
    def __init__(self, module: Any, parts: dict[str, Any], source: Source, rng: np.random.Generator) -> None:
        self._module, self._parts = module, parts
        with self._replaced():
            super().__init__("optimal_design", "blp", source, rng)

    def _replaced(self) -> ExitStack:
        stack = ExitStack()
        for name, value in self._parts.items():
            stack.enter_context(patch.object(self._module, name, value))
        return stack

    def estimate(self, chosen: Indices, answers: Floats) -> Floats:
        with self._replaced():  # the correction fits folds only now
            return super().estimate(chosen, answers)


def raw_moments(scores: Floats) -> Moments:
    mean = scores.mean(axis=0)
    return Moments(mean, np.maximum(scores.var(axis=0), 0.25 / len(scores) ** 2 + 1e-4))


def raw_loadings(standard: Floats, varied: NDArray[np.bool_], caution: float = 0.0) -> Floats:
    """Mean correlations with the others as they are."""
    sums = standard.sum(axis=1, keepdims=True)
    mean = (standard * (sums - standard)).mean(axis=0) / max(int(varied.sum()) - 1, 1)
    common = float(mean[varied].mean()) if varied.any() else 0.0
    return np.clip(mean / np.sqrt(common), -0.97, 0.97) if common > 0 else np.zeros(len(varied))


def prototype(source: Source, rng: np.random.Generator) -> Fitted:
    """Correlations shrunk towards a constant one by Schäfer & Strimmer, nothing else shrunk."""
    scores = source.scores.astype(np.float64)
    models = len(scores)
    spread = scores.std(axis=0)
    varied = spread > 0
    z = np.where(varied, (scores - scores.mean(axis=0)) / np.where(varied, spread, 1), 0)
    seen = z[:, varied]
    count = seen.shape[1]
    sample = seen.T @ seen / models
    off = ~np.eye(count, dtype=bool)
    common = max(float(sample[off].mean()), 0.0) if count > 1 else 0.0
    noise = (((seen**2).T @ seen**2 / models - sample**2) * models / (models - 1) ** 2)[off].sum()
    away = ((sample[off] - common) ** 2).sum()
    share = float(np.clip(noise / away, 0, 1)) if away > 0 else 1.0
    size = np.maximum(spread, np.sqrt(0.5 / (models + 2)))
    factor = np.hstack(
        (z.T * np.sqrt((1 - share) / models), np.full((len(size), 1), np.sqrt(share * common)))
    )
    rest = np.maximum(1 - (factor**2).sum(axis=1), 1e-3)
    return Designed(source, Covariance(scores.mean(axis=0), factor * size[:, None], rest * size**2, share))


def by_prediction_error(source: Source, rng: np.random.Generator) -> Fitted:
    """Intensity by how well full scores of left-out models are predicted, 5 folds."""
    truth = source.scores.mean(axis=1)
    part = np.argsort(np.argsort(truth, kind="stable")) % 5
    losses = {}
    for share in (0.3, 0.5, 0.7, 0.8, 0.9, 0.96, 1.0):
        errors = []
        for fold in range(5):
            others = Source(source.scores[part != fold], source.strata)
            known = covariance.covariance(others, share=share)
            order = greedy(others, known)
            for size in (10, 25, 50, 100):
                chosen = order.first(size)
                answers = source.scores[part == fold][:, chosen].astype(np.float64)
                error = blp.BLP(others, known).estimate(chosen, answers) - truth[part == fold]
                errors.append((size, (error**2).sum()))
        sums = [sum(e for s, e in errors if s == size) for size in (10, 25, 50, 100)]
        losses[share] = float(np.log(sums).sum())
    share = min(losses, key=losses.__getitem__)
    choosing = covariance.covariance(source, share=share, caution=CAUTION)
    return Designed(source, covariance.covariance(source, share=share), choosing)


def irt_prior(source: Source, rng: np.random.Generator) -> Fitted:
    """Covariance of the probabilities that an IRT model gives the source models."""
    fitted = irt.fit(source.scores, 3)
    chances = fitted.probabilities(fitted.ability)
    mean = chances.mean(axis=0)
    factor = (chances - mean).T / np.sqrt(len(chances))
    noise = np.maximum((chances * (1 - chances)).mean(axis=0), 1e-3)
    if source.scores.dtype != np.uint8:
        noise = np.maximum(((source.scores - chances) ** 2).mean(axis=0), 1e-4)
    return Designed(source, Covariance(mean, factor, noise, 1.0))


class Kept(Designed):
    """The kept design and covariances, without the correction: what the next three vary."""

    def __init__(self, source: Source, rng: np.random.Generator) -> None:
        known = covariance.covariance(source)
        super().__init__(source, known)
        self.choosing = covariance.covariance(source, share=known.intensity, caution=CAUTION)
        self._design = create("optimal_design", {}).fit(source, rng)

    def choose(self, size: int) -> Indices:
        return self._design.pick(size).indices


class Ridge(Kept):
    """Full score regressed on the chosen answers over the source models; penalty by GCV."""

    def estimate(self, chosen: Indices, answers: Floats) -> Floats:
        x, y = self.source.scores[:, chosen].astype(np.float64), self.source.scores.mean(axis=1)
        left, values, right = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
        along, best = left.T @ (y - y.mean()), (np.inf, np.zeros(len(chosen)))
        outside = max(float(((y - y.mean()) ** 2).sum() - (along**2).sum()), 0.0)
        for penalty in np.logspace(-3, 3, 13) * (values**2).mean():
            kept = values**2 / (values**2 + penalty)
            free = 1 - (1 + kept.sum()) / len(y)
            if free > 0:
                score = (outside + (((1 - kept) * along) ** 2).sum()) / free**2
                weights = right.T @ (values / (values**2 + penalty) * along)
                best = min(best, (score, weights), key=lambda pair: pair[0])
        return np.clip(y.mean() + (answers - x.mean(axis=0)) @ best[1], 0, 1)


class Exchanged(Kept):
    """After the greedy pass, examples are exchanged while that lowers the variance."""

    def choose(self, size: int) -> Indices:
        chosen = super().choose(size).tolist()
        sigma = self.choosing.factor @ self.choosing.factor.T + np.diag(self.choosing.noise)
        full = sigma.mean(axis=1)
        for place in range(len(chosen) if size <= 50 else 0):
            others = chosen[:place] + chosen[place + 1 :]
            weights = np.linalg.solve(sigma[np.ix_(others, others)], sigma[others])
            left = full - weights.T @ full[others]
            variance = np.diag(sigma) - np.einsum("ij,ij->j", weights, sigma[others])
            worth = np.where(variance > 1e-9, left**2 / np.maximum(variance, 1e-9), -1)
            worth[others] = -1
            chosen[place] = int(np.argmax(worth))
        return np.array(chosen)


class ForPairs(Kept):
    """Each step adds the example that orders the most pairs of source models as their full scores do."""

    def __init__(self, source: Source, rng: np.random.Generator) -> None:
        super().__init__(source, rng)
        models = source.n_models
        first, second = np.triu_indices(models, 1)
        some = rng.permutation(len(first))[:2000]
        scores = source.scores.astype(np.float32)
        self._apart = scores[first[some]] - scores[second[some]]
        self._truth = np.sign(self._apart.mean(axis=1))
        self._sum = np.zeros(len(some), dtype=np.float32)
        self._order: list[int] = []

    def choose(self, size: int) -> Indices:
        while len(self._order) < size:
            margins = (self._sum[:, None] + self._apart) * self._truth[:, None]
            worth = np.clip(margins, -1, 1).sum(axis=0)
            worth[self._order] = -np.inf
            chosen = int(np.argmax(worth))
            self._order.append(chosen)
            self._sum += self._apart[:, chosen]
        return np.array(self._order[:size])


def constant(standard: Floats, varied: NDArray[np.bool_], caution: float = 0.0) -> Floats:
    known = covariance_loadings(standard, varied)
    return np.full(len(known), known.mean())


covariance_loadings = covariance.loadings

VARIANTS: dict[str, Variant] = {
    "**optimal_design**": method("optimal_design"),
    "random": method("random"),
    "stratified": method("stratified"),
    "confidence_strata": method("confidence_strata"),
    "anchor_points": method("anchor_points"),
    "tinybenchmarks, gpirt": method("tinybenchmarks", "gpirt"),
    "diversity": method("diversity"),
    "random + blp": method("random", "blp"),
    "anchor_points + blp": method("anchor_points", "blp"),
    "tinybenchmarks + blp": method("tinybenchmarks", "blp"),
    "Σ: constant correlation, Schäfer–Strimmer": prototype,
    "Σ: probabilities of an IRT model": irt_prior,
    "Σ: one loading for all examples": without(covariance, loadings=constant),
    "Σ: loadings not shrunk": without(covariance, loadings=raw_loadings),
    "Σ: means and variances not shrunk": without(covariance, moments=raw_moments),
    "Σ: no effects of kinds of examples": without(subtask_effects, _DIFFICULTY_PART=0.0, _LOADING_PART=0.0),
    "Σ: no subtask factors": without(subtask_effects, _MOST_SUBTASKS=0),
    "intensity 0.5 always": without(covariance, intensity=lambda *_: 0.5, _JUDGES=0),
    "intensity 0.9 always": without(covariance, intensity=lambda *_: 0.9, _JUDGES=0),
    "intensity by left-out models' score errors": by_prediction_error,
    "choice: exchange steps after greedy": Exchanged,
    "choice: most source pairs in order": ForPairs,
    "choice: no extra caution": without(optimal_design, CAUTION=0.0),
    "choice: by what was learnt alone": without(optimal_design, _TRUSTED=0),
    "prediction: ridge regression, GCV": Ridge,
    "prediction: no correction": without(optimal_design, _CORRECTED_FROM=10**9),
}

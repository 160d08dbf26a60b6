"""What one trial shows: sources to the methods, targets' answers to the estimators."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from service.engine.data.contracts import Fitted, Source, Subset
from service.engine.data.errors import Unsuitable
from service.engine.data.matrix import Matrix, Scores
from service.engine.experiment.splits import Split, generator
from service.engine.planning.plan import Plan, Spec
from service.engine.prediction.ability_model import AbilityModel, fit_ability_model
from service.engine.prediction.ability_predictor import AbilityPredictor


class TrialData:
    """One trial on the whole benchmark or on one subtask.

    Parameters
    ----------
    plan : Plan
    matrix : Matrix
        Complete.
    trial : int
    split : Split
    subtask : int, optional
        Restricts the examples to one subtask.
    """

    def __init__(self, plan: Plan, matrix: Matrix, trial: int, split: Split, subtask: int | None) -> None:
        self.plan = plan
        self.trial = trial
        self._matrix = matrix
        self._split = split
        self._name = "" if subtask is None else matrix.subtasks[subtask]
        self._selection = _within(matrix, split.selection, subtask)
        self._heldout = _within(matrix, split.heldout, subtask)
        self._sources: dict[int | None, Source] = {}
        self._models: dict[int | None, AbilityModel] = {}

    @property
    def n_examples(self) -> int:
        """Examples to choose from."""
        return len(self._selection)

    @cached_property
    def _target_scores(self) -> Scores:
        return self._matrix.scores[self._split.targets]

    def true_sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums of the targets' scores over the selection part and the held-out part, each (T,)."""
        same, new = (self._target_scores[:, part].sum(axis=1) for part in (self._selection, self._heldout))
        return same.astype(np.float64), new.astype(np.float64)

    def fit(self, spec: Spec, sources: int | None, fits: int) -> list[Fitted]:
        """Fit a method once or, with streams of its own, several times."""
        source = self._source(sources)
        purpose = (spec.fit_key, self._name)
        streams = [generator(self.plan.seed, self.trial, *purpose, *["refit"] * i) for i in range(fits)]
        return [spec.create().fit(source, stream) for stream in streams]

    def estimate(
        self, spec: Spec, sources: int | None, fitted: Fitted, subset: Subset
    ) -> NDArray[np.float64]:
        """The targets' estimated scores from their answers on the subset, shape (T,)."""
        columns = self._selection[subset.indices]
        if spec.scored_by == "confidences" and self._matrix.confidences is not None:
            answers = self._matrix.confidences[self._split.targets][:, columns].astype(np.float64)
        else:
            answers = self._target_scores[:, columns].astype(np.float64)
        if spec.predicts:
            by = AbilityPredictor(self._model(sources), subset.indices, self.plan.expect)
            scores = by.predict(answers).score
        else:
            scores = fitted.estimate(subset, answers, spec.estimator)
        if not np.isfinite(scores).all():
            raise Unsuitable(f"{spec.label} estimated a score that is not finite")
        return np.asarray(scores, dtype=np.float64)

    def true_means(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean scores of the targets over the selection part and the held-out part, each (T,)."""
        same, new = self.true_sums()
        return same / len(self._selection), new / max(len(self._heldout), 1)

    def coverage(self, sources: int | None, subset: Subset, level: float) -> float:
        """Share of the targets' full scores within their intervals as `/scores` serves them."""
        by = AbilityPredictor(self._model(sources), subset.indices, self.plan.expect)
        answers = self._target_scores[:, self._selection[subset.indices]].astype(np.float64)
        low, high = by.predict(answers).interval(level).T
        full = self.true_means()[0]
        return float(((low - 1e-9 <= full) & (full <= high + 1e-9)).mean())

    def _source(self, sources: int | None) -> Source:
        if sources not in self._sources:
            rows = np.sort(self._split.sources[: sources or 0])
            columns = self._selection
            conf, emb = self._matrix.confidences, self._matrix.embeddings
            self._sources[sources] = Source(
                scores=self._matrix.scores[np.ix_(rows, columns)],
                strata=np.unique(self._matrix.strata[columns], return_inverse=True)[1].astype(np.int32),
                confidences=None if conf is None else conf[np.ix_(rows, columns)],
                embeddings=None if emb is None else emb[columns],
            )
        return self._sources[sources]

    def _model(self, sources: int | None) -> AbilityModel:
        if sources not in self._models:
            self._models[sources] = fit_ability_model(self._source(sources))
        return self._models[sources]


def _within(matrix: Matrix, examples: NDArray[np.int64], subtask: int | None) -> NDArray[np.int64]:
    return examples if subtask is None else examples[matrix.strata[examples] == subtask]

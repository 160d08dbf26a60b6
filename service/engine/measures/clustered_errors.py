"""Standard errors of statistics of pairs that share models and trials, without resampling.

A statistic's influence by model and trial, g_ir, is the sum of the influences of the pairs of
model i in trial r; every pair counts for both of its models. With I_r = ½ Σ_i g_ir:

    V_trials = R / (R − 1) Σ_r I_r²      this experiment with other seeds
    V_models = M / (M − 1) Σ_i (Σ_r g_ir)²   and, as V_trials + V_models − Σ g_ir², other models too

Influences subtract, so differences between methods and sizes have paired errors of the same kind.

Source: Cameron, Gelbach and Miller, "Robust inference with multiway clustering" (JBES 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from service.engine.data.pairs import ModelPairs
from service.engine.measures.local_probit import Floats, Levels


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which model every target of every trial is.

    Attributes
    ----------
    models : ndarray of int64, shape (R, T)
        Rows of the matrix.
    groups : tuple of int
        How many trials each group of trials has that estimated on its own; their sum is R.
    """

    models: NDArray[np.int64]
    groups: tuple[int, ...]

    @cached_property
    def n_models(self) -> int:
        """Distinct models."""
        return len(np.unique(self.models))

    def joined(self, other: Clusters) -> Clusters:
        """These trials and then others."""
        return Clusters(np.concatenate((self.models, other.models)), (*self.groups, *other.groups))

    def errors(self, influence: Floats) -> StandardErrors:
        """Standard errors of statistics with these influences, (…, R, T)."""
        by_trial = influence.sum(axis=-1) / 2
        ends = np.cumsum(self.groups)
        trials: Floats = np.zeros(by_trial.shape[:-1])
        for start, end in zip((0, *ends[:-1]), ends, strict=True):
            count = end - start
            if count > 1:
                trials += count / (count - 1) * (by_trial[..., start:end] ** 2).sum(axis=-1)
        flat = influence.reshape(*influence.shape[:-2], -1)
        rows = self.models.ravel()
        member = csr_array(
            (np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(rows.max(initial=0) + 1, len(rows))
        )
        of_models = ((member @ flat.reshape(-1, self.models.size).T) ** 2).sum(axis=0).reshape(trials.shape)
        of_models *= self.n_models / max(self.n_models - 1, 1)
        if len(self.models) == 1:
            return StandardErrors(trials, np.sqrt(of_models))
        both = trials + of_models - (flat**2).sum(axis=-1)
        return StandardErrors(np.sqrt(trials), np.sqrt(np.maximum(both, trials)))


@dataclass(frozen=True, slots=True, eq=False)
class StandardErrors:
    """Of the same experiment with other seeds (0 of a formula), and with other models like these too."""

    trials: Floats
    models: Floats


class PairSums:
    """Sums values of pairs to their two models in their trial.

    Parameters
    ----------
    pairs : ModelPairs
    levels : Levels
        Of these pairs; equal pairs do not count.
    shape : (int, int)
        Trials and targets, R and T.
    """

    def __init__(self, pairs: ModelPairs, levels: Levels, shape: tuple[int, int]) -> None:
        kept, (trials, targets) = levels.kept, shape
        start = pairs.trial[kept].astype(np.int64) * targets
        rows = np.concatenate((start + pairs.first[kept], start + pairs.second[kept]))
        columns = np.tile(np.arange(len(kept)), 2)
        self._sum = csr_array(
            (np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=(trials * targets, len(kept))
        )
        self._level, self._shape = levels.level, shape

    def influence(self, slope: Floats, fitted: Floats, values: NDArray[np.floating]) -> Floats:
        """G of one curve, (R, T), from its slope and fit by level, (L,), and its kept pairs' values, (P,)."""
        each = slope[self._level] * (values - fitted[self._level])
        return np.asarray((self._sum @ each).reshape(self._shape))

"""What is left unknown of a new model's scores under one covariance, as examples are answered.

With F and d of a covariance F·Fᵀ + diag(d) and P the posterior covariance of the
factors, the covariance of example j with the full score is c_j = F_j·P·g + d_j / N, g
being the mean factor of what is not yet chosen, its variance q_j = F_j·P·F_jᵀ + d_j, and
answering it lowers the variance of the full score by c_j² / q_j. A step costs one product
of F with a vector. Where there are fewer examples than factors, F·P·Fᵀ itself is kept
instead of P; nothing larger than F is ever made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.engine.prediction.covariance import Covariance
from service.engine.prediction.shrinkage import Floats

_LEAST_VARIANCE = 1e-15


class Posterior:
    """A covariance, conditioned on the answers to the examples taken so far.

    Parameters
    ----------
    covariance : Covariance
    """

    def __init__(self, covariance: Covariance) -> None:
        self._factor, self._noise = covariance.factor, covariance.noise
        examples, rank = self._factor.shape
        self._by_examples = examples <= rank
        self._posterior = np.eye(rank)
        if self._by_examples:
            self._posterior = (self._factor @ self._factor.T).astype(np.float64)
        rest = self._factor.mean(axis=0, dtype=np.float64)
        self._shared = (self._factor @ rest.astype(self._factor.dtype)).astype(np.float64)
        self._explained = np.einsum("jr,jr->j", self._factor, self._factor, dtype=np.float64)
        self._rest = np.ones(examples, dtype=bool)

    def worth(self) -> Floats:
        """Share of the full score's variance that each example's answer would remove, shape (N,)."""
        with_full = self._shared + self._noise / len(self._noise)
        variance = max(float(with_full[self._rest].sum()) / len(self._noise), _LEAST_VARIANCE)
        return np.asarray(with_full**2 / (self._explained + self._noise) / variance)

    def take(self, chosen: NDArray[np.integer]) -> None:
        """Condition the rest on the answers to these."""
        self._rest[chosen] = False
        seen = self._seen(chosen)
        covariances = seen if self._by_examples else self._times(seen)
        precision = np.linalg.inv(covariances[chosen] + np.diag(self._noise[chosen]))
        gain = covariances @ precision
        self._shared -= covariances.sum(axis=1) / len(self._noise)
        self._shared -= gain @ (self._rest @ covariances) / len(self._noise)
        self._explained = np.maximum(self._explained - (gain * covariances).sum(axis=1), 0)
        self._posterior -= (gain if self._by_examples else seen @ precision) @ seen.T

    def _seen(self, chosen: NDArray[np.integer]) -> Floats:
        """Posterior covariance of the kept quantities with the chosen examples' common part."""
        if self._by_examples:
            return self._posterior[:, chosen]
        return np.asarray(self._posterior @ self._factor[chosen].T.astype(np.float64))

    def _times(self, vectors: Floats) -> Floats:
        return np.asarray(self._factor @ vectors.astype(self._factor.dtype), dtype=np.float64)

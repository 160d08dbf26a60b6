"""When a session is looked at, and how far each look's interval reaches.

Planned looks (`planned`): the answers are looked at when the first `FIRST` examples, rounded up to
whole batches, and then each further batch are complete, and at the budget's end. The error that
may be spent is spread over them (`critical_values`): the share spent at n examples of a budget of B
is (n / B)^1.4. At a budget of the whole benchmark, where the last look knows the truth, most of it is
spent by `WHOLE` of the benchmark.

Any look (`any`): an anytime-valid interval, from the normal mixture (Robbins 1970, Ann. Math. Stat.
41:1397; Howard et al. 2021, Ann. Stat. 49:1055), narrowest at half of the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from service.engine.comparison.sequential.bounds import LARGEST, critical_values
from service.engine.comparison.sequential.question import Looks

FIRST = 50
"""Examples before which an estimated variance says too little."""
WHOLE, LATE = 0.5, 0.1
"""Part of the benchmark by which error is spent when the budget is the whole of it, but for this share."""
MOST = 60
"""Looks; with more batches, several are taken between two."""
_POWER = 1.4


@dataclass(frozen=True, slots=True)
class LookPlan:
    """The looks of a session.

    Attributes
    ----------
    sizes : tuple of int
        Examples answered at each look, ascending; the last is the budget.
    critical : tuple of float
        Two-sided critical value of each; 0 where the whole benchmark is known.
    spent : tuple of float
        Two-sided error spent up to each.
    total : int
        Examples of the benchmark.
    """

    sizes: tuple[int, ...]
    critical: tuple[float, ...]
    spent: tuple[float, ...]
    total: int

    @property
    def budget(self) -> int:
        """Most examples that are answered."""
        return self.sizes[-1]

    def at(self, answered: int) -> int | None:
        """Number of the last look that this many answers allow; None before the first."""
        found = int(np.searchsorted(self.sizes, answered, side="right")) - 1
        return found if found >= 0 else None

    def confidence(self, number: int) -> float:
        """Of the look's interval, so that all looks' intervals hold together."""
        return float(1 - 2 * ndtr(-(self.critical[number] or LARGEST)))

    def share(self, number: int) -> float:
        """Information of a look as a share of the budget's; 0 where that is the whole benchmark."""
        if self.budget == self.total:
            return 0.0
        return information(self.sizes[number], self.total) / information(self.budget, self.total)


def information(size: int, total: int) -> float:
    """Of a random sample without replacement, in answers drawn with replacement: n / (1 − n/N)."""
    return math.inf if size >= total else size / (1 - size / total)


@lru_cache(maxsize=256)
def plan_looks(budget: int, batch: int, total: int, confidence: float, looks: Looks = "planned") -> LookPlan:
    """The looks of a session.

    Parameters
    ----------
    budget, batch, total : int
        Most examples answered, at most `total`; examples handed out at a time; examples of the benchmark.
    confidence : float
        With which all looks' intervals hold together.
    looks : "planned" or "any"
        Of `any` these are but some of the looks there may be (`any_look`).
    """
    step = batch * math.ceil(budget / batch / MOST)
    first = min(math.ceil(min(FIRST, budget) / step) * step, budget)
    sizes = np.unique(np.append(np.arange(first, budget + 1, step), budget))
    error = 1 - confidence
    inner = sizes[sizes < total]
    if looks == "any":
        critical = [mixture(int(size), budget, total, error) for size in inner]
        spent = np.full(len(inner), error)
    else:
        spent = error * _shares(inner, budget, total)
        known = np.array([information(int(size), total) for size in inner])
        critical = critical_values(known, spent).tolist() if len(inner) else []
    ends = [0.0] * (len(sizes) - len(inner))
    return LookPlan(
        sizes=tuple(sizes.tolist()),
        critical=(*critical, *ends),
        spent=(*spent.tolist(), *(error for _ in ends)),
        total=total,
    )


def any_look(size: int, budget: int, total: int, confidence: float) -> LookPlan:
    """The look at this size, its number 0, where looks are not planned."""
    error, sizes = 1 - confidence, (size,) if size == budget else (size, budget)
    critical = tuple(0.0 if n == total else mixture(n, budget, total, error) for n in sizes)
    return LookPlan(sizes, critical, (error,) * len(sizes), total)


def _shares(sizes: NDArray[np.int64], budget: int, total: int) -> NDArray[np.float64]:
    """Of the error, spent up to each size."""
    if budget < total:
        return np.asarray((sizes / budget) ** _POWER)
    early = np.minimum(sizes / (WHOLE * total), 1.0) ** _POWER
    return np.asarray((1 - LATE) * early + LATE * sizes / total)


def mixture(size: int, budget: int, total: int, error: float) -> float:
    """Critical value of the normal-mixture confidence sequence at this size.

    √((1 + ρ/I) ln((I + ρ) / (ρ α²))), ρ such that it is smallest, to first order, where half of
    the budget is answered: ρ = I* / (2 ln(1/α) + ln(1 + 2 ln(1/α))) (Howard et al. 2021, eq. 3.7).
    """
    logs = 2 * math.log(1 / error)
    rho = information(max(budget // 2, 1), total) / (logs + math.log(1 + logs))
    known = information(size, total)
    return min(math.sqrt((1 + rho / known) * math.log((known + rho) / rho / error**2)), LARGEST)

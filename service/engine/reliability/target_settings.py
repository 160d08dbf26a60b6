"""How each method does for new models of several kinds.

The trials of an experiment draw targets and sources from one pool, so they say what happens
to models like the sources only. Here targets are drawn apart from the sources in the way
that new models will differ from them, and near copies of targets are no sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.engine.data.errors import Unsuitable
from service.engine.data.matrix import Matrix
from service.engine.data.pairs import BIN_WIDTH, N_BINS
from service.engine.experiment.splits import Split, Splitter, generator
from service.engine.experiment.trial_data import TrialData
from service.engine.measures.mdad import NEVER, isotonic_bin
from service.engine.planning.plan import Plan
from service.engine.planning.target_settings import TargetSetting
from service.engine.prediction.near_copies import copy_groups
from service.engine.selection.registry import LEARNS_NOTHING

Check = Callable[[float], None]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

TRIALS = 3
"""Enough for errors and coverage; the experiment's own trials are many more."""
LEVEL = 0.9
_TOP, _LOWER = 0.2, 0.6
_LEAST_TARGETS, _LEAST_SOURCES = 4, 3
_MOST_COMPARED = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class _Pools:
    """Models to draw targets and sources from in one trial."""

    targets: Rows
    sources: Rows


@dataclass(slots=True)
class _Tally:
    """Estimates of one method at one size, trial by trial."""

    errors: list[Floats]
    weight: Floats
    credit: Floats
    inside: list[NDArray[np.bool_]]

    @classmethod
    def empty(cls) -> _Tally:
        return cls([], np.zeros(N_BINS), np.zeros(N_BINS), [])

    def add(self, estimates: Floats, truth: Floats, whole: Floats, interval: Floats | None) -> None:
        """One trial: estimates, the truth they are judged by, and the full scores intervals are about."""
        self.errors.append(np.abs(estimates - truth))
        first, second = np.triu_indices(len(truth), 1)
        apart, estimated = truth[first] - truth[second], estimates[first] - estimates[second]
        kept = np.abs(apart) > 1e-12
        bins = np.floor(np.abs(apart[kept]) / BIN_WIDTH + 1e-9).astype(np.int64)
        right = np.where(np.abs(estimated) <= 1e-12, 0.5, np.sign(estimated) == np.sign(apart))
        right = right.astype(np.float64)
        self.weight += np.bincount(bins, minlength=N_BINS)
        self.credit += np.bincount(bins, weights=right[kept], minlength=N_BINS)
        if interval is not None:
            self.inside.append((interval[:, 0] - 1e-9 <= whole) & (whole <= interval[:, 1] + 1e-9))

    def as_json(self, size: int, probability: float) -> dict[str, Any]:
        """The entry of one size."""
        pairs = float(self.weight.sum())
        at = int(isotonic_bin(self.weight[:, None], self.credit[:, None], probability)[0])
        return {
            "size": size,
            "mdad": None if at == NEVER else at * BIN_WIDTH,
            "agreement": float(self.credit.sum()) / pairs if pairs else None,
            "error": float(np.concatenate(self.errors).mean()),
            "coverage": float(np.concatenate(self.inside).mean()) if self.inside else None,
        }


def judge_settings(matrix: Matrix, plan: Plan, check: Check) -> list[dict[str, Any]]:
    """One entry a setting of the plan.

    Parameters
    ----------
    matrix : Matrix
        Complete.
    plan : Plan
    check : callable
        Called with the fraction done; may raise Stopped.

    Returns
    -------
    list of dict
        {setting, target_models, source_models, trials, reason, methods: [{label, sizes: [{size,
        mdad, agreement, error, coverage}]}]}; coverage is that of the 90 % interval which
        `/scores` serves, null where that needs no model.
    """
    models = len(matrix.models)
    groups = copy_groups(matrix.scores.astype(np.float64)) if models <= _MOST_COMPARED else np.arange(models)
    splitter = Splitter(plan, matrix)
    found = []
    for at, setting in enumerate(plan.target_settings):
        check(at / len(plan.target_settings))
        found.append(_judge(matrix, plan, setting, groups, splitter, check))
    return found


def _judge(
    matrix: Matrix, plan: Plan, setting: TargetSetting, groups: Rows, splitter: Splitter, check: Check
) -> dict[str, Any]:
    tallies: dict[tuple[str, int], _Tally] = {}
    targets = sources = 0
    trials = min(TRIALS, plan.trials)
    for trial in range(trials):
        rng = generator(plan.seed, trial, "target setting", setting)
        pools = _pools(matrix, plan, setting, rng)
        if pools is None:
            return _entry(setting, 0, 0, 0, _TOO_FEW[setting], [])
        split = _split(plan, pools, groups, splitter.draw(trial), rng)
        targets, sources = len(split.targets), len(split.sources)
        _run(TrialData(plan, matrix, trial, split, None), plan, tallies)
        check(trial / trials)
    methods = [
        {
            "label": spec.label,
            "sizes": [
                tallies[spec.label, size].as_json(size, plan.probability)
                for size in plan.sizes
                if (spec.label, size) in tallies
            ],
        }
        for spec in plan.distinct
    ]
    return _entry(setting, targets, sources, trials, None, methods)


def setting_warnings(matrix: Matrix, judged: list[dict[str, Any]]) -> list[str]:
    """What the settings show that a reader of the recommendation must know, as sentences."""
    models = len(matrix.models)
    found = []
    if models <= _MOST_COMPARED:
        distinct = int(copy_groups(matrix.scores.astype(np.float64)).max()) + 1
        if distinct < models:
            found.append(f"Near copies among the {models} models: they count as {distinct}.")
    like = _sizes(judged, "like")
    for setting, words in _SETTING_WORDS.items():
        for label, size, entry in _sizes(judged, setting).values():
            beside = like.get((label, size))
            if beside is None or entry["coverage"] is None:
                continue
            if entry["error"] > _MUCH_LARGER * beside[2]["error"] or entry["coverage"] < _LITTLE_COVERED:
                found.append(
                    f"For models {words} scores by {label} at {size} examples are "
                    f"{100 * entry['error']:.1f} points off ({100 * beside[2]['error']:.1f} for models like "
                    f"them), and {100 * entry['coverage']:.0f} % of the 90 % intervals hold."
                )
    return found


_SETTING_WORDS = {
    "better": "better than the sources",
    "worse": "worse than the sources",
    "family": "of another family",
    "later": "released later",
}
_MUCH_LARGER, _LITTLE_COVERED = 1.5, 0.8

_Sizes = dict[tuple[str, int], tuple[str, int, dict[str, Any]]]


def _sizes(judged: list[dict[str, Any]], setting: str) -> _Sizes:
    """Method and size → its entry, for the largest size of each method in one setting."""
    return {
        (method["label"], size["size"]): (method["label"], size["size"], size)
        for entry in judged
        if entry["setting"] == setting
        for method in entry["methods"]
        for size in method["sizes"][-1:]
    }


_TOO_FEW: Mapping[TargetSetting, str] = {
    "like": "there are too few models to keep some apart",
    "better": "the best fifth of the models, or those below them, are too few",
    "worse": "the worst fifth of the models, or those above them, are too few",
    "family": "no family has four models and enough others beside it; say families by PATCH or at upload",
    "later": "too few models have a release date, or all have the same; say dates by PATCH or at upload",
}


def _entry(
    setting: str, targets: int, sources: int, trials: int, reason: str | None, methods: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "setting": setting,
        "target_models": targets,
        "source_models": sources,
        "trials": trials,
        "reason": reason,
        "methods": methods,
    }


def _pools(matrix: Matrix, plan: Plan, setting: TargetSetting, rng: np.random.Generator) -> _Pools | None:
    """Whom this trial draws from; None where they are too few."""
    everyone = np.arange(len(matrix.models))
    if setting == "like":
        order = rng.permutation(everyone)
        count = min(plan.models.targets, len(everyone) // 2)
        found = _Pools(order[:count], order[count:])
    elif setting == "family":
        found = _family(matrix, plan, rng)
    elif setting == "later":
        found = _later(matrix, plan)
    else:
        order = np.argsort(matrix.sums, kind="stable")
        order = order if setting == "better" else order[::-1]
        found = _Pools(order[-round(_TOP * len(order)) :], order[: int(_LOWER * len(order))])
    few = len(found.targets) < _LEAST_TARGETS or len(found.sources) < _LEAST_SOURCES
    return None if few else found


def _family(matrix: Matrix, plan: Plan, rng: np.random.Generator) -> _Pools:
    """The models of one family, and all others whose family is known."""
    of = np.array([plan.families.get(model, "") for model in matrix.models])
    names, counts = np.unique(of[of != ""], return_counts=True)
    able = names[(counts >= _LEAST_TARGETS) & (counts <= len(of) - _LEAST_SOURCES)]
    if not len(able):
        return _Pools(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    chosen = str(able[rng.integers(len(able))])
    return _Pools(np.flatnonzero(of == chosen), np.flatnonzero((of != chosen) & (of != "")))


def _later(matrix: Matrix, plan: Plan) -> _Pools:
    """The newest fifth of the dated models, and those released before the first of them."""
    day = np.array([plan.released.get(model, np.nan) for model in matrix.models], dtype=np.float64)
    dated = np.flatnonzero(np.isfinite(day))
    if len(dated) < _LEAST_TARGETS + _LEAST_SOURCES:
        return _Pools(dated[:0], dated[:0])
    cut = np.quantile(day[dated], 1 - _TOP, method="higher")
    return _Pools(np.flatnonzero(day >= cut), np.flatnonzero(day < cut))


def _split(plan: Plan, pools: _Pools, groups: Rows, drawn: Split, rng: np.random.Generator) -> Split:
    """Targets and sources of one trial; near copies of targets come last among the sources."""
    targets = np.sort(rng.permutation(pools.targets)[: plan.models.targets])
    sources = rng.permutation(pools.sources)
    copied = np.isin(groups[sources], groups[targets])
    sources = np.concatenate((sources[~copied], sources[copied]))
    most = max(plan.models.sources, default=0)
    if (~copied).sum() >= _LEAST_SOURCES:
        most = min(most, int((~copied).sum()))
    return replace(drawn, targets=targets, sources=sources[:most])


def _run(trial: TrialData, plan: Plan, tallies: dict[tuple[str, int], _Tally]) -> None:
    """Every method and size on one trial; what cannot be done is left out."""
    same, new = trial.true_means()
    truth = new if plan.truth == "new_items" else same
    most = max(plan.models.sources, default=0)
    for spec in plan.distinct:
        count = most if spec.needs_sources else None
        modelled = spec.scored_by == "scores" and not (spec.method in LEARNS_NOTHING and not spec.predicts)
        try:
            (fitted,) = trial.fit(spec, count, 1)
            for size in plan.sizes:
                if size > trial.n_examples:
                    continue
                subset = fitted.pick(size)
                estimates = trial.estimate(spec, count, fitted, subset)
                interval = trial.interval(count, subset, LEVEL) if modelled else None
                tally = tallies.setdefault((spec.label, size), _Tally.empty())
                tally.add(estimates, truth, same, interval)
        except Unsuitable:
            continue

"""What a reader must know before following a recommendation."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

import numpy as np

from service.engine.experiment.curves import SAME
from service.engine.measures.evaluate import ENOUGH_MODELS, LEAST_MODELS, edges
from service.engine.measures.mdad import first_crossing_bin, isotonic_bin
from service.engine.planning.plan import Plan
from service.engine.reliability.evidence import Evidence
from service.engine.reliability.recommendation import Recommendation, nearest
from service.engine.reliability.wording import points

MUCH_LARGER = 0.02
"""By how much the recommended method's estimation error may exceed the least before a caveat says so."""
FEW_TRIALS = 10


def caveats(evidence: Evidence, found: Recommendation) -> list[str]:
    """Sentences, the weightiest first."""
    return [
        *_about_models(evidence, found),
        *_about_trials(evidence.plan),
        *_about_chosen(evidence, found),
        *_about_data(evidence),
        *(
            f"{line.spec.label} was skipped: {reason}."
            for line in evidence.lines
            if not line.cells
            for reason in list(line.reasons.values())[:1]
        ),
    ]


def _about_models(evidence: Evidence, found: Recommendation) -> Iterator[str]:
    count = evidence.n_models
    more = f"{found.more_models} models more would halve the interval"
    if evidence.few:
        yield (
            f"{count} models are too few to measure an MDAD by trials, and give no interval: the size is "
            f"that of random draws, from how often these models disagree; {LEAST_MODELS} give an interval."
        )
    elif count < ENOUGH_MODELS:
        yield f"With {count} target models the intervals are too narrow; {more}."
    elif count < 2 * ENOUGH_MODELS:
        yield f"Only {count} target models: the numbers depend on which they are; {more}."


def _about_trials(plan: Plan) -> Iterator[str]:
    if plan.simulated and plan.trials < FEW_TRIALS:
        trials = "1 trial" if plan.trials == 1 else f"{plan.trials} trials"
        yield f"Only {trials}: the numbers depend on the draws; the default is 50."
    if plan.models.sources and min(plan.models.sources) < LEAST_MODELS:
        yield f"Fewer than {LEAST_MODELS} source models: methods that learn from them are at a disadvantage."
    if plan.purpose == "new_questions":
        yield (
            "The MDAD for new questions is an average over benchmarks like this one; a single benchmark "
            "can be 20 to 30 % better or worse."
        )


def _about_chosen(evidence: Evidence, found: Recommendation) -> Iterator[str]:
    if found.status != "recommended" or found.size is None or found.method is None:
        return
    plan, key = evidence.plan, (found.method, found.source_models)
    yield from _about_gap(evidence, found)
    yield from _about_growth(evidence, found)
    errors = {}
    for line in evidence.lines:
        cell = nearest(line, found.size, plan.truth)
        extra = {} if cell is None else cell.extra.get(plan.truth, cell.extra.get(SAME, {}))
        if line.same_as is None and extra.get("estimation_error"):
            errors[line.spec.label, line.sources] = extra["estimation_error"]["mean"]
    least = min(errors, key=errors.__getitem__, default=key)
    ours = errors.get(key, 0.0)
    if least != key and ours > max(2 * errors[least], errors[least] + MUCH_LARGER):
        ours_said, theirs = points(round(ours, 3)), points(round(errors[least], 3))
        yield (
            f"Scores estimated by {key[0]} are off by {ours_said} on average, those of {least[0]} by "
            f"{theirs}: trust {key[0]} for the order of models, not for their scores."
        )


def _about_gap(evidence: Evidence, found: Recommendation) -> Iterator[str]:
    """No pair of models near the MDAD: it is read off a curve across the gap."""
    differences = evidence.spread.difference
    if found.mdad is None or evidence.few or not len(differences):
        return
    away = np.log(differences / found.mdad)
    if np.abs(away).min() > np.log(1.5):
        low, high = differences[away < 0], differences[away > 0]
        below = points(float(low.max())) if len(low) else "0 points"
        above = points(float(high.min())) if len(high) else "any difference seen"
        yield (
            f"No two models differ by about {points(found.mdad)}: the MDAD lies in a gap between "
            f"{below} and {above} and is read off a curve across it."
        )


def _about_growth(evidence: Evidence, found: Recommendation) -> Iterator[str]:
    """Agreement in bins that reaches p and falls again: families of models that differ in kind."""
    plan = evidence.plan
    cell = nearest(evidence.line((found.method or "", found.source_models)), found.size or 1, plan.truth)
    if cell is None:
        return
    result, at = cell.results.get(plan.truth) or cell.results[SAME]
    weight, credit = result.weight[:, None], result.credit[at][:, None]
    first, stays = (
        float(edges(find(weight.copy(), credit.copy(), plan.probability))[0])
        for find in (first_crossing_bin, isotonic_bin)
    )
    if first < stays and np.isfinite(stays):
        yield (
            f"Agreement does not grow steadily: it first reaches {100 * plan.probability:.3g} % at "
            f"{points(first)} and stays there only from {points(stays)} on."
        )


def _about_data(evidence: Evidence) -> Iterator[str]:
    plan, matrix = evidence.plan, evidence.matrix
    constant, examples = int(matrix.constant.sum()), len(matrix.examples)
    if constant:
        have, tell = ("has", "tells") if constant == 1 else ("have", "tell")
        same = f"{constant} of {examples} examples {have} the same score for every model"
        yield f"{same} and {tell} none apart."
    repeats = len(matrix.models) - len({sha256(row.tobytes()).digest() for row in matrix.scores})
    if repeats:
        many = "1 model answers" if repeats == 1 else f"{repeats} models answer"
        yield f"{many} exactly as another one does; such pairs have no order."
    if not matrix.binary:
        yield "Scores are graded: the numbers for exact random sampling are a normal approximation."
    for label, original in plan.same_as.items():
        yield f"Without subtasks, {label} is the same as {original}: it was run once."

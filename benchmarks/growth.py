"""How the engine's processor time grows with models, examples and trials: `python -m benchmarks growth`.

In one process and without the API, so that the load of others hardly shows. Under
`python -m cProfile -s tottime` it is the engine's profile.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.experiments import SIX, simulated_answers
from benchmarks.row import Row
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.planning.plan import mdad_plan
from service.engine.reliability import mdad_job

BASE = {"models": 100, "examples": 500, "trials": 10}
SIZES = [10, 50, 200]


def rows() -> Iterator[Row]:
    with threadpool_limits(1):
        _seconds(SIX, **BASE | {"trials": 1})  # the first run imports and warms up
        for grown in BASE:
            yield from _points(SIX, grown, BASE)
        for method in SIX[2:]:
            yield from _points([method], "examples", {"models": 100, "examples": 1000, "trials": 2})
        yield from _points(["random"], "models", {"models": 400, "examples": 1000, "trials": 10})
        yield from _points(["random"], "trials", {"models": 100, "examples": 1000, "trials": 100})


def _points(methods: list[str], grown: str, base: dict[str, int]) -> Iterator[Row]:
    """One, two and four times as much of one thing, each beside the first."""
    name = methods[0] if len(methods) == 1 else "six methods"
    first = None
    for factor in (1, 2, 4):
        shape = base | {grown: base[grown] * factor}
        seconds = _seconds(methods, **shape)
        what = f"{name}, {shape['models']} × {shape['examples']}, {shape['trials']} trials: s"
        yield Row(what, seconds, first)
        first = first or seconds


def _seconds(methods: list[str], models: int, examples: int, trials: int) -> float:
    """Processor time of all parts and of the result, without making the data."""
    names = [f"m{i:05}" for i in range(models)], [f"e{j:05}" for j in range(examples)]
    data = Matrix.build(
        *names, simulated_answers(models, examples), subtasks=[f"t{j % 5}" for j in range(examples)]
    )
    request: dict[str, Any] = {"methods": methods, "sizes": SIZES, "trials": trials, "holdout": 0.5}
    plan = mdad_plan(request, Outline.of(data))
    start = time.process_time()
    mdad_job.assemble(data, plan, mdad_job.run_all(data, plan, _silent), _silent)
    return time.process_time() - start


def _silent(fraction: float) -> None:
    """Nobody waits for the progress."""

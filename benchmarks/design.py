"""optimal_design on large benchmarks: `python -m benchmarks design`.

Wall time of fitting and of choosing all sizes up to 1000, beside one product of the scores
with themselves (models × models), and the memory of the process that does it.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.experiments import simulated_answers
from benchmarks.row import Row
from service.engine.data.contracts import Source
from service.engine.selection.optimal_design import OptimalDesign

MODELS = 300
LIMITS = {6_016: (3, 2.5), 50_000: (30, 2.0)}
"""Examples → seconds and GiB."""


def rows() -> Iterator[Row]:
    for examples, (seconds, memory) in LIMITS.items():
        # In a process of its own, so that its memory is its own.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            measured, product, used = pool.apply(_measure, (examples,))
        yield Row(f"fit and sizes to 1000, {MODELS} × {examples:,}: s", measured, limit=seconds)
        yield Row("  … beside one product of the scores", measured, product)
        yield Row("  … GiB", used, limit=memory)


@threadpool_limits.wrap(limits=1)
def _measure(examples: int) -> tuple[float, float, float]:
    """As in a worker: one thread."""
    scores = simulated_answers(MODELS, examples)
    source = Source(scores, (np.arange(examples) % 14).astype(np.int32))
    start = time.perf_counter()
    fitted = OptimalDesign().fit(source, np.random.default_rng(0))
    for size in (10, 25, 50, 100, 250, 500, 1000):
        fitted.pick(size)
    done = time.perf_counter()
    floats = scores.astype(np.float64)
    begun = time.perf_counter()
    np.dot(floats, floats.T)
    product = time.perf_counter() - begun
    return done - start, product, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

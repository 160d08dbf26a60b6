"""Compares a log's own summary (its mean score and number of examples) with its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.ingest.context import Context
from service.ingest.options import Scale
from service.ingest.records import Block, Floats
from service.ingest.refusals import quoted
from service.ingest.upload import SCORED, Grid

ROUNDING = 5e-4
"""Means that differ by less than this differ only by rounding in the log."""


@dataclass(frozen=True, slots=True)
class LogTotals:
    """What the log says about one block, and what the block contains.

    Attributes
    ----------
    answers, examples, scored : int
        Answers, distinct examples, and answers with a score.
    mean : float
        Mean of the scored answers.
    reported : float or None
        Mean that the tool reports, as a fraction.
    """

    label: str
    answers: int
    examples: int
    scored: int
    mean: float
    reported: float | None
    ran: int | None
    total: int | None
    prefix: bool


def of(block: Block, values: Floats, states: NDArray[np.uint8], scale: Scale | None) -> LogTotals:
    """Summarise a block whose answers became these scores."""
    scored = states == SCORED
    reported = block.reported
    if reported is not None and scale is not None:
        reported = (reported - scale.worst) / (scale.best - scale.worst)
    if block.codes is None:
        distinct = len(set(block.names))
    else:
        distinct = int(np.count_nonzero(np.bincount(block.codes)))
    return LogTotals(
        label=f"model {quoted(block.model)}" + (f", {block.task}" if block.task else ""),
        answers=len(values),
        examples=distinct,
        scored=int(scored.sum()),
        mean=float(values[scored].mean()) if scored.any() else float("nan"),
        reported=reported,
        ran=block.ran,
        total=block.total,
        prefix=block.total is not None and block.total > distinct and _is_prefix(block),
    )


def compare(grid: Grid, claims: Mapping[str, Sequence[LogTotals]], context: Context) -> None:
    """Record each model's reported mean; warn where a log's summary differs from its answers."""
    for model, own in claims.items():
        for claim in own:
            _warn(claim, context)
        known = [(c.reported, c.scored) for c in own if c.reported is not None and c.scored]
        if len(known) == len(own):
            size = sum(n for _, n in known)
            grid.reported[model] = sum(mean * n for mean, n in known) / size


def _warn(claim: LogTotals, context: Context) -> None:
    if claim.ran is not None and claim.ran != claim.examples:
        context.warn(
            f"{claim.label}: the log says that {claim.ran} examples ran, but it holds {claim.examples}"
        )
    elif claim.prefix:
        context.warn(
            f"{claim.label}: the log holds the first {claim.examples} of {claim.total} examples; if the "
            "benchmark is sorted by subtask, its first examples do not represent the whole"
        )
    if claim.reported is None or not claim.scored or abs(claim.reported - claim.mean) <= ROUNDING:
        return
    wrong = claim.mean * claim.scored / max(claim.answers, claim.total or 0, claim.ran or 0)
    why = "; it counts missing answers as wrong" if abs(wrong - claim.reported) <= ROUNDING else ""
    here, there = f"{claim.mean:.4f}", f"{claim.reported:.4f}"
    context.warn(f"{claim.label}: the mean of the answers is {here}, but the log reports {there}{why}")


def _is_prefix(block: Block) -> bool:
    """Whether the tool's ids are 0, 1, 2, … without gaps."""
    native = block.native
    if native is None or not all(name.isascii() and name.isdigit() for name in native):
        return False
    numbers = sorted({int(name) for name in native})
    return numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1

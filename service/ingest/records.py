"""The common form of all logs: blocks of answers, each of one model from one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.ingest.upload import SCORED, UNSCORED, Grid

Floats = NDArray[np.float64]
Place = Callable[[int], str]


@dataclass(slots=True, eq=False)
class Block:
    """Answers of one model from one file.

    Attributes
    ----------
    model : str
    source : str
        The file they are from. The same answer from two files is an error.
    names : sequence of str
        Example ids; many blocks may share one such list.
    codes : ndarray of int, shape (n,), optional
        Index into `names` of each answer; None when there is one answer per name, in order.
    values : ndarray of float64, shape (n,)
        Raw scores; NaN where missing.
    states : ndarray of uint8, shape (n,), optional
        Index into `OUTCOMES`; None when NaN means unscored and all others are scored.
    repeats : ndarray of int, shape (n,), optional
        Which attempt each answer is; None when all are the first.
    unordered : bool
        Whether the numbers in `repeats` only tell attempts apart, and do not say which came first.
    counts : ndarray of int64, shape (n,), optional
        Number of answers that each value is the mean of.
    subtasks : sequence of str, str or None
        Subtask of each name in `names`, or of all.
    hashes : sequence of str, optional
        Content hash of each name in `names`; empty where the log does not show the content.
    confidences : ndarray of float64, shape (n,), optional
        Probability of the right answer; NaN where unknown.
    place : callable
        Describes the place in the file of a position.
    task : str
        The task's name for people.
    runnable : str, optional
        The tool's argument to run the task, for `ToolIdentifiers`; None if it is `task`.
    native : sequence of str, optional
        The tool's own id of each name in `names`.
    reported : float, optional
        The mean score that the tool reports, on the scale of `values`.
    total : int, optional
        Examples the tool says the task has.
    ran : int, optional
        Examples the tool says it ran.
    scaled : bool
        Whether `values` are scores already, so that `options.scale` does not apply.
    """

    model: str
    source: str
    names: Sequence[str]
    values: Floats
    place: Place
    codes: NDArray[np.int64] | None = None
    states: NDArray[np.uint8] | None = None
    repeats: NDArray[np.integer] | None = None
    counts: NDArray[np.int64] | None = None
    subtasks: Sequence[str] | str | None = None
    hashes: Sequence[str] | None = None
    confidences: Floats | None = None
    task: str = ""
    runnable: str | None = None
    native: Sequence[str] | None = None
    reported: float | None = None
    total: int | None = None
    ran: int | None = None
    scaled: bool = False
    unordered: bool = False


def blocks_of(grid: Grid, source: str) -> list[Block]:
    """The rows of a grid as blocks, to join them with blocks of other files."""
    blocks = []
    for i, model in enumerate(grid.models):
        states = None if grid.states is None else grid.states[i]
        values = grid.values[i].astype(np.float64)
        if states is None:
            states = np.where(np.isnan(values), UNSCORED, SCORED).astype(np.uint8)
        blocks.append(
            Block(
                model=model,
                source=source,
                names=grid.examples,
                values=values,
                place=lambda j: f"{source}, example {grid.examples[j]!r}",
                states=states,
                subtasks=grid.subtasks,
                confidences=None if grid.confidences is None else grid.confidences[i].astype(np.float64),
                scaled=True,
            )
        )
    return blocks

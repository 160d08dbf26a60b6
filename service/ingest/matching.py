"""Checks that models answered the same examples: by id, and by content hash where logs have one."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from service.ingest.context import Context
from service.ingest.records import Block
from service.ingest.refusals import listed, quoted, refuse
from service.ingest.upload import Grid

FOREIGN = 0.05
"""A model of whose examples more than this share occur in no other log ran another benchmark."""


def by_content(
    columns: NDArray[np.int64], hashes: Sequence[str | None], known: Sequence[str | None]
) -> NDArray[np.int64] | None:
    """Move examples whose content is known under another id to where it is.

    Some tools number the examples of a run in the order in which it met them.

    Parameters
    ----------
    columns : ndarray of int64, shape (n,)
        Column of each answer by its id.
    hashes : sequence of str or None, length n
        Content hash of each.
    known : sequence of str or None
        Content hash of each column.

    Returns
    -------
    ndarray of int64, shape (n,), or None
        None where that is not one-to-one: a content is not known, or known less often than it is here.
    """
    own: dict[int, str] = {}
    for column, found in zip(columns.tolist(), hashes, strict=True):
        if found and own.setdefault(column, found) != found:
            return None
    moved = [column for column, found in own.items() if known[column] not in (None, found)]
    if not moved:
        return columns
    free = _free(known, taken=set(columns.tolist()).difference(moved))
    to = np.arange(len(known))
    for column in moved:
        if not free[own[column]]:
            return None
        to[column] = free[own[column]].popleft()
    return np.asarray(to[columns])


def _free(known: Iterable[str | None], taken: set[int]) -> defaultdict[str, deque[int]]:
    """Columns of each content, but those taken."""
    free: defaultdict[str, deque[int]] = defaultdict(deque)
    for column, content in enumerate(known):
        if content is not None and column not in taken:
            free[content].append(column)
    return free


def realigned(
    block: Block, columns: NDArray[np.int64], hashes: Sequence[str | None], context: Context
) -> NDArray[np.int64]:
    """The columns of a block's names by content where ids and contents disagree; as they are otherwise."""
    if block.hashes is None or context.options.unmatched != "refuse":
        return columns
    found = by_content(columns, block.hashes, hashes)
    if found is None or (found == columns).all():
        return columns
    moved = len(np.unique(columns[found != columns]))
    first = block.names[int(np.flatnonzero(found != columns)[0])]
    context.warn(
        f"{block.source}: {moved} examples of model {quoted(block.model)} are numbered in another order than "
        f"in other logs (the first: {quoted(first)}); they were matched by their content"
    )
    return found


def check_content(
    block: Block,
    columns: NDArray[np.int64],
    hashes: Sequence[str | None],
    subtasks: Sequence[str | None],
    context: Context,
) -> None:
    """Refuse a block whose examples differ from the known examples with the same ids.

    Parameters
    ----------
    columns : ndarray of int64, shape (n,)
        Column of each name in the block.
    hashes, subtasks : sequence of str or None
        The known hash and subtask of each column.
    """
    at = columns.tolist()
    if block.hashes is not None and context.options.unmatched == "refuse":
        pairs = zip(at, block.hashes, strict=True)
        _refuse_other_content(
            block, [i for i, (c, h) in enumerate(pairs) if h and hashes[c] not in (None, h)]
        )
    if block.subtasks is not None and not isinstance(block.subtasks, str):
        _check_subtasks(block, at, block.subtasks, subtasks)


def _refuse_other_content(block: Block, other: list[int]) -> None:
    if not other:
        return
    detail = (
        f"{block.source}: {len(other)} of the {len(block.names)} examples of model {quoted(block.model)} "
        f"differ in content from the same ids in other logs ({listed([block.names[i] for i in other], 3)}); "
        "it ran another version of the benchmark: leave it out"
    )
    raise refuse(detail, "other_content", [(block.place(i), quoted(block.names[i])) for i in other[:20]])


def _check_subtasks(block: Block, at: list[int], given: Sequence[str], known: Sequence[str | None]) -> None:
    for i, (column, name) in enumerate(zip(at, given, strict=True)):
        if known[column] != name:
            detail = (
                f"{block.place(i)}: example {quoted(block.names[i])} has the subtask {quoted(name)} "
                f"here and {quoted(known[column] or '')} in another log; give each example one subtask"
            )
            raise refuse(detail, "subtasks", [(block.place(i), quoted(name))])


def check_versions(grid: Grid, known: NDArray[np.bool_], context: Context) -> None:
    """Refuse a model that ran a different version of the benchmark than the others.

    Parameters
    ----------
    known : ndarray of bool, shape (M, N)
        Which examples each model's logs name, run or not.

    Raises
    ------
    InvalidUpload
        More than `FOREIGN` of a model's examples occur in no other log, and examples of the others are
        absent from its own.
    """
    if known.all():
        return
    alone = known & (known.sum(axis=0) == 1)
    beyond, lacking, size = alone.sum(axis=1), (~known).sum(axis=1), known.sum(axis=1)
    unsuitable = np.flatnonzero((beyond > FOREIGN * size) & (lacking > 0))
    if unsuitable.size and context.options.unmatched == "refuse":
        i = int(unsuitable[np.argmax(beyond[unsuitable] / size[unsuitable])])
        own = [grid.examples[j] for j in np.flatnonzero(alone[i]).tolist()]
        others = [grid.examples[j] for j in np.flatnonzero(~known[i]).tolist()]
        detail = (
            f"model {quoted(grid.models[i])} has no results on {lacking[i]} examples of the other models "
            f"({listed(others, 3)}) and has results on {beyond[i]} examples that no other model has "
            f"({listed(own, 3)}), so it ran another version of the benchmark. Leave it out, or send "
            "unmatched=keep to keep the gaps as missing cells"
        )
        raise refuse(
            detail, "other_version", [(quoted(grid.models[i]), f"lacks {lacking[i]}, beyond {beyond[i]}")]
        )

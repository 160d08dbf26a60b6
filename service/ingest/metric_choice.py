"""Chooses one of several metrics or filters: the caller's choice, or the only one."""

from __future__ import annotations

from collections.abc import Sequence

from service.ingest.refusals import listed, refuse


def choose_one(
    candidates: Sequence[str], wanted: Sequence[str], kind: str, place: str, hint: str = ""
) -> str:
    """The metric or filter to use.

    Parameters
    ----------
    candidates : sequence of str
        Distinct names, as in the log.
    wanted : sequence of str
        Names that the caller asked for, in order of preference.
    kind : "metric" or "filter"
    place : str
        Their place, for the refusal.
    hint : str
        Advice on which one to choose, for the refusal.

    Raises
    ------
    InvalidUpload
        There are several and the caller chose none, or the caller's choice is not among them.
    """
    for name in wanted:
        if name in candidates:
            return name
    if len(candidates) == 1 and not wanted:
        return candidates[0]
    if not candidates:
        raise refuse(f"{place} has no {kind} with one score per example", f"no_{kind}", [(place, "none")])
    if wanted:
        detail = f"{place} has no {kind} {listed(wanted)}; it has {listed(candidates, 20)}"
    else:
        detail = f"{place} has several {kind}s: {listed(candidates, 20)}; send {kind}= with one of them{hint}"
    raise refuse(detail, kind, [(f"{kind}={name}", "candidate") for name in candidates[:50]])

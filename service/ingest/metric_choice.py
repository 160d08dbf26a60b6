"""One of several metrics or filters: the caller's choice, or the only one there is."""

from __future__ import annotations

from collections.abc import Sequence

from service.ingest.refusals import listed, refuse


def choose_one(
    candidates: Sequence[str], wanted: Sequence[str], kind: str, place: str, hint: str = ""
) -> str:
    """The candidate to use.

    Parameters
    ----------
    candidates : sequence of str
        Distinct, as the log calls them.
    wanted : sequence of str
        What the caller asked for, in order of preference.
    kind : "metric" or "filter"
    place : str
        Where they are, for the refusal.
    hint : str
        What speaks for one of them.

    Raises
    ------
    InvalidUpload
        There are several and none is wanted, or none of those wanted is there.
    """
    for name in wanted:
        if name in candidates:
            return name
    if len(candidates) == 1 and not wanted:
        return candidates[0]
    if not candidates:
        raise refuse(f"{place} has no {kind} with one score an example", f"no_{kind}", [(place, "none")])
    if wanted:
        detail = f"{place} has no {kind} {listed(wanted)}; it has {listed(candidates, 20)}"
    else:
        detail = f"{place} has several {kind}s: {listed(candidates, 20)}; send {kind}= with one of them{hint}"
    raise refuse(detail, kind, [(f"{kind}={name}", "candidate") for name in candidates[:50]])

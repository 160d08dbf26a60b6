"""What is asked: one group of named questions a file of answers."""

from __future__ import annotations

from tests.golden import comparing, measuring, selecting, uploading
from tests.golden.caller import Answer, Caller, Group
from tests.golden.changes import EXACT, FITTED, ROUNDED, Tolerance

GROUPS: dict[str, Group] = {
    **{f"select_{method}": selecting.by(method) for method in selecting.METHODS},
    "select_refusals": selecting.refusals,
    **{f"mdad_{name}": measuring.of(name) for name in measuring.ASKS},
    "mdad_partial": measuring.partial,
    "mdad_tables": measuring.tables,
    "uploads": uploading.uploads,
    "summaries": uploading.summaries,
    "exports": uploading.exports,
    "scores": comparing.scores,
    "compare_benchmark": comparing.on_the_benchmark,
    "compare_selection": comparing.on_selections,
    "drift": comparing.drift,
    "power": comparing.power,
}

# Of results the service rounds its numbers to ten decimals.
TOLERANCES = dict.fromkeys((group for group in GROUPS if group.startswith("mdad_")), ROUNDED)
# A fit of item response theory ends, in single precision, a little apart on other processors.
TOLERANCES |= {"mdad_irt": FITTED}


def tolerance(group: str) -> Tolerance:
    """How far apart a group's numbers may be."""
    return TOLERANCES.get(group, EXACT)


def ask(caller: Caller, group: str) -> dict[str, Answer]:
    """Every answer of a group, by name."""
    return dict(GROUPS[group](caller))

"""The lines of a result that have something to draw, each with its name and look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from service.report.theme import ThemeStyle, look

Result = Mapping[str, Any]
Judged = Mapping[str, Any]
TRUTHS = ("same_items", "new_items")


@dataclass(frozen=True, slots=True)
class PlottedCurve:
    """One method, and number of source models where there are several, of a result."""

    label: str
    look: ThemeStyle
    method: Mapping[str, Any]
    chosen: bool = False

    def is_at(self, pick: Mapping[str, Any]) -> bool:
        """Whether a recommendation, or the like, is of this line."""
        return bool(
            (pick["method"], pick["source_models"]) == (self.method["label"], self.method["source_models"])
        )

    def judged(self, truth: str) -> Iterator[tuple[int, Judged]]:
        """Size and judgement, where there is one."""
        for entry in self.method["sizes"]:
            if entry[truth] is not None:
                yield entry["size"], entry[truth]


def plotted_curves(result: Result) -> list[PlottedCurve]:
    """All lines that ran, in the order of the result; looks are theirs for good."""
    labels = Counter(method["label"] for method in result["methods"])
    found = []
    for number, method in enumerate(result["methods"]):
        label = method["label"]
        if labels[label] > 1:
            label = f"{label}, {method['source_models']} sources"
        line = PlottedCurve(label, look(number), method)
        line = replace(line, chosen=line.is_at(result["recommendation"]))
        if any(list(line.judged(truth)) for truth in TRUTHS):
            found.append(line)
    return found


def truths(result: Result) -> list[str]:
    """Which truths the result judges by."""
    found = plotted_curves(result)
    return [truth for truth in TRUTHS if any(list(line.judged(truth)) for line in found)]


def measured_sizes(result: Result) -> list[int]:
    """Every size that a line was measured at, ascending; those of exact random draws without any."""
    found = {size for line in plotted_curves(result) for truth in TRUTHS for size, _ in line.judged(truth)}
    return sorted(found or {entry["size"] for entry in result["exact_random"]} or {1})

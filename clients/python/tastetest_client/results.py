"""Results as people use them: the generated models, with frames, and how they look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import PrivateAttr

from tastetest_client import _display, models
from tastetest_client._figure import Figure
from tastetest_client._frames import Rows


@dataclass(frozen=True, slots=True)
class CurveRow:
    """The MDAD of one method at one size; all but names, sizes and pairs are fractions."""

    method: str
    source_models: int | None
    size: int
    mdad: float | None
    interval: tuple[float | None, float | None] | None
    agreement: float | None
    mean_error: float | None
    pairs: int | None
    reason: str | None


class MdadResult(_display.Shown, models.MdadResult):
    """How small the benchmark can be; what notebooks and terminals show is the answer and its curve."""

    _job_id: str = PrivateAttr("")
    _figure: Figure | None = PrivateAttr(None)

    @property
    def job_id(self) -> str:
        """The job that computed it."""
        return self._job_id

    @property
    def size(self) -> int | None:
        """The smallest size recommended; None where `recommendation.sentence` says why there is none."""
        return self.recommendation.size

    @property
    def sentence(self) -> str:
        """The answer in words."""
        return self.recommendation.sentence

    @property
    def figure(self) -> Figure | None:
        """The MDAD by size, drawn by the service."""
        return self._figure

    @property
    def curve(self) -> Rows[CurveRow]:
        """MDAD and agreement by method and size."""
        return Rows(self._curve())

    def _curve(self) -> Iterator[CurveRow]:
        for method in self.methods:
            for entry in method.sizes:
                found = entry.same_items if self.recommendation.truth == "same_items" else entry.new_items
                if found is None:
                    continue
                yield CurveRow(
                    method=method.label,
                    source_models=method.source_models,
                    size=entry.size,
                    mdad=found.mdad,
                    interval=_ends(found.interval),
                    agreement=found.agreement,
                    mean_error=found.estimation_error.mean if found.estimation_error else None,
                    pairs=found.pairs,
                    reason=getattr(found, "reason", None),
                )

    def _view(self) -> _display.View:
        rows = [
            (f"{target.target_mdad * 100:.2f} points", *_sizes(target)) for target in self.by_target or ()
        ]
        methods = [_display.label(found) for target in (self.by_target or ())[:1] for found in target.sizes]
        return _display.View(
            self.sentence,
            ["difference", *methods],
            rows,
            notes=[*self.recommendation.caveats, *(self.warnings or ())],
            figure=self._figure,
            title="Examples needed to rank models with this difference in the right order",
        )


class _Selection(_display.Shown):
    """What both forms of a selection have."""

    selection_id: str
    examples: Rows[models.Chosen]
    method: str
    size: int

    @property
    def ids(self) -> list[str]:
        """The ids of the chosen examples, in the order of the selection."""
        return [example.id for example in self.examples]

    def _view(self) -> _display.View:
        rows = [(e.id, f"{e.weight:.4g}", e.subtask or "") for e in self.examples]
        answer = f"{self.size} examples chosen by {self.method} (selection {self.selection_id})"
        return _display.View(answer, ["example", "weight", "subtask"], rows)


class SelectionResult(_Selection, models.SelectionResult):
    """The chosen examples with their weights."""

    examples: Rows[models.Chosen]


class SelectionDetail(_Selection, models.SelectionDetail):
    """A stored selection."""

    examples: Rows[models.Chosen]


class ScoresResult(_display.Shown, models.ScoresView):
    """What models would score on the full benchmark, estimated from their answers to the chosen examples."""

    scores: Rows[models.ScoreView]

    def _view(self) -> _display.View:
        heads = ["model", "score", f"{100 * self.confidence:g} % interval", "rank", "answered"]
        rows = [
            (
                line.model,
                _percent(line.score),
                f"{_percent(line.interval[0])} to {_percent(line.interval[1])}",
                _rank(line),
                f"{line.answered} of {line.asked}",
            )
            for line in self.scores
        ]
        notes = [*self.warnings, *(f"{line.model}: {text}" for line in self.scores for text in line.warnings)]
        if self.drift is not None:
            notes.append(self.drift.sentence)
        return _display.View("Estimated scores on the full benchmark", heads, rows, notes)


class CompareResult(_display.Shown, models.CompareView):
    """Verdicts on candidates compared with a baseline on the same examples."""

    comparisons: Rows[models.ComparisonView]

    def _view(self) -> _display.View:
        heads = ["candidate", "baseline", "difference, points", "interval", "verdict", "reason"]
        rows = [
            (
                one.candidate,
                one.baseline,
                f"{100 * one.difference:+.2f}",
                f"{100 * one.interval[0]:+.2f} to {100 * one.interval[1]:+.2f}",
                one.verdict,
                one.reason,
            )
            for one in self.comparisons
        ]
        notes = [*self.warnings, *(text for one in self.comparisons for text in one.warnings)]
        return _display.View(self.verdict.upper(), heads, rows, notes)


def _ends(interval: Any) -> tuple[float | None, float | None] | None:  # noqa: ANN401
    return None if interval is None else (interval[0], interval[1])


def _sizes(target: models.Target) -> Iterator[str]:
    for found in target.sizes:
        yield "all" if found.size is None else str(found.size)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _rank(line: models.ScoreView) -> str:
    if line.rank is None or line.rank_interval is None:
        return "-"
    return f"{line.rank} ({line.rank_interval[0]} to {line.rank_interval[1]})"

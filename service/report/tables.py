"""The tables of a report as CSV: fractions for machines, and no cell a spreadsheet would run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from service.core.spreadsheet_csv import Row
from service.report.curves import TRUTHS, Result

Standing = Mapping[str, float | None]


def mdad_rows(result: Result, scores: Standing) -> Iterator[Row]:
    """Every judged method, size and truth."""
    yield (
        "label", "method", "estimator", "scored_by", "source_models", "size", "truth",
        "agreement", "agreement_low", "agreement_high", "agreement_strict", "tie_rate",
        "mdad", "mdad_low", "mdad_high", "mdad_paper", "reason", "largest_difference",
        "pairs", "equal_pairs", "kendall_tau", "kendall_tau_sd", "error_mean", "error_p90",
    )  # fmt: skip
    for method, size, truth, judged in _judged(result):
        tau = judged.get("kendall_tau") or {}
        error = judged.get("estimation_error") or {}
        yield (
            *(method[key] for key in ("label", "method", "estimator", "scored_by", "source_models")),
            size,
            truth,
            judged["agreement"],
            *(judged["agreement_interval"] or (None, None)),
            *(judged[key] for key in ("agreement_strict", "tie_rate", "mdad")),
            *(judged["interval"] or (None, None)),
            judged["mdad_paper"],
            judged.get("reason"),
            *(judged[key] for key in ("largest_difference", "pairs", "equal_pairs")),
            *(tau.get("mean"), tau.get("sd"), error.get("mean"), error.get("p90")),
        )


def curve_rows(result: Result, scores: Standing) -> Iterator[Row]:
    """Every point of every agreement curve."""
    keys = ("difference", "agreement", "agreement_strict", "pairs")
    yield ("label", "source_models", "size", "truth", *keys)
    for method, size, truth, judged in _judged(result):
        for point in judged["curve"]:
            yield (method["label"], method["source_models"], size, truth, *(point[key] for key in keys))


def model_rows(result: Result, scores: Standing) -> Iterator[Row]:
    """The models by score, the best first."""
    yield ("model", "score")
    known = sorted(((-value, name) for name, value in scores.items() if value is not None))
    for value, name in known:
        yield (name, -value)


def pair_rows(result: Result, scores: Standing) -> Iterator[Row]:
    """The user's own pairs that are too close to tell apart, neighbours first."""
    yield ("better", "worse", "difference", "disagreement")
    for pair in result["recommendation"]["own_pairs"]["examples"]:
        yield (*pair["models"], pair["difference"], pair["disagreement"])


def difference_rows(result: Result, scores: Standing) -> Iterator[Row]:
    """Each method's distance from the best at its size, paired."""
    yield (
        "size", "truth", "best", "best_source_models", "label", "source_models", "agreement_difference",
        "agreement_low", "agreement_high", "mdad_difference", "mdad_low", "mdad_high",
        "error_difference", "error_low", "error_high",
    )  # fmt: skip
    for entry in result["differences"]:
        best = entry["best"]
        for other in entry["others"]:
            yield (
                entry["size"], entry["truth"], best["label"], best["source_models"],
                other["label"], other["source_models"],
                *_gap(other["agreement"]), *_gap(other["mdad"]), *_gap(other.get("estimation_error")),
            )  # fmt: skip


def _gap(gap: Mapping[str, Any] | None) -> Row:
    known = gap or {"difference": None, "interval": None}
    return (known["difference"], *(known["interval"] or (None, None)))


TABLES: dict[str, Callable[[Result, Standing], Iterator[Row]]] = {
    "mdad": mdad_rows,
    "curves": curve_rows,
    "models": model_rows,
    "pairs": pair_rows,
    "differences": difference_rows,
}


def _judged(result: Result) -> Iterator[tuple[Mapping[str, Any], int, str, Mapping[str, Any]]]:
    for method in result["methods"]:
        for entry in method["sizes"]:
            for truth in TRUTHS:
                if entry[truth] is not None:
                    yield method, entry["size"], truth, entry[truth]

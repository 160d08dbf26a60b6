"""The paper's processed results for GPQA, and the data it used."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from service.engine.data.matrix import Matrix

NAMES = {
    "random": "Random (uniform)",
    "stratified": "Random (subtask stratified, equal)",
    "tinybenchmarks": "tinyBenchmarks",
    "confidence_strata": "Stratified sampling (confidence)",
    "anchor_points": "Anchor Points",
    "diversity": "Diversity",
}
SPLITS = {"same_items": "seen", "new_items": "unseen"}
TRIALS = 50


@dataclass(frozen=True, slots=True)
class Published:
    """One method at one number of source models and size, on same or new items.

    `tau_se` and `error_se` are the standard errors of the means over 50 trials; the
    paper's tables have none for agreement.
    """

    mdad: float
    low: float
    high: float
    agreement: float
    tau: float
    tau_se: float
    error: float
    error_se: float


Key = tuple[str, int, int, str]
"""Method, source models, size, truth."""


def matrix(shared: Path) -> Matrix:
    """420 models × 448 examples, 0/1."""
    with gzip.open(shared / "data" / "gpqa" / "correctness.csv.gz", "rt", encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    scores = np.array([row[1:] for row in rows], dtype=np.uint8)
    return Matrix.build([row[0] for row in rows], header[1:], scores)


def published(shared: Path) -> dict[Key, Published]:
    """Every published number that has a counterpart here."""
    estimation, agreement, mdad = (_table(shared, name) for name in ("estimation", "agreement", "mdad"))
    return {
        key: Published(
            mdad=float(mdad[*key[:3], split]["mdad"]),
            low=float(mdad[*key[:3], split]["ci_low"]),
            high=float(mdad[*key[:3], split]["ci_high"]),
            agreement=float(agreement[*key[:3], None][f"agreement_{split}"]),
            tau=float(row[f"tau_{split}_mean"]),
            tau_se=float(row[f"tau_{split}_std"]) / TRIALS**0.5,
            error=float(row[f"error_{split}_mean"]),
            error_se=float(row[f"error_{split}_std"]) / TRIALS**0.5,
        )
        for (*place, _), row in estimation.items()
        for truth, split in SPLITS.items()
        for key in [(*place, truth)]
    }


def _table(shared: Path, name: str) -> dict[tuple[str, int, int, str | None], dict[str, str]]:
    return dict(_rows(shared / "data" / "paper" / f"{name}.csv"))


def _rows(path: Path) -> Iterator[tuple[tuple[str, int, int, str | None], dict[str, str]]]:
    ours = {theirs: name for name, theirs in NAMES.items()}
    with path.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["benchmark"] == "gpqa" and row["method"] in ours:
                place = (ours[row["method"]], int(row["source_models"]), int(row["size"]))
                yield (*place, row.get("split")), row

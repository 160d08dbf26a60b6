"""Error and coverage of scores by setting: new models like the sources, better, worse, of another family.

    python -m benchmarks.frontier [--sources 40] [--repeats 2] [--made] [--write]

Targets and sources are drawn apart as `service.engine.reliability.target_settings` does; scores and
intervals are those of the estimator behind `POST /selections/{id}/scores`. The matrices are those in
../shared/data, on which constants were chosen; with `--made` others, on which none was: the bundled
digits, simulated populations, and graded scores made of the public ones. `--write` puts the tables into
docs/methods.md.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from service.engine.comparison.ability_estimator import AbilityEstimator
from service.engine.data.contracts import Source
from service.engine.prediction.ability_model import fit_ability_model
from service.engine.prediction.ability_prior import EXPECTATIONS
from service.engine.selection.optimal_design import OptimalDesign
from tools.make_sample import OUTPUT

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
SIZES = (10, 25, 50, 100, 200)
SETTINGS = ("like", "better", "worse", "family")
FAMILIES = ("qwen", "llama", "mistral", "gemma", "phi", "yi-", "falcon", "pythia", "olmo", "mpt")
TARGETS = 50
MARKS = ("<!-- measured: make methods -->", "<!-- end of measured -->")


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Models × examples, and the family of each model or −1."""

    name: str
    scores: Floats
    families: Rows


def public() -> Iterator[Matrix]:
    """The matrices that constants were chosen on."""
    names = ("arc_challenge", "ifeval", "musr", "openllm_math")
    for path in (
        *(DATA / "public" / f"{name}.csv.gz" for name in names),
        DATA / "gpqa" / "correctness.csv.gz",
    ):
        with gzip.open(path, "rt") as lines:
            rows = list(csv.reader(lines))[1:]
        low = [row[0].lower() for row in rows]
        of = [next((k for k, word in enumerate(FAMILIES) if word in name), -1) for name in low]
        name = "gpqa" if path.parent.name == "gpqa" else path.name.removesuffix(".csv.gz")
        yield Matrix(name, np.array([row[1:] for row in rows], dtype=np.float64), np.array(of))


def made() -> Iterator[Matrix]:
    """Matrices that no constant was chosen on."""
    with np.load(OUTPUT, allow_pickle=False) as arrays:
        scores = arrays["scores"].astype(np.float64)
        kinds = np.unique([name.split("-")[0] for name in arrays["models"]], return_inverse=True)[1]
    yield Matrix("digits", scores, kinds)
    for seed, (guess, skills) in enumerate(((0.0, 0), (0.25, 3), (0.0, 5))):
        yield _simulated(seed, guess, skills)
    for whole in public():
        if whole.name in ("ifeval", "musr"):
            groups = np.random.default_rng(0).permutation(whole.scores.shape[1])[:537].reshape(-1, 3)
            graded = whole.scores[:, groups].mean(axis=2) ** 2
            yield Matrix(f"{whole.name}, graded", graded, whole.families)


def _simulated(seed: int, guess: float, skills: int, models: int = 200, examples: int = 500) -> Matrix:
    """Logistic curves with a chance floor and further skills that some examples ask for."""
    rng = np.random.default_rng(seed)
    slopes, places = rng.lognormal(-0.1, 0.5, examples), rng.normal(0.3, 1.3, examples)
    logits = slopes * (rng.normal(0, 1, models)[:, None] - places)
    if skills:
        asks = rng.normal(0, 1, (examples, skills)) * (rng.random((examples, skills)) < 0.35)
        logits += 0.8 * rng.normal(0, 1, (models, skills)) @ asks.T
    chances = guess + (1 - guess) / (1 + np.exp(-logits))
    scores = (rng.random(chances.shape) < chances).astype(np.float64)
    return Matrix(f"simulated {seed}", scores, np.full(models, -1))


def split(matrix: Matrix, setting: str, sources: int, rng: np.random.Generator) -> tuple[Rows, Rows] | None:
    """Source and target rows; None where there are too few."""
    models = len(matrix.scores)
    order = np.argsort(matrix.scores.mean(axis=1), kind="stable")
    if setting == "like":
        drawn = rng.permutation(models)
        pool, targets = drawn[TARGETS:], drawn[:TARGETS]
    elif setting == "family":
        able = [k for k in range(int(matrix.families.max()) + 1) if (matrix.families == k).sum() >= 10]
        if not able:
            return None
        family = rng.choice(able)
        pool, targets = (np.flatnonzero((matrix.families == family) == own) for own in (False, True))
    else:
        order = order if setting == "better" else order[::-1]
        pool, targets = order[: int(0.6 * models)], order[-round(0.2 * models) :]
    if len(pool) < sources:
        return None
    return rng.permutation(pool)[:sources], rng.permutation(targets)[:TARGETS]


def judged(truth: Floats, score: Floats, interval: Floats) -> tuple[float, float, float, float]:
    """Error and width in points, pairs in order and coverage in %."""
    first, second = np.triu_indices(len(truth), 1)
    apart, told = truth[first] - truth[second], score[first] - score[second]
    right = np.where(np.abs(told) < 1e-12, 0.5, apart * told > 0)[apart != 0]
    inside = (interval[:, 0] - 1e-12 <= truth) & (truth <= interval[:, 1] + 1e-12)
    width = float((interval[:, 1] - interval[:, 0]).mean())
    return 100 * float(np.abs(score - truth).mean()), 100 * right.mean(), 100 * inside.mean(), 100 * width


def cells(matrix: Matrix, setting: str, sources: int, repeats: int) -> dict[tuple[str, int], Floats]:
    """(method, size) → error, pairs, coverage, width; means over repeats."""
    found: dict[tuple[str, int], list[tuple[float, float, float, float]]] = {}
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, sum(map(ord, matrix.name + setting)), sources])
        rows = split(matrix, setting, sources, rng)
        if rows is None:
            return {}
        source = Source(matrix.scores[rows[0]], np.zeros(matrix.scores.shape[1], dtype=np.int32))
        targets = matrix.scores[rows[1]]
        model = fit_ability_model(source)
        drawn = rng.permutation(source.n_examples)
        for expect in EXPECTATIONS:
            design = OptimalDesign(expect=expect).fit(source, rng)
            for size in (n for n in SIZES if n < 0.6 * source.n_examples):
                for name, chosen in ((expect, design.pick(size).indices), ("random", drawn[:size])):
                    by = AbilityEstimator(model, chosen, expect).predict(targets[:, chosen])
                    key = name if name == expect else f"random, {expect}"
                    cell = judged(targets.mean(axis=1), by.score, by.interval())
                    found.setdefault((key, size), []).append(cell)
    return {key: np.mean(values, axis=0) for key, values in found.items()}


def table(matrices: list[Matrix], sources: int, repeats: int) -> str:
    """One row a setting and method: error / pairs / coverage / width by size, means over the matrices."""
    lines = [f"| setting, mode | {' | '.join(map(str, SIZES))} |", f"|---|{'---|' * len(SIZES)}"]
    for setting in SETTINGS:
        of = [found for matrix in matrices if (found := cells(matrix, setting, sources, repeats))]
        if not of:
            continue
        for name in ("like", "better", "random, better"):
            row = [_cell([found[name, size] for found in of if (name, size) in found]) for size in SIZES]
            lines.append(f"| {setting}, {name} | {' | '.join(row)} |")
    return "\n".join(lines)


def _cell(values: list[Floats]) -> str:
    if not values:
        return "–"
    error, pairs, coverage, width = np.mean(values, axis=0)
    return f"{error:.1f} / {pairs:.0f} / {coverage:.0f} / {width:.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--made", action="store_true", help="matrices that no constant was chosen on")
    parser.add_argument("--write", action="store_true", help="all tables, into docs/methods.md")
    asked = parser.parse_args()
    if not DATA.is_dir():
        print("the public matrices are in ../shared/data, which is not here")
        return 1
    with threadpool_limits(1):
        if not asked.write:
            print(table(list(made() if asked.made else public()), asked.sources, asked.repeats))
            return 0
        _write(asked.repeats)
    return 0


def _write(repeats: int) -> None:
    known, others = list(public()), list(made())
    parts = [
        f"**{what}, {sources} sources**\n\n{table(matrices, sources, repeats)}"
        for what, matrices, sources in (
            ("Public matrices", known, 40),
            ("Public matrices", known, 5),
            ("Public matrices", known, 150),
            ("Matrices that no constant was chosen on", others, 40),
            ("Matrices that no constant was chosen on", others, 5),
        )
    ]
    page = ROOT / "docs" / "methods.md"
    before, rest = page.read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    text = f"{before}{MARKS[0]}\n\n" + "\n\n".join(parts) + f"\n\n{MARKS[1]}{after}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

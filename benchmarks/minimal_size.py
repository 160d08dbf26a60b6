"""Does the recommended minimal size keep its word? `python -m benchmarks.minimal_size [part …]`.

Parts, each a table of docs/choosing-a-size.md; all of them without arguments, some 3 hours on a core:

    error     simulated random draws against the exact MDAD, beside half-point bins (what 0.1 did)
    claimed   claimed standard errors against actual ones; coverage of intervals for other models
    gap       16 models in two groups with nothing between, against the pairs' own disagreement
    cost      seconds, beside 50 trials at the five sizes that 0.1 measured
    promise   the long-run MDAD at the recommended size, and at 0.8 of it; how the size varies
    compete   the same with all methods competing
    new       resolution and MDAD for new questions, against populations all of whose questions are known

`--seeds`, `--fresh` and `--matrices` make a short run. Needs ../shared for the five public matrices.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binom
from scipy.stats import t as student

from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.engine.data.pairs import choose_pairs, discordant
from service.engine.experiment.exact import WholeBenchmark, random_curve
from service.engine.experiment.simulated import Simulated
from service.engine.experiment.trials import run_trials
from service.engine.measures.evaluate import AgreementRule, judgement
from service.engine.measures.new_questions import without_noise
from service.engine.measures.resolution import PairSpread
from service.engine.planning.plan import Plan, mdad_plan
from service.engine.reliability import mdad_job

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
PUBLIC = {
    "gpqa": "gpqa/correctness.csv.gz",
    "arc": "public/arc_challenge.csv.gz",
    "ifeval": "public/ifeval.csv.gz",
    "musr": "public/musr.csv.gz",
    "math": "public/openllm_math.csv.gz",
}
"""The first four and the last chose the constants; digits and graded did not."""
NAMES = (*PUBLIC, "digits", "graded")
TARGETS = {
    "gpqa": (0.02, 0.03),
    "arc": (0.02, 0.03),
    "ifeval": (0.03, 0.05),
    "musr": (0.02, 0.03),
    "math": (0.02, 0.03),
    "digits": (0.02, 0.03),
    "graded": (0.03, 0.05),
}
RULE = AgreementRule(0.8, paper=False)
SIZES = (25, 50, 100, 200)
FIVE_SIZES = (10, 25, 50, 100, 250)
FRESH_SEED = 1_000_003


def matrix(name: str) -> Matrix:
    """One of NAMES; `graded` is ifeval with two examples averaged."""
    if name == "digits":
        with np.load(ROOT / "service" / "sample" / "digits.npz", allow_pickle=False) as kept:
            return Matrix.build(
                kept["models"].tolist(),
                kept["examples"].tolist(),
                kept["scores"],
                subtasks=kept["subtasks"].tolist(),
            )
    with gzip.open(DATA / PUBLIC["ifeval" if name == "graded" else name], "rt", encoding="utf-8") as lines:
        head, *rows = list(csv.reader(lines))
    scores = np.array([[float(cell) for cell in row[1:]] for row in rows])
    examples = head[1:]
    if name == "graded":
        even = scores.shape[1] // 2 * 2
        scores, examples = (scores[:, 0:even:2] + scores[:, 1:even:2]) / 2, examples[0:even:2]
    else:
        scores = scores.astype(np.uint8)
    return Matrix.build([row[0] for row in rows], examples, scores)


def silent(fraction: float) -> None:
    """No progress is shown."""


def run(data: Matrix, **settings: Any) -> dict[str, Any]:
    """A job of the service's engine, part by part, for models like the sources."""
    plan = mdad_plan({"target_settings": ["like"], **settings}, Outline.of(data))
    return mdad_job.assemble(data, plan, mdad_job.run_all(data, plan, silent), silent)


def trials_of(data: Matrix, plan: Plan, count: int) -> Simulated:
    """Some trials of a plan with nothing held out, evaluated."""
    estimates = run_trials(plan, data, 0, count, silent)
    n = len(data.examples)
    return Simulated.of(replace(plan, trials=count), estimates, 0, n - plan.heldout, plan.heldout)


def error(options: argparse.Namespace) -> Table:
    """Root mean square error of simulated random draws' MDAD about the exact one, in points."""
    table = _table("error", "matrix", "n", "exact", "bins: error", "smooth: error", "ratio", "bias")
    ratios = []
    for name in options.matrices:
        data = matrix(name)
        exact = random_curve(SIZES, WholeBenchmark.of(data, RULE))
        found = _random_runs(data, options.seeds)
        for at, n in enumerate(SIZES):
            result, curve = exact.cells[n].results["same_items"]
            truth = 100 * float(result.mdad[curve])
            smooth, bins = found[:, at, 0], found[:, at, 1]
            old, new = (float(np.sqrt(np.nanmean((x - truth) ** 2))) for x in (bins, smooth))
            ratios.append(new / old)
            bias = float(np.nanmean(smooth) - truth)
            table.add_row(name, str(n), *(f"{x:.2f}" for x in (truth, old, new, new / old, bias)))
    table.add_row("mean", "", "", "", "", f"{np.mean(ratios):.2f}", "")
    return table


def _random_runs(data: Matrix, seeds: int) -> np.ndarray:
    """Points: MDAD smooth and in bins, and the claimed standard error, (seeds, sizes, 3)."""
    found = []
    for seed in range(seeds):
        asked = {"methods": ["random"], "holdout": 0, "sizes": list(SIZES), "target_models": 50}
        asked["target_models"] = min(50, len(data.models) // 2)
        plan = mdad_plan(asked | {"seed": seed}, Outline.of(data))
        lines = trials_of(data, plan, 50).lines(RULE)
        cells = [lines[0].cells[n].results["same_items"] for n in SIZES]
        bins = [judgement(*cell)["mdad_isotonic"] for cell in cells]
        rows = [
            (r.mdad[c], np.nan if b is None else b, r.mdad[c] * r.mdad_errors.trials[c])
            for (r, c), b in zip(cells, bins, strict=True)
        ]
        found.append(rows)
    return 100 * np.array(found, dtype=np.float64)


def claimed(options: argparse.Namespace) -> Table:
    """Claimed standard errors over actual ones, and coverage of intervals for other models."""
    table = _table("claimed", "matrix", "models", "n", "actual", "claimed", "ratio", "90 % covers")
    for name in options.matrices:
        data = matrix(name)
        found = _random_runs(data, options.seeds)
        for at, n in enumerate(SIZES):
            actual, said = found[:, at, 0].std(ddof=1), np.sqrt((found[:, at, 2] ** 2).mean())
            table.add_row(name, "", str(n), f"{actual:.2f}", f"{said:.2f}", f"{said / actual:.2f}", "")
        for models in (15, 30):
            for n, rate in zip(SIZES, _coverage(data, models), strict=True):
                table.add_row(name, str(models), str(n), "", "", "", f"{rate:.2f}")
    return table


def _coverage(data: Matrix, models: int, draws: int = 200) -> list[float]:
    """How often the 90 % interval of exact random draws on some models covers the MDAD on all."""
    rng = np.random.default_rng(0)
    whole = random_curve(SIZES, WholeBenchmark.of(data, RULE))
    hits = np.zeros(len(SIZES))
    for _ in range(draws):
        some = data.take(models=np.sort(rng.permutation(len(data.models))[:models]))
        line = random_curve(SIZES, WholeBenchmark.of(some, RULE))
        for at, n in enumerate(SIZES):
            (result, curve), (truth, there) = (x.cells[n].results["same_items"] for x in (line, whole))
            away = abs(result.fits.log_mdad[curve] - truth.fits.log_mdad[there])
            hits[at] += away <= student.ppf(0.95, models - 1) * result.mdad_errors.models[curve]
    return list(hits / draws)


def gap(options: argparse.Namespace) -> Table:
    """Two groups of models with nothing between them."""
    table = _table("gap", "n", "MDAD", "theory, least", "theory, most", "interval")
    scores = np.zeros((16, 1000), dtype=np.uint8)
    rng = np.random.default_rng(0)
    for row, right in zip(
        scores, [400 + 2 * i for i in range(8)] + [700 + 2 * i for i in range(8)], strict=True
    ):
        row[rng.permutation(1000)[:right]] = 1
    data = Matrix.build([f"m{i}" for i in range(16)], [f"e{j}" for j in range(1000)], scores)
    result = run(data, methods=["random"], sizes=[10, 25, 50, 100, 250, 500], target_models="all")
    pairs = choose_pairs(16, 1, 1000, rng)
    apart = sum(discordant(scores, pairs.first, pairs.second)) / 1000
    for entry in result["methods"][0]["sizes"]:
        n, judged = entry["size"], entry["same_items"]
        ends = [0.8416 * np.sqrt(d / n * (1000 - n) / 999) for d in (apart.min(), apart.max())]
        table.add_row(str(n), *(f"{x:.4f}" for x in (judged["mdad"], *ends)), str(judged["interval"]))
    return table


def cost(options: argparse.Namespace) -> Table:
    """Seconds of processor time of a whole job."""
    table = _table("cost", "matrix", "methods", "target", "five sizes", "found", "ratio")
    for name in options.matrices:
        data = matrix(name)
        few = min(50, len(data.models) // 2)
        five = [n for n in FIVE_SIZES if n <= len(data.examples) // 2]
        for methods in (["optimal_design"], None):
            before = _seconds(data, methods=methods, sizes=five, holdout=0.5, target_models=few)
            for target in TARGETS[name]:
                now = _seconds(data, methods=methods, target_mdad=target)
                label = "all" if methods is None else methods[0]
                seconds = (f"{x:.1f}" for x in (before, now))
                table.add_row(name, label, f"{100 * target:g}", *seconds, f"{now / before:.2f}")
    return table


def _seconds(data: Matrix, **settings: Any) -> float:
    began = time.process_time()
    run(data, **settings)
    return time.process_time() - began


def promise(options: argparse.Namespace) -> Table:
    """One method: the long-run MDAD where it was recommended."""
    return _kept("promise", options, ["optimal_design"])


def compete(options: argparse.Namespace) -> Table:
    """All methods."""
    return _kept("compete", options, None)


def _kept(title: str, options: argparse.Namespace, methods: list[str] | None) -> Table:
    table = _table(
        title,
        "matrix",
        "target",
        "size (least–most)",
        "within 10 %",
        "kept",
        "kept at 0.8 n",
        "p",
        "seed interval",
    )
    hits, short, runs = 0, 0, 0
    for name in options.matrices:
        data = matrix(name)
        for target in TARGETS[name]:
            answers = [
                run(data, methods=methods, target_mdad=target, seed=seed)["recommendation"]
                for seed in range(options.seeds)
            ]
            picked = [(a["method"], a["size"]) for a in answers if a["status"] == "recommended"]
            if not picked:
                table.add_row(name, f"{100 * target:g}", "none", *[""] * 5)
                continue
            long = _long_run(data, picked, options.fresh)
            kept = [long[method, n] <= target for method, n in picked]
            less = [long[method, max(1, round(0.8 * n))] <= target for method, n in picked]
            sizes = np.array([n for _, n in picked])
            middle = np.median(sizes)
            near = np.mean(np.abs(sizes / middle - 1) <= 0.1 + 0.5 / middle)
            p = float(binom.cdf(sum(kept), len(kept), 0.8))
            hits, short, runs = hits + sum(kept), short + sum(less), runs + len(kept)
            span = answers[0]["size_interval"]
            table.add_row(
                name, f"{100 * target:g}", f"{middle:g} ({sizes.min()}–{sizes.max()})", f"{near:.2f}",
                f"{np.mean(kept):.2f}", f"{np.mean(less):.2f}", f"{p:.2f}", f"{span}",
            )  # fmt: skip
            Console().print(table)
    table.add_row("all", "", "", "", f"{hits / max(runs, 1):.2f}", f"{short / max(runs, 1):.2f}", "", "")
    return table


def _long_run(data: Matrix, picked: list[tuple[str, int]], trials: int) -> dict[tuple[str, int], float]:
    """MDAD of each method and size, and of 0.8 of the size, over fresh trials or by formula."""
    sizes: dict[str, set[int]] = {}
    for method, n in picked:
        sizes.setdefault(method, set()).update({n, max(1, round(0.8 * n))})
    found = {}
    for method, wanted in sizes.items():
        asked = {"methods": [method], "sizes": sorted(wanted), "seed": FRESH_SEED, "trials": 1000}
        plan = mdad_plan(asked, Outline.of(data))
        if plan.simulated:
            line = trials_of(data, plan, trials).lines(RULE)[0]
        else:
            line = random_curve(tuple(sorted(wanted)), WholeBenchmark.of(data, RULE))
        for n in wanted:
            result, curve = line.cells[n].results["same_items"]
            found[method, n] = float(np.exp(result.fits.log_mdad[curve]))
    return found


def new(options: argparse.Namespace) -> Table:
    """Simulated populations, and halves of real data."""
    from tests.engine.measures.populations import pool
    from tests.engine.measures.test_resolution import pooled_raw, true_mdad

    table = _table("new", "what", "estimate / truth", "standard deviation")
    rng = np.random.default_rng(0)
    ratios, freed = [], {30: [], 100: []}
    for seed in range(20):
        answers = pool(60, 20_000, seed=100 + seed)
        full = answers.mean(axis=1)
        benchmark = rng.permutation(20_000)[:500]
        spread = PairSpread.of(_made(answers[:, benchmark]))
        truth = true_mdad(answers, [rng.permutation(20_000)[:500] for _ in range(40)], full)
        ratios.append(spread.resolution(0.8) / truth)
        halves = [rng.permutation(benchmark) for _ in range(40)]
        for n, kept in freed.items():
            raw = pooled_raw(answers, [h[:n] for h in halves], [h[250:] for h in halves])
            true = true_mdad(answers, [rng.permutation(20_000)[:n] for _ in range(40)], full)
            kept.append(without_noise(np.array([raw]), spread, 250, 0.8)[0] / true)
    table.add_row("resolution, simulated", f"{np.mean(ratios):.3f}", f"{np.std(ratios):.3f}")
    for n, kept in freed.items():
        table.add_row(
            f"random {n} for new questions, simulated", f"{np.nanmean(kept):.3f}", f"{np.nanstd(kept):.3f}"
        )
    for name, ratio in _real_resolution(options.matrices):
        table.add_row(f"resolution of 100 examples, {name}", f"{ratio:.3f}", "")
    return table


def _real_resolution(names: list[str]) -> Iterator[tuple[str, float]]:
    """100 random examples against all others, freed of the others' own noise by their number."""
    for name in names:
        data = matrix(name)
        if len(data.examples) < 400:
            continue
        exact = random_curve((100,), WholeBenchmark.of(data, RULE)).cells[100].results["same_items"][0]
        n = len(data.examples)
        # The exact MDAD is for the order of all N: without the finite-population correction it is for any.
        truth = float(exact.mdad[0]) / np.sqrt((n - 100) / (n - 1))
        rng = np.random.default_rng(1)
        found = [
            PairSpread.of(data.take(examples=np.sort(rng.permutation(n)[:100]))).resolution(0.8)
            for _ in range(20)
        ]
        yield name, float(np.mean(found)) / truth


def _made(scores: np.ndarray) -> Matrix:
    return Matrix.build(
        [f"m{i}" for i in range(len(scores))], [f"e{j}" for j in range(scores.shape[1])], scores
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="left" if column in ("matrix", "what") else "right")
    return table


PARTS: dict[str, Callable[[argparse.Namespace], Table]] = {
    part.__name__: part for part in (error, claimed, gap, cost, promise, compete, new)
}


def main() -> None:
    """Run the parts named, or all."""
    parser = argparse.ArgumentParser(prog="benchmarks.minimal_size")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--fresh", type=int, default=400)
    parser.add_argument("--matrices", nargs="*", default=list(NAMES))
    options = parser.parse_args()
    for part in options.parts or list(PARTS):
        Console(width=110).print(PARTS[part](options))


if __name__ == "__main__":
    main()

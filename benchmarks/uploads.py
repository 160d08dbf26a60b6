"""Reading uploads of 450 models × 12,000 examples, beside parsing the same bytes and nothing more."""

from __future__ import annotations

import io
import time
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from benchmarks.row import Row
from service.ingest import Limits, Options, read, read_files

MODELS, EXAMPLES = 450, 12_000
RUNS = 3
LIMIT = 3.0
LOG = "m{}/samples_mmlu_2025-01-01T00-00-00.000000.jsonl"


def rows() -> Iterator[Row]:
    """One line a container."""
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 2, (MODELS, EXAMPLES), dtype=np.uint8)
    models, examples = [f"m{i}" for i in range(MODELS)], [f"q{j}" for j in range(EXAMPLES)]
    for what, data in (
        ("CSV, models as rows", _csv("model", models, examples, scores)),
        ("CSV, models as columns", _csv("example", examples, models, scores.T)),
    ):
        yield _row(what, _reader(data), lambda d=data: pacsv.read_csv(io.BytesIO(d)))
    table = pa.table({"example": examples, **dict(zip(models, scores, strict=True))})
    pq.write_table(table, out := io.BytesIO())
    parquet = out.getvalue()
    yield _row("Parquet", _reader(parquet), lambda: pq.read_table(io.BytesIO(parquet)))
    np.savez_compressed(
        out := io.BytesIO(), models=np.array(models), examples=np.array(examples), scores=scores
    )
    npz = out.getvalue()
    yield _row("NPZ, beside numpy.load", _reader(npz), lambda: dict(np.load(io.BytesIO(npz))))
    yield _logs(rng)


def _logs(rng: np.random.Generator) -> Row:
    """450 lm-eval files; the yardstick is parsing one of them, 450 times."""
    log = b"".join(orjson.dumps(_sample(i, rng)) + b"\n" for i in range(EXAMPLES))
    sent = [(LOG.format(i), io.BytesIO(log)) for i in range(MODELS)]
    beside = MODELS * _best(lambda: deque(map(orjson.loads, log.splitlines()), maxlen=0))
    took = _best(lambda: read_files(sent, options=Options(metric=("acc",)), limits=Limits(bytes=1 << 40)), 1)
    return Row(f"{MODELS} lm-eval files of {len(log) / 1e6:.1f} MB", took, beside, LIMIT)


def _sample(i: int, rng: np.random.Generator) -> dict[str, object]:
    pairs = [[str(-x), "False"] for x in rng.exponential(2, 4)]
    return {
        "doc_id": i,
        "doc": {"question": f"A question of a few words, number {i}?", "choices": ["a", "b", "c", "d"]},
        "target": "1",
        "arguments": {f"gen_args_{k}": {"arg_0": "Question?\nAnswer:", "arg_1": f" {k}"} for k in range(4)},
        "resps": [[pair] for pair in pairs],
        "filtered_resps": pairs,
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "doc_hash": f"{i:064x}",
        "acc": float(rng.integers(2)),
        "acc_norm": float(rng.integers(2)),
    }


def _csv(
    corner: str, down: list[str], across: list[str], scores: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
) -> bytes:
    lines = [",".join([corner, *across])]
    lines += [",".join([name, *map(str, row)]) for name, row in zip(down, scores.tolist(), strict=True)]
    return ("\n".join(lines) + "\n").encode()


def _reader(data: bytes) -> Callable[[], object]:
    return lambda: read(io.BytesIO(data), filename="upload", options=Options(), limits=Limits())


def _row(what: str, ours: Callable[[], object], alone: Callable[[], object]) -> Row:
    limit = None if "numpy" in what else LIMIT
    return Row(f"{what}, {MODELS} × {EXAMPLES:,}", _best(ours), _best(alone), limit)


@threadpool_limits.wrap(limits=1)
def _best(work: Callable[[], object], runs: int = RUNS) -> float:
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)

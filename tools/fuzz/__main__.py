"""Fuzz every reader for some minutes each; what breaks one is printed, to become a test."""

from __future__ import annotations

import faulthandler
import random
import resource
import sys
import time
import traceback

from tools.fuzz.check import check
from tools.fuzz.mutate import spoil
from tools.fuzz.seeds import NAME, OPTIONS, SEEDS

MEMORY = 512
SLOW = 5.0
STUCK = 60


def fuzz(name: str, seconds: float, seed: int) -> int:
    """How many inputs broke the reader of a format."""
    rng, broken, tried, read = random.Random(seed), 0, 0, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = spoil(rng.choice(SEEDS[name]), rng)
        options = OPTIONS | ({"format": name} if rng.random() < 0.5 else {})
        start, before = time.monotonic(), _peak()
        faulthandler.dump_traceback_later(STUCK)
        try:
            read += check(data, NAME, options)
        except Exception:
            broken += 1
            print(f"{name}: {data!r}\n{traceback.format_exc()}", flush=True)
        took, grown = time.monotonic() - start, _peak() - before
        if took > SLOW or grown > MEMORY:
            broken += 1
            print(f"{name}: {took:.1f} s, {grown} MiB: {data[:2000]!r}", flush=True)
        tried += 1
    faulthandler.cancel_dump_traceback_later()
    print(f"{name:16} {tried:8} inputs, {read:7} read, {broken:3} broke it, peak {_peak()} MiB", flush=True)
    return broken


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main(arguments: list[str]) -> int:
    """Run; 1 if anything broke."""
    minutes = float(arguments[0]) if arguments else 10.0
    names = arguments[1:] or list(SEEDS)
    seed = time.time_ns()
    print(f"seed {seed}")
    return int(sum(fuzz(name, 60 * minutes, seed) for name in names) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

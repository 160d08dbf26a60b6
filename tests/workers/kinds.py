"""Kinds of job for tests only, made known to a worker by `celery -I tests.workers.kinds`.

A part says what it does: `steps` of work, wait for a file (`until`), or a way to come to grief.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from service.engine.data.errors import Undefined
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.jobs.kinds import KINDS, Check, Kind, Piece


def _plan(settings: Mapping[str, Any], outline: Outline) -> Mapping[str, Any]:
    return settings


def _parts(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(plan["parts"])


def _run(
    matrix: Matrix,
    plan: Mapping[str, Any],
    spec: Mapping[str, Any],
    earlier: Sequence[Piece],
    check: Check,
) -> bytes:
    _come_to_grief(spec.get("grief"), spec)
    steps = spec.get("steps", 1)
    digest = hashlib.sha256(matrix.scores.tobytes() + repr(sorted(spec.items())).encode())
    for step in range(steps):
        time.sleep(spec.get("pause", 0.0))
        check((step + 1) / steps)
    while not Path(spec.get("until", "/")).exists():
        time.sleep(0.02)
        check(0.5)
    for _, piece in earlier:
        digest.update(piece)
    return digest.digest()


def _come_to_grief(grief: str | None, spec: Mapping[str, Any]) -> None:
    if grief == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if grief == "killed_once":
        marker = Path(spec["marker"])
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    if grief == "memory":
        np.ones(2**30)
    if grief == "deaf":
        time.sleep(3600)
    if grief == "lapack":
        # One call of many seconds, in which no Python runs.
        np.linalg.svd(np.random.default_rng(0).normal(size=(3000, 3000)))
    if grief == "data":
        raise Undefined("all examples are constant")
    if grief == "bug":
        raise ValueError("the sizes do not match")


def _assemble(
    matrix: Matrix, plan: Mapping[str, Any], pieces: Sequence[Piece], check: Check
) -> dict[str, Any]:
    _come_to_grief(plan.get("grief"), plan)
    while not Path(plan.get("until", "/")).exists():
        time.sleep(0.02)
        check(0.5)
    return {"pieces": [piece.hex() for _, piece in pieces], "models": len(matrix.models)}


KINDS["errand"] = Kind(_plan, _parts, _run, _assemble)

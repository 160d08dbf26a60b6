"""The page of a job: the report of a finished one, the progress of the others."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from service.report.curves import truths
from service.report.figures import figures
from service.report.tables import TABLES
from service.report.templates_env import render
from service.store.records import JobRecord, MatrixRecord

MOST_EXAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Share:
    """What of a selection falls to a subtask."""

    name: str
    chosen: int
    weight: float


@dataclass(frozen=True, slots=True)
class Run:
    """How a tool runs the chosen examples only: a file and the command that takes it, or why it cannot."""

    href: str | None
    filename: str | None
    command: str | None
    reason: str | None


def job_page(
    job: JobRecord,
    matrix: MatrixRecord,
    result: bytes | None,
    scores: Mapping[str, float | None],
    base_url: str,
    runs: Sequence[Run] = (),
) -> str:
    """The page as HTML.

    Parameters
    ----------
    matrix : MatrixRecord
        At the job's revision.
    result : bytes, optional
        As stored; None until the job has succeeded.
    scores : mapping
        Model → its mean score at that revision.
    base_url : str
        Where the caller reached the service, for the commands that repeat the job.
    runs : sequence of Run
        Of a selection: how the tools that know its examples run them.
    """
    request = _said({"matrix_id": job.matrix_id, "revision": job.revision, **job.settings})
    if result is None:
        return render("waiting.html", job=job, matrix=matrix, request=request)
    body = orjson.loads(result)
    shared: dict[str, Any] = {
        "job": job,
        "matrix": matrix,
        "result": body,
        "result_hash": hashlib.sha256(result).hexdigest(),
        "request": request,
        "settings": _said(job.settings),
        "base_url": base_url.rstrip("/"),
    }
    if job.kind == "select":
        about = {"shares": _shares(body["examples"]), "most": MOST_EXAMPLES, "runs": runs}
        return render("selection.html", **about, **shared)
    return render(
        "report.html",
        figures=figures(body, known(scores)),
        truths=truths(body) or ["same_items"],
        tables=list(TABLES),
        base=f"/jobs/{job.id}/report",
        **shared,
    )


def _said(settings: Any) -> Any:  # noqa: ANN401 - JSON
    """Settings without what is null, which means the same as leaving it out."""
    if isinstance(settings, Mapping):
        return {key: _said(value) for key, value in settings.items() if value is not None}
    return [_said(value) for value in settings] if isinstance(settings, list) else settings


def known(scores: Mapping[str, float | None]) -> dict[str, float]:
    """The models that have a score."""
    return {name: score for name, score in scores.items() if score is not None}


def home_page(
    matrices: Iterable[MatrixRecord],
    jobs: Iterable[JobRecord],
    methods: Iterable[str],
    base_url: str,
    *,
    names: Mapping[str, str] | None = None,
    older: Mapping[str, str | None] | None = None,
) -> str:
    """Matrices, jobs and the forms to start with.

    Parameters
    ----------
    names : mapping, optional
        Name of each job's matrix by id; by default those of the matrices shown.
    older : mapping, optional
        Address of the older `matrices` and `jobs`, where there are any.
    """
    shown = list(matrices)
    return render(
        "home.html",
        matrices=shown,
        jobs=list(jobs),
        names=names or {matrix.id: matrix.name for matrix in shown},
        older=older or {},
        methods=list(methods),
        base_url=base_url.rstrip("/"),
    )


def _shares(examples: Iterable[Mapping[str, Any]]) -> list[Share]:
    """Examples and weight by subtask; empty where there are none."""
    groups: dict[str | None, list[float]] = defaultdict(list)
    for example in examples:
        groups[example["subtask"]].append(example["weight"])
    return [
        Share(name, len(weights), sum(weights))
        for name, weights in sorted(groups.items(), key=lambda group: group[0] or "")
        if name is not None
    ]

"""A bar for a running job, in terminals and notebooks; nothing elsewhere."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Protocol

from tastetest_client.models import JobView


class Progress(Protocol):
    """Shows how far a job is."""

    def update(self, job: JobView) -> None:
        """The job as it is now."""

    def close(self) -> None:
        """The job has ended, or nobody waits for it any more."""


def progress_of(wanted: bool | None) -> Progress | None:
    """A bar; by default only where somebody sees it."""
    if wanted is False:
        return None
    if _in_notebook():
        return _NotebookBar()
    return _TerminalBar() if wanted or sys.stderr.isatty() else None


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel")


def _text(job: JobView) -> str:
    place = f", place {job.place} in the queue" if job.status == "queued" and job.place else ""
    left = f", about {job.seconds_left:.0f} s left" if job.seconds_left and job.status == "running" else ""
    return f"{job.kind} {job.status}{place}{left}"


class _TerminalBar:
    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task("", total=1.0)
        self._bar.start()

    def update(self, job: JobView) -> None:
        self._bar.update(self._task, description=_text(job), completed=job.progress.fraction)

    def close(self) -> None:
        self._bar.stop()


class _NotebookBar:
    def __init__(self) -> None:
        self._handle: Any = None

    def update(self, job: JobView) -> None:
        # Imported by name: it is there wherever a notebook runs, and has no types.
        shown: Any = importlib.import_module("IPython.display")
        bar = shown.HTML(f'<progress value="{job.progress.fraction}" max="1"></progress> {_text(job)}')
        if self._handle is None:
            self._handle = shown.display(bar, display_id=True)
        else:
            self._handle.update(bar)

    def close(self) -> None:
        """The bar stays, at its last value."""

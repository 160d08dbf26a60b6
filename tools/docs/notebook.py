"""Run the notebook of the documentation against a service and keep its outputs: `make notebook`."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "whole-job.ipynb"
# Ids and the times of a run differ from run to run.
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def main() -> None:
    """Write the notebook with the outputs of a real run."""
    from tests.acceptance.running import serving

    with tempfile.TemporaryDirectory(prefix="tastetest-") as folder, serving("--data-dir", folder) as running:
        nbformat.write(executed(running.address), NOTEBOOK)


def executed(address: str) -> Any:
    """The notebook after a run against the service at an address."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with _environment(TASTETEST_URL=address, PYTHONPATH=str(ROOT / "clients" / "python")):
        client = NotebookClient(
            notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": NOTEBOOK.parent}}
        )
        client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return notebook


def outputs(notebook: Any) -> list[Any]:
    """What every cell showed, without ids and progress."""
    shown: list[Any] = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {"text": output.get("text", "")})
            if "<progress" not in str(data.get("text/html", "")):
                shown.append({kind: UUID.sub("ID", "".join(text)) for kind, text in data.items()})
    return shown


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


if __name__ == "__main__":
    main()

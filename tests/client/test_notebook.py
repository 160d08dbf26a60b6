"""The notebook of the documentation does the whole job, and its outputs are those of a run today."""

from __future__ import annotations

import re

import nbformat
import pytest

from tools.docs.notebook import NOTEBOOK, executed, outputs

LONGEST = 8


def test_the_whole_job_takes_few_lines() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    # The first cell makes the frame, which callers have.
    _, *job = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    lines = [line for source in job for line in source.splitlines() if line.strip()]
    assert len(lines) <= LONGEST


# IPython's own event loop policy and history are not ours.
@pytest.mark.filterwarnings("default")
def test_its_outputs_are_those_of_a_run(address: str) -> None:
    shown = outputs(executed(address))
    assert shown == outputs(nbformat.read(NOTEBOOK, as_version=4))
    result, examples, scores = shown
    assert "<svg" in result["text/html"]
    assert "3 points or more apart" in result["text/html"]
    assert "digits-" in examples["text/html"]
    found = re.search(r"svm-next.*?([\d.]+) % to ([\d.]+) %", scores["text/html"])
    assert found
    # What the model has on all examples.
    assert float(found[1]) <= 97.92 <= float(found[2])

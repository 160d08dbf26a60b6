"""`tastetest analyze` and `tastetest export`: one command for a file, on a real service."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from tastetest_client import Client

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join((str(ROOT), str(ROOT / "clients" / "python")))


def tastetest(folder: Path, address: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it."""
    command = [sys.executable, "-c", "from tastetest_client.cli.main import main; main()", *arguments]
    variables = os.environ | {"PYTHONPATH": PATHS, "TASTETEST_URL": address} | env
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, frame: pd.DataFrame) -> Path:
    """A folder with results of 40 models on 200 examples."""
    made = tmp_path_factory.mktemp("analyze")
    frame.iloc[::2, :200].iloc[:40].to_csv(made / "results.csv")
    return made


def test_a_file_is_answered_first_then_reported(folder: Path, address: str, client: Client) -> None:
    (browser := folder / "browser").write_text('#!/bin/sh\necho "$1" > opened\n')
    browser.chmod(0o755)
    ran = tastetest(
        folder, address, "analyze", "results.csv", "--target", "0.08", "--open", BROWSER=f"{browser} %s"
    )
    assert ran.returncode == 0, ran.stderr
    sentence, selection = ran.stdout.splitlines()[0], re.search(r"selection ([\w-]+)\)", ran.stdout)
    assert sentence.startswith("Use ")
    assert "8 points or more" in sentence
    assert selection
    examples = (folder / "results-examples.txt").read_text().split()
    assert examples == client.selections.get(selection[1]).ids
    assert f"Use {len(examples)} of 200 examples" in sentence
    report = (folder / "results-report.html").read_text()
    assert "<svg" in report
    assert f"Use {len(examples)} of 200 examples" in report
    opened = (folder / "opened").read_text().strip()
    assert opened.startswith(f"{address}/jobs/")
    assert opened in ran.stdout
    exported = tastetest(folder, address, "export", selection[1], "--output", "again.txt")
    assert exported.returncode == 0
    assert (folder / "again.txt").read_text().split() == examples


def test_a_target_that_no_subset_reaches_is_an_answer_too(folder: Path, address: str) -> None:
    ran = tastetest(folder, address, "analyze", "results.csv", "--target", "0.0001", "--folder", "missed")
    assert ran.returncode == 0, ran.stderr
    assert "push" not in ran.stdout
    assert [file.name for file in (folder / "missed").iterdir()] == ["results-report.html"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["analyze", "words.csv"], "row 2, column 'q1'"),
        (["analyze", "results.csv", "-o", "orientation=up"], "orientation"),
        (["analyze", "results.csv", "-o", "nothing=1"], "nothing"),
        (["analyze", "absent.csv"], "absent.csv"),
        (["export", "no-such-selection"], "There is no selection 'no-such-selection'"),
        (["export", "x", "--wait", "0", "--url", "http://127.0.0.1:9"], "Is it running?"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(
    folder: Path, address: str, arguments: list[str], sentence: str
) -> None:
    (folder / "words.csv").write_text("model,q1,q2\na,right,wrong\nb,wrong,right\n")
    ran = tastetest(folder, address, *arguments)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert sentence in ran.stderr
    assert "Traceback" not in ran.stderr

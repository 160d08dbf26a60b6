"""The Python blocks of the READMEs run as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
NEW = "svm-rbf-c1-train597"
# Of a table this small only larger differences can be seen.
TARGET = ("target_mdad=0.03", "target_mdad=0.08, methods=['random']")


@pytest.mark.parametrize("readme", ["README.md", "clients/python/README.md"])
def test_its_python_answers(
    readme: str, address: str, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASTETEST_URL", address)
    monkeypatch.chdir(ROOT)
    part = frame.iloc[::2, :200].iloc[:40]
    names = {"frame": part, "answers": frame.loc[NEW, part.columns]}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        written = block.replace("http://127.0.0.1:8000", address).replace(*TARGET)
        exec(compile(written, readme, "exec"), names)
    selection, client = names["selection"], names["client"]
    assert selection.ids == client.selections.get(selection).ids
    client.close()

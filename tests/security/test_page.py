"""docs/security.md names only tests that there are, and every attack it must."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
ROWS = [line.split(" | ") for line in PAGE.splitlines() if "::test_" in line]
ATTACKS = (
    *(f"API{number} " for number in range(1, 11)),
    "Injection through names",
    "Formulas in exported CSV",
    "Zip slip",
    "Decompression bombs",
    "SSRF",
    "Header injection",
    "Request smuggling",
    "Timing of key checks",
    "Forged log lines",
    "Pickles",
    "Oversized ids",
    "Path tricks in uploaded names",
)


@cache
def found_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_it_names_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", PAGE)
    assert len(named) > 40
    for file, test in named:
        assert test in found_in(file), f"{file}::{test}"


def test_every_attack_has_a_defence_and_a_test() -> None:
    for row in ROWS:
        assert row[-2].endswith("."), row
        assert "::test_" in row[-1], row
    for attack in ATTACKS:
        assert any(attack in " ".join([*row[:-2], ""]) for row in ROWS), attack

"""No function branches more than a reader can follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from radon.complexity import cc_visit

ROOT = Path(__file__).parents[2]
MOST = 12


@pytest.mark.parametrize("package", ["service", "workers", "migrations"])
def test_cyclomatic_complexity_is_limited(package: str) -> None:
    found = {
        (str(path.relative_to(ROOT)), block.fullname): block.complexity
        for path in sorted((ROOT / package).rglob("*.py"))
        for block in cc_visit(path.read_text())
    }
    assert found
    assert {where: count for where, count in found.items() if count > MOST} == {}

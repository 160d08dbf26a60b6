"""The documentation: its commands run as written, its links and pictures exist, its reference is complete."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.acceptance.running import serving

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
MARK = "@@step {}@@"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving("--data-dir", str(tmp_path_factory.mktemp("stack"))) as served:
        yield served.address


def steps(page: Path) -> list[tuple[str, str]]:
    """(command, shown output) of every console block; indented lines continue a command."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *rest = step.rstrip("\n").split("\n")
            more = next((at for at, line in enumerate(rest) if not line.startswith("    ")), len(rest))
            found.append(("\n".join([first, *rest[:more]]), "\n".join(rest[more:])))
    return found


def trimmed(output: str) -> str:
    """Without the blanks that fill up a line of a table."""
    return "\n".join(line.rstrip() for line in output.strip().splitlines())


@pytest.mark.parametrize(
    "name", ["tutorial.md", "choosing-a-size.md", "exports.md", "sessions.md", "attempts.md"]
)
def test_every_command_answers_as_shown(name: str, address: str, tmp_path: Path) -> None:
    """All of a page in one shell, in a folder that looks like a clone."""
    for folder in ("service", "tools"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    shown = steps(DOCS / name)
    script = "".join(f"echo '{MARK.format(at)}'\n{command}\n" for at, (command, _) in enumerate(shown))
    script = "set -eo pipefail\n" + script.replace("http://127.0.0.1:8000", address)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    outputs = re.split(r"@@step \d+@@\n", ran.stdout)[1:]
    for (command, expected), output in zip(shown, outputs, strict=False):
        pattern = ".*".join(re.escape(part) for part in trimmed(expected).split("…"))
        assert re.fullmatch(pattern, trimmed(output), flags=re.DOTALL), f"$ {command}\n{output}"
    assert ran.returncode == 0, ran.stderr
    assert len(outputs) == len(shown) > 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_pages_link_to_what_is_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        file = target.partition("#")[0]
        if file and "://" not in file and file != "reference.md":
            assert (page.parent / file).exists(), target


def test_the_reference_tells_every_operation_and_schema() -> None:
    document: dict[str, Any] = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    reference = _tool("reference")
    told = reference.markdown(document)
    found = list(reference.operations(document))
    assert len(found) > 15
    for method, path, operation in found:
        assert f"### {method} {path} {{ #{operation['operationId']} }}" in told
        for parameter in operation.get("parameters", []):
            assert f"`{parameter['name']}`" in told
    for name in document["components"]["schemas"]:
        anchor = f"schema-{name.lower()}"
        assert f"### {name} {{ #{re.sub(r'[^a-z0-9-]', '-', anchor)} }}" in told
    anchors = set(re.findall(r"\{ #(\S+) \}", told))
    assert set(re.findall(r"\]\(#([^)]+)\)", told)) <= anchors


def _tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

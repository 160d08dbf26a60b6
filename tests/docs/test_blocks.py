"""Every YAML, JSON and shell block of the documentation parses, and no key is given twice."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
OPERATIONS = ROOT / "docs" / "operations"
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# Blocks by indentation; in these pages all are commands.
INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n)+")
OF_COMMANDS = ("README.md", "CONTRIBUTING.md")
SKIPPED = {".git", ".hypothesis", ".tastetest", ".venv", ".venv-tools", "build", "dist", "wheels"}


@dataclass(frozen=True)
class Block:
    """A text in one language and where it stands."""

    where: str
    language: str
    text: str


class StrictLoader(yaml.SafeLoader):
    """YAML in which no key may be given twice, which PyYAML allows and most readers refuse."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise ValueError(f"{key.value!r} is given twice in one mapping{key.start_mark}")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def parse_yaml(text: str) -> object:
    return list(yaml.load_all(text, StrictLoader))


def parse_json(text: str) -> object:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"{sorted(twice)} given twice in one object")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=unique)


def parse_shell(text: str) -> None:
    parsed = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    if parsed.returncode or parsed.stderr:
        raise ValueError(parsed.stderr)


def parse_console(text: str) -> None:
    """The commands alone; what a console answers is in no language."""
    for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = step.split("\n")
        more = 1
        while more < len(lines) and (lines[more - 1].endswith("\\") or lines[more].startswith("    ")):
            more += 1
        parse_shell("\n".join(lines[:more]))


PARSERS: dict[str, Callable[[str], object]] = {
    "yaml": parse_yaml,
    "yml": parse_yaml,
    "json": parse_json,
    "sh": parse_shell,
    "bash": parse_shell,
    "console": parse_console,
    "python": lambda text: compile(text, "block", "exec"),
    # What a program prints.
    "text": str,
}


def files(*endings: str) -> list[Path]:
    tops = [top for top in ROOT.iterdir() if top.name not in SKIPPED]
    found = [path for top in tops for path in (top.rglob("*") if top.is_dir() else [top])]
    return sorted(path for path in found if path.suffix in endings)


def blocks() -> list[Block]:
    found = []
    for page in files(".md"):
        text = page.read_text()
        for match in FENCE.finditer(text):
            where = f"{page.relative_to(ROOT)}:{text[: match.start()].count(chr(10)) + 1}"
            indent, language, inner = match.groups()
            found.append(Block(where, language, re.sub(f"^{indent}", "", inner, flags=re.MULTILINE)))
    for name in OF_COMMANDS:
        inner = re.findall(INDENTED, (ROOT / name).read_text())
        found += [Block(f"{name} #{at}", "sh", text) for at, text in enumerate(inner)]
    whole = [*files(".yml", ".yaml"), *OPERATIONS.glob("*.json")]
    named = [(path.relative_to(ROOT).as_posix(), path) for path in whole]
    return found + [Block(name, path.suffix.removeprefix("."), path.read_text()) for name, path in named]


@pytest.mark.parametrize("block", [b for b in blocks() if b.language], ids=lambda block: block.where)
def test_a_block_parses_in_its_language(block: Block) -> None:
    assert block.language in PARSERS, f"{block.where}: add a parser for {block.language}"
    PARSERS[block.language](block.text)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("yaml", "a: 1\na: 2\n"),
        ("yaml", "- b: {c: 1, c: 2}\n"),
        ("json", '{"a": [{"b": 1, "b": 2}]}'),
        ("json", "{'a': 1}"),
        ("sh", "if true; then"),
        ("console", "$ echo 'half\nhalf\n"),
    ],
)
def test_a_broken_block_is_found(language: str, text: str) -> None:
    with pytest.raises((ValueError, yaml.YAMLError)):
        PARSERS[language](text)


def test_prometheus_takes_the_alerts(promtool: str) -> None:
    ran = subprocess.run(
        [promtool, "check", "rules", OPERATIONS / "alerts.yml"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_prometheus_takes_the_configuration(promtool: str, tmp_path: Path) -> None:
    (config,) = (b.text for b in blocks() if "monitoring.md" in b.where and b.language == "yaml")
    key = tmp_path / "key"
    key.write_text("tt_key\n")
    shutil.copy(OPERATIONS / "alerts.yml", tmp_path)
    (tmp_path / "prometheus.yml").write_text(config.replace("/etc/prometheus/tastetest.key", str(key)))
    ran = subprocess.run(
        [promtool, "check", "config", tmp_path / "prometheus.yml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian's package prometheus has it)")
    return found

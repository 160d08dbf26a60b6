"""The README's commands, run as written against a live service, answer as it shows."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import httpx

from tests.acceptance.running import Served

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def steps() -> list[tuple[str, str]]:
    """(command, shown output) of every console block, in order; `\\` continues a command."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL):
        for step in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            command, _, output = step.partition("\n")
            found.append((command, output.strip()))
    return found


def test_every_command_answers_as_shown(served: Served) -> None:
    known = dict(os.environ)
    for command, shown in steps():
        command = command.replace("http://127.0.0.1:8000", served.address)
        ran = subprocess.run(
            ["bash", "-c", command], cwd=ROOT, env=known, capture_output=True, text=True, check=True
        )
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        assert re.fullmatch(pattern, ran.stdout.strip(), flags=re.DOTALL), f"{command}\n{ran.stdout}"
        if created := re.match(r'\{"id":"([^"]+)"', ran.stdout):
            known["MATRIX" if "/matrices" in command else "JOB"] = created.group(1)


def test_every_call_it_names_exists(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    document = {re.sub(r"{\w+}", "{}", path): methods for path, methods in paths.items()}
    named = re.findall(r"`(GET|POST|PUT|DELETE) (/[^`?]*)", README)
    assert len(named) > 10
    for method, path in named:
        if path not in ("/openapi.json", "/docs"):
            assert method.lower() in document[re.sub(r"{\w+}", "{}", path)], f"{method} {path}"


def test_every_make_target_it_names_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"`make (\w+)`", README)) <= targets

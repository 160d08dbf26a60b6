"""The README's commands, run as written against a live service, answer as it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx

from tests.acceptance.running import Served

ROOT = Path(__file__).parents[2]
MARK = "@@ next block"
README = (ROOT / "README.md").read_text()


def steps() -> list[tuple[str, str]]:
    """(commands, shown output) of every block to paste, in order."""
    return re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)


def test_every_block_pasted_in_turn_answers_as_shown(served: Served) -> None:
    """All in one shell, which knows nothing but what the blocks tell it."""
    shown = steps()
    assert len(shown) >= 4
    script = "".join(f"{commands}\necho '{MARK}'\n" for commands, _ in shown)
    script = "set -eo pipefail\n" + script.replace("http://127.0.0.1:8000", served.address)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    paths = f"{ROOT}{os.pathsep}{ROOT / 'clients' / 'python'}"
    env = os.environ | {"PATH": path, "PYTHONPATH": paths}
    ran = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    for (commands, expected), output in zip(shown, ran.stdout.split(MARK), strict=False):
        pattern = ".*".join(re.escape(part) for part in expected.strip().split("…"))
        assert re.fullmatch(pattern, output.strip(), flags=re.DOTALL), f"{commands}\n{output}"
    assert ran.returncode == 0, ran.stderr


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

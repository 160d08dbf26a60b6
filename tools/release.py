"""Check, build and try a release: `make release VERSION=0.2.0`; without the checks, `make package`.

The wheels of client and server are built from their sdists, and those from the committed files, so none
holds what lies about in the folder. They are then installed in an empty environment with the locked
dependencies, and do the main job from there. Publishing is left to people: what to run is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLIENT = Path("clients") / "python"
LOCKS = ("requirements.lock", "requirements-local.lock")
HEADING = re.compile(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", re.MULTILINE)
BUILD = "import sys; from setuptools import build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"


class NotReady(Exception):
    """Why the release cannot be made; the text says how to fix it."""


def main() -> None:
    """Check unless no version is given, then build, install and try."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?")
    asked = parser.parse_args()
    try:
        if asked.version is not None:
            check(ROOT, asked.version)
        client, server = build(ROOT, ROOT / "dist")
        run_demo(client, server)
    except NotReady as why:
        raise SystemExit(f"not released: {why}") from None
    print(f"\ndist/ holds {client.name}, {server.name} and their sdists; they work.")
    if asked.version is not None:
        print(f"Publish it: git tag v{asked.version} && git push --tags, then upload dist/* to your index.")


def check(root: Path, version: str) -> None:
    """Refuse a version that the files do not speak of, or a tree that is not what is committed.

    Raises
    ------
    NotReady
        The first thing that is not in order.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise NotReady(f"{version!r} is no version; give three numbers, like 0.2.0")
    for file in (Path("pyproject.toml"), CLIENT / "pyproject.toml"):
        project = tomllib.loads((root / file).read_text())["project"]["version"]
        if project != version:
            raise NotReady(f"{file} says version {project}, not {version}")
    document = json.loads((root / "openapi" / "openapi.json").read_text())["info"]["version"]
    if document != version:
        raise NotReady(f"openapi/openapi.json says version {document}; run `make openapi`")
    _check_changelog((root / "CHANGELOG.md").read_text(), version)
    if changed := _git(root, "status", "--porcelain"):
        raise NotReady(f"these files are not committed:\n{changed}")
    if _git(root, "tag", "--list", f"v{version}"):
        raise NotReady(f"the tag v{version} exists; a release is made once")


def _check_changelog(text: str, version: str) -> None:
    headings = list(HEADING.finditer(text))
    names = [heading[1] for heading in headings]
    if names[:2] != ["Unreleased", version]:
        raise NotReady(f"CHANGELOG.md must open with [Unreleased] and [{version}]; it has {names[:2]}")
    if headings[1][2] is None:
        raise NotReady(f"CHANGELOG.md gives [{version}] no date; write `## [{version}] - YYYY-MM-DD`")
    if text[headings[0].end() : headings[1].start()].strip():
        raise NotReady(f"CHANGELOG.md has entries under [Unreleased]; move them under [{version}]")


def build(root: Path, dist: Path) -> tuple[Path, Path]:
    """Build sdists and wheels of client and server from the commit that is checked out.

    Returns
    -------
    tuple of Path
        The client's wheel and the server's in `dist`, which holds these four files and nothing older.
    """
    shutil.rmtree(dist, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="tastetest-build-") as made:
        folder = Path(made)
        _run(["git", "archive", "--format=tar", f"--output={folder / 'source.tar'}", "HEAD"], cwd=root)
        source = _unpacked(folder / "source.tar", folder / "source")
        client = _built(source / CLIENT, folder / "client", dist)
        server = _built(source, folder / "server", dist)
    return client, server


def _built(source: Path, folder: Path, dist: Path) -> Path:
    """The wheel of a project, built from its sdist; both are put into `dist`."""
    _run([sys.executable, "-c", BUILD, "build_sdist", str(folder)], cwd=source, quiet=True)
    (sdist,) = folder.glob("*.tar.gz")
    (inside,) = _unpacked(sdist, folder / "unpacked").iterdir()
    _run([sys.executable, "-c", BUILD, "build_wheel", str(folder)], cwd=inside, quiet=True)
    (wheel,) = folder.glob("*.whl")
    dist.mkdir(exist_ok=True)
    return [Path(shutil.move(file, dist / file.name)) for file in (sdist, wheel)][1]


def run_demo(*wheels_made: Path) -> None:
    """Install the wheels with the locked dependencies where nothing else is, and do the main job there."""
    with tempfile.TemporaryDirectory(prefix="tastetest-wheel-") as made:
        python = Path(made) / "env" / "bin" / "python"
        venv.create(python.parents[1], with_pip=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q"]
        wheels = ROOT / "wheels"
        offline = ["--no-index", "--find-links", str(wheels)] if wheels.is_dir() else []
        locks = [argument for lock in LOCKS for argument in ("-r", str(ROOT / lock))]
        _run([*pip, "install", "--require-hashes", *offline, *locks], cwd=Path(made))
        _run([*pip, "install", "--no-deps", "--no-index", *map(str, wheels_made)], cwd=Path(made))
        _run([*pip, "check"], cwd=Path(made))
        _run([str(python.parent / "tastetest"), "demo"], cwd=Path(made))


def _unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder


def _run(command: list[str], cwd: Path, *, quiet: bool = False) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(command, cwd=cwd, env=environment, capture_output=quiet, text=True, check=False)
    if ran.returncode:
        said = f":\n{ran.stdout}{ran.stderr}" if quiet else ""
        raise NotReady(f"`{' '.join(command)}` ended with {ran.returncode}{said}")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    main()

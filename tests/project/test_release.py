"""A release is refused while anything is not in order, and its wheel holds what it needs."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.release import NotReady, build, check

ROOT = Path(__file__).parents[2]
LOG = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-31\n\n### Added\n\n- This.\n"


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that is ready to be released as 0.2.0."""
    (tmp_path / "openapi").mkdir()
    (tmp_path / "clients" / "python").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "clients" / "python"):
        (folder / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n')
    (tmp_path / "openapi" / "openapi.json").write_text(json.dumps({"info": {"version": "0.2.0"}}))
    (tmp_path / "CHANGELOG.md").write_text(LOG)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "ready")
    return tmp_path


def committed(change: Callable[[Path], object]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        change(folder)
        git(folder, "commit", "-qam", "changed")

    return do


def log(text: str) -> Callable[[Path], None]:
    return committed(lambda folder: (folder / "CHANGELOG.md").write_text(text))


def test_what_is_in_order_passes(project: Path) -> None:
    check(project, "0.2.0")


@pytest.mark.parametrize(
    ("version", "change", "says"),
    [
        ("v0.2", lambda folder: None, "three numbers"),
        ("0.3.0", lambda folder: None, "pyproject.toml says version 0.2.0"),
        (
            "0.2.0",
            committed(
                lambda f: (f / "clients/python/pyproject.toml").write_text('[project]\nversion = "0.1.0"\n')
            ),
            "clients/python/pyproject.toml says version 0.1.0",
        ),
        (
            "0.2.0",
            committed(
                lambda f: (f / "openapi" / "openapi.json").write_text('{"info": {"version": "0.1.0"}}')
            ),
            "run `make openapi`",
        ),
        ("0.2.0", log(LOG.replace("0.2.0", "0.1.0")), r"must open with \[Unreleased\] and \[0.2.0\]"),
        ("0.2.0", log(LOG.replace(" - 2027-01-31", "")), "no date"),
        ("0.2.0", log(LOG.replace("[Unreleased]\n", "[Unreleased]\n\n- More.\n")), "move them"),
        ("0.2.0", lambda folder: (folder / "new.py").write_text(""), "not committed"),
        ("0.2.0", lambda folder: git(folder, "tag", "v0.2.0"), "the tag v0.2.0 exists"),
    ],
)
def test_what_is_not_in_order_is_named(
    project: Path, version: str, change: Callable[[Path], object], says: str
) -> None:
    change(project)
    with pytest.raises(NotReady, match=says):
        check(project, version)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("a release is built from a git checkout, which this is not")
    made = build(ROOT, tmp_path_factory.mktemp("made") / "dist")
    assert len(list(made[0].parent.iterdir())) == 4
    return made


@pytest.mark.parametrize(
    ("which", "base", "folders"),
    [(0, "clients/python", ["tastetest_client"]), (1, "", ["service", "workers", "migrations"])],
    ids=["client", "server"],
)
def test_a_wheel_holds_every_file_that_is_no_test(
    wheels: tuple[Path, Path], which: int, base: str, folders: list[str]
) -> None:
    with zipfile.ZipFile(wheels[which]) as packed:
        names = set(packed.namelist())
        (metadata,) = (packed.read(name).decode() for name in names if name.endswith("/METADATA"))
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "HEAD", *folders],
        cwd=ROOT / base,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert listed
    assert set(listed) <= names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == set(folders)
    assert "License-Expression: Apache-2.0" in metadata

"""What a pipeline sends: a file, or a folder of logs as one archive."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from tastetest_client._protocol import Upload
from tastetest_client.cli.exit_codes import PipelineError


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Upload]:
    """The file at a path; of a folder all files below it, packed into one archive."""
    try:
        if path.is_dir():
            with TemporaryFile() as file:
                _pack(path, cast(BinaryIO, file))
                yield Upload(f"{path.resolve().name}.zip", cast(BinaryIO, file), "application/zip")
        else:
            with path.open("rb") as opened_file:
                yield Upload(path.name, opened_file)
    except OSError as error:
        raise PipelineError(f"{path} cannot be read: {error.strerror or error}.") from error


def _pack(folder: Path, file: BinaryIO) -> None:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    if not found:
        raise PipelineError(f"There is no file in the folder {folder}.")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in found:
            archive.write(path, path.relative_to(folder))

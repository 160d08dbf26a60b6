"""How much space is left where the data are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from service.core.settings import MEBIBYTE, Settings


def free_bytes(folder: Path) -> int:
    """Bytes that may still be written there."""
    return shutil.disk_usage(folder).free


def free_mebibytes(settings: Settings) -> float | None:
    """Space left in the data directory; None where this process does not know it."""
    if not settings.data_dir or not os.path.isdir(settings.data_dir):
        return None
    return free_bytes(Path(settings.data_dir)) / MEBIBYTE


def is_full(settings: Settings) -> bool:
    """Whether nothing more should be written: Postgres stops when it cannot, and needs room to start."""
    free = free_mebibytes(settings)
    return free is not None and free < settings.min_free_mib

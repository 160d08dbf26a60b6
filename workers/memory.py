"""A limit on a process's memory, so that a hog gets a MemoryError instead of the machine's killer."""

from __future__ import annotations

import resource

MEBI = 1024 * 1024


def limit_memory(mebibytes: int) -> None:
    """Let this process allocate at most so much; code and files it maps do not count."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = mebibytes * MEBI
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))

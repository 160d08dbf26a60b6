"""A limit on a process's memory: it gets a MemoryError before the operating system kills a process."""

from __future__ import annotations

import resource

MEBI = 1024 * 1024


def limit_memory(mebibytes: int) -> None:
    """Limit what this process can allocate; mapped code and files do not count."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = mebibytes * MEBI
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))

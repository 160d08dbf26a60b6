"""See the package."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from pathlib import Path

from tests.acceptance.running import serving
from tests.workers import kinds as errands
from tools.chaos import verdict
from tools.chaos.clients import Clients
from tools.chaos.world import ENV, world


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.chaos")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    os.environ |= ENV
    assert errands.KINDS
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, world(Path(folder), asked.seed) as broken:
        env = {"DATABASE_URL": broken.rig.postgres_url, "REDIS_URL": broken.broker.url}
        with (
            (Path(folder) / "api.log").open("wb") as log,
            serving("--workers", "0", "--data-dir", folder, env=env, log=log) as served,
        ):
            clients = Clients(broken, served.address, asked.seed)
            sending = threading.Thread(target=clients.send_all, args=(asked.jobs, asked.seconds))
            sending.start()
            broken.break_things(asked.seconds)
            sending.join()
            settled = verdict.settle(broken)
        found = [*verdict.unwilling(broken), *verdict.broken_promises(broken, clients)]
        report = {
            "seed": asked.seed,
            "jobs": len(clients.good | clients.poison),
            "poisoned": len(clients.poison),
            "requests sent again": clients.resent,
            "requests sent twice": clients.doubled,
            **dict(sorted(broken.faults.items())),
            **verdict.figures(broken),
            "seconds until all had ended": settled,
        }
    print("  ".join(f"{name}: {value:.4g}" for name, value in report.items()))
    print("\n".join(found) if found else "Every promise kept.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

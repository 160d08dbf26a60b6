"""What row-level security costs a list call: `python -m tools.row_security_cost`; the budget is 5 %.

The same pages of jobs and models, read as the owner and as the API's role, in turn, through the same code.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from sqlalchemy import Connection, Engine, make_url, text

import migrations
from service.cli import default_stack
from service.engine.data.matrix import Matrix
from service.jobs.submit import submit
from service.store import api_role, jobs, matrices
from service.store.database import make_engine
from service.store.workspace_scope import within

JOBS, PARTS, MODELS, ROUNDS = 2000, 8, 2000, 200


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, default_stack.postgres(Path(folder)) as url:
        migrations.upgrade(url)
        api_url = make_url(url).set(username="tastetest_api").render_as_string(hide_password=False)
        api_role.prepare(url, api_url)
        owner, callers = make_engine(url), make_engine(api_url)
        matrix = fill(owner)
        calls: dict[str, Callable[[Connection], object]] = {
            "50 jobs": lambda conn: jobs.page(conn, None, 50),
            "1,000 models": lambda conn: matrices.models(conn, matrix, None, None, 1000),
            "a matrix": lambda conn: matrices.get(conn, matrix, None),
        }
        for name, call in calls.items():
            plain, secured = compare(within(owner, "default"), within(callers, "default"), call)
            cost = 100 * (secured / plain - 1)
            print(
                f"{name}: {1000 * plain:.2f} ms as the owner, {1000 * secured:.2f} ms secured: {cost:+.1f} %"
            )
        owner.dispose()
        callers.dispose()


def compare(plain: Engine, secured: Engine, call: Callable[[Connection], object]) -> tuple[float, float]:
    """Medians of both, measured alternately so that the machine's moods hit both."""
    times: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(ROUNDS):
        for which, engine in enumerate((plain, secured)):
            began = time.perf_counter()
            with engine.begin() as conn:
                call(conn)
            times[which].append(time.perf_counter() - began)
    return median(times[0][10:]), median(times[1][10:])


def fill(engine: Engine) -> str:
    scores = np.random.default_rng(0).integers(0, 2, (MODELS, 500)).astype(np.uint8)
    made = Matrix.build([f"m{i}" for i in range(MODELS)], [f"e{j}" for j in range(500)], scores)
    with engine.begin() as conn:
        matrix = matrices.create(conn, made, name="m")
        for n in range(JOBS):
            submit(conn, kind="errand", settings={"n": n}, matrix=matrix, parts=[{}] * PARTS)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(text("ANALYZE"))
    return matrix.id


if __name__ == "__main__":
    main()

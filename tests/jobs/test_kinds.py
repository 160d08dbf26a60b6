from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
import pytest
from sqlalchemy import Connection, Engine

from service.core.settings import Settings
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.jobs import kinds, lifecycle
from service.jobs.submit import submit
from service.store import jobs, matrices, parts, selections
from service.store.records import MatrixRecord

TERMS = lifecycle.LeaseTerms.of(Settings())


def store(db: Engine) -> MatrixRecord:
    scores = (np.random.default_rng(3).random((12, 60)) < np.linspace(0.2, 0.9, 12)[:, None]).astype(np.uint8)
    matrix = Matrix.build([f"m{i:02}" for i in range(12)], [f"e{j:02}" for j in range(60)], scores)
    with db.begin() as conn:
        return matrices.create(conn, matrix, name="real")


def carry_out(
    db: Engine, kind: str, asked: Mapping[str, Any], matrix: MatrixRecord, cut: int | None = None
) -> bytes:
    """The result of a request, computed here; `cut` trials a part when given."""
    with db.begin() as conn:
        plan = kinds.KINDS[kind].plan(asked, Outline(**matrices.outline(conn, matrix.id)))
        specs = kinds.KINDS[kind].parts(plan)
        if cut is not None:
            specs = [
                {**spec, "trials": [i, min(i + cut, spec["trials"][1])]}
                for spec in specs
                for i in range(*spec["trials"], cut)
            ]
        job, _ = submit(conn, kind=kind, settings=plan.settings, matrix=matrix, parts=specs)
        full, following = loaded(conn, matrix, plan.settings), None
        for index in range(job.parts_total):
            part = following or lifecycle.claim(conn, job.id, index, worker="w", terms=TERMS)[0]
            assert part is not None
            piece = kinds.run(
                full, part, parts.results(conn, job.id, before=part.stage), lambda fraction: None
            )
            if job.parts_total == 1:
                last, pieces = part, [(part.spec, piece)]
            elif (following := lifecycle.finish_part(conn, part, piece, terms=TERMS)) is not None:
                last, pieces = following, parts.results(conn, job.id)
        body, keep = kinds.assemble(full, last, pieces, lambda fraction: None)
        lifecycle.finish_job(conn, last, body, keep)
        return jobs.result(conn, job.id)


def loaded(conn: Connection, matrix: MatrixRecord, settings: Mapping[str, Any]) -> Matrix:
    stored = matrices.load(conn, matrix.id)
    return stored if settings["missing"] == "error" else stored.fill(settings["missing"])


def test_a_selection_is_kept_under_an_id_that_repeats(db: Engine) -> None:
    matrix = store(db)
    asked = {"method": "random", "size": 5, "seed": 3}
    result = orjson.loads(carry_out(db, "select", asked, matrix))
    assert len(result["examples"]) == 5
    assert sum(example["weight"] for example in result["examples"]) == pytest.approx(1)
    assert result["matrix"] == {"id": matrix.id, "revision": 1, "content_hash": matrix.content_hash}
    with db.begin() as conn:
        kept = selections.get(conn, result["selection_id"])
        assert (kept.body, kept.content_hash) == (result, result["content_hash"])
        assert (kept.method, kept.size, kept.matrix_id) == ("random", 5, matrix.id)
        # Its job expires; the same request makes the same selection again.
        conn.exec_driver_sql("DELETE FROM jobs")
    assert orjson.loads(carry_out(db, "select", asked, matrix)) == result
    twin = orjson.loads(carry_out(db, "select", asked, store(db)))
    assert twin["content_hash"] == result["content_hash"]
    assert twin["selection_id"] != result["selection_id"]


def test_a_deleted_selection_can_be_made_again(db: Engine) -> None:
    matrix = store(db)
    asked = {"method": "random", "size": 5, "seed": 4}
    result = orjson.loads(carry_out(db, "select", asked, matrix))
    other = orjson.loads(carry_out(db, "select", asked | {"seed": 5}, matrix))
    with db.begin() as conn:
        selections.delete(conn, result["selection_id"])
    assert orjson.loads(carry_out(db, "select", asked, matrix)) == result
    with db.begin() as conn:
        assert selections.get(conn, result["selection_id"]).body == result
        assert selections.get(conn, other["selection_id"])


@pytest.mark.parametrize("sizes", ["auto", [5, 10]])
def test_the_cut_into_parts_changes_no_byte(db: Engine, sizes: object) -> None:
    matrix = store(db)
    asked = {"methods": ["random", "optimal_design"], "sizes": sizes, "trials": 10, "target_models": 4}
    whole = carry_out(db, "mdad", asked, matrix)
    with db.begin() as conn:
        conn.exec_driver_sql("DELETE FROM jobs")
    assert carry_out(db, "mdad", asked, matrix, cut=2) == whole
    assert orjson.loads(whole)["matrix"]["content_hash"] == matrix.content_hash


def test_missing_cells_are_dealt_with_as_the_job_asks(db: Engine) -> None:
    scores = np.array([[1.0, np.nan, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    with db.begin() as conn:
        holes = Matrix.build(["a", "b", "c"], ["w", "x", "y", "z"], scores)
        matrix = matrices.create(conn, holes, name="holes")
    asked = {"method": "random", "size": 3, "missing": "drop_examples"}
    result = orjson.loads(carry_out(db, "select", asked, matrix))
    assert [example["id"] for example in result["examples"]] == ["w", "y", "z"]

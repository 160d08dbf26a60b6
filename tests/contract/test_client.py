"""A client that a stranger generates from the document does the main job."""

from __future__ import annotations

import importlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import httpx
import pytest
import sqlalchemy as sa

from service.core.settings import Settings
from tests.api.working import Worker
from tests.contract.document import document
from tests.contract.record import table

# What this generator leaves out; each operation can do without.
LEFT_OUT = {"text/csv", "image/svg+xml", "image/png"}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the generated package."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "openapi.json").write_text(json.dumps(document()))
    (folder / "config.yml").write_text("post_hooks: []\n")
    command = [str(Path(sys.executable).parent / "openapi-python-client"), "generate"]
    command += ["--path", "openapi.json", "--config", "config.yml", "--meta", "none"]
    made = subprocess.run(
        [*command, "--output-path", "made_client"], cwd=folder, capture_output=True, text=True, check=True
    )
    said = made.stdout + made.stderr
    assert "ERROR" not in said, said
    assert set(re.findall(r"nsupported content[ _]type ([\w/+.\-]+)", said)) <= LEFT_OUT, said
    return folder


def test_a_generated_client_does_the_main_job(
    package: Path, api: httpx.Client, db: sa.Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(package))
    models = part("models")
    with part("client").Client(base_url=str(api.base_url), raise_on_unexpected_status=True) as client:
        upload = part("types").File(payload=io.BytesIO(table([f"m{i}" for i in range(6)])))
        rows = models.CreateMatrixOrientationType0.MODELS_AS_ROWS
        matrix = part("api.matrices.create_matrix").sync(client=client, body=upload, orientation=rows)
        assert (matrix.models, matrix.examples) == (6, 60)
        ask = models.MdadRequest(matrix_id=matrix.id, methods=["random"], sizes=[5], trials=5)
        job = part("api.work.submit_mdad").sync(client=client, body=ask)
        early = part("api.jobs.get_result").sync(client=client, job_id=job.id)
        assert (early.status, early.type_) == (409, "urn:tastetest:problem:conflict")
        Worker(db, settings).finish(job.id)
        job = part("api.jobs.get_job").sync(client=client, job_id=job.id, wait=10)
        assert job.status is models.JobViewStatus.SUCCEEDED
        result = part("api.jobs.get_result").sync(client=client, job_id=job.id)
        assert isinstance(result, models.MdadResult)
        assert result.methods[0].sizes[0].size == 5
        assert result.recommendation.sentence


def part(name: str) -> ModuleType:
    return importlib.import_module(f"made_client.{name}")

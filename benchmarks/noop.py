"""The yardsticks: a Celery task that does nothing, and a route that does one SELECT."""

from __future__ import annotations

import os

import sqlalchemy as sa
from celery import Celery
from fastapi import FastAPI

from service.core.settings import get_settings
from service.store.database import make_engine

app = Celery("noop", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])
app.conf.update(task_default_queue="noop", worker_prefetch_multiplier=1)


@app.task(name="noop")
def noop() -> None:
    """Nothing."""


def bare() -> FastAPI:
    """A route with one SELECT through a pool like the service's."""
    engine = make_engine(get_settings().database_url)
    api = FastAPI()

    @api.get("/one/{job_id}")
    def one(job_id: str) -> dict[str, str]:
        with engine.begin() as connection:
            query = sa.text("SELECT status FROM jobs WHERE id = :id")
            return {"status": connection.execute(query, {"id": job_id}).scalar_one()}

    return api

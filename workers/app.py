"""The Celery app: `celery -A workers.app worker`, and `beat`, which schedules the reconciler."""

from __future__ import annotations

import logging
import multiprocessing
import os
import socket
import time
from functools import lru_cache
from typing import Any

import structlog
from celery import Celery, Task, signals
from threadpoolctl import threadpool_limits

from service.core import disk, tracing
from service.core import logging as logs
from service.core.settings import get_settings
from service.jobs import broker, maintenance, notifier
from service.jobs import reconcile as reconciler
from service.store.database import make_engine, make_quick_engine
from workers import run_part as worker
from workers.memory import limit_memory

log = structlog.get_logger(__name__)
WORKER = "tastetest-worker"
# How often it is looked whether a task is due; each has a time of its own.
MAINTAIN_SECONDS = 15.0

logs.configure()
settings = get_settings()
app = broker.connect(Celery("tastetest"), settings.redis_url)
app.conf.update(
    task_acks_late=False,
    worker_prefetch_multiplier=1,
    # A worker must not reserve a part while it computes another: idle workers could take it.
    worker_disable_prefetch=True,
    worker_max_tasks_per_child=500,
    # Do not wait for a killed process: the reconciler finds its part by the expired lease.
    worker_lost_wait=0.5,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    worker_soft_shutdown_timeout=settings.shutdown_grace_seconds + 3,
    worker_hijack_root_logger=False,
    beat_scheduler="celery.beat:Scheduler",
    beat_schedule={
        "reconcile": {
            "task": broker.RECONCILE,
            "schedule": settings.reconcile_seconds,
            "options": {"queue": broker.CONTROL, "expires": 60},
        },
        "maintain": {
            "task": broker.MAINTAIN,
            "schedule": MAINTAIN_SECONDS,
            "options": {"queue": broker.CONTROL, "expires": MAINTAIN_SECONDS},
        },
    },
)

# Shared with the forked children: when to stop, on the machine's monotonic clock; 0 means never.
_stop_at = multiprocessing.Value("d", 0.0)


@signals.worker_shutting_down.connect
def _note_shutdown(**_: object) -> None:
    _stop_at.value = time.monotonic() + settings.shutdown_grace_seconds


def _shutting_down() -> bool:
    return bool(0 < _stop_at.value < time.monotonic())


@lru_cache
def worker_context() -> worker.WorkerContext:
    """The context of this process; created after the fork, because connections do not survive one."""
    threadpool_limits(1)
    tracing.configure("worker")
    limit_memory(settings.worker_memory_mib)
    name = f"{socket.gethostname()}:{os.getpid()}"
    return worker.WorkerContext(
        engine=make_engine(settings.database_url, pre_ping=False, pool_size=2, application=WORKER),
        quick=make_quick_engine(settings.database_url, pool_size=2, application=WORKER),
        notifier=notifier.default(),
        settings=settings,
        worker=name,
        shutting_down=_shutting_down,
    )


@signals.setup_logging.connect
def _configure_logging(loglevel: int = logging.WARNING, **_: object) -> None:
    logs.capture_library_logs(loglevel)


@signals.worker_process_shutdown.connect
def _flush(**_: object) -> None:
    tracing.flush()


@app.task(name=broker.WORK, bind=True)
def work(task: Task[Any, Any], job_id: str, index: int) -> None:
    """Take the part whose turn it is; what the notification names says only which kind is preferred."""
    if disk.is_full(settings):
        # The reconciler notifies again; until there is space, results could not be stored.
        log.error("no space left in the data directory", data_dir=settings.data_dir)
        return
    worker.work_next(worker_context(), begin=index == 0)


@app.task(name=broker.RECONCILE)
def reconcile() -> None:
    """Recover the parts of dead workers and repeat missed notifications."""
    reconciler.reconcile(worker_context().engine, worker_context().notifier, settings)


@app.task(name=broker.MAINTAIN)
def maintain() -> None:
    """Check the invariants and delete what is old, when it is time."""
    maintenance.run_due_maintenance(worker_context().engine, settings)

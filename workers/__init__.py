"""Celery workers: claim a part of a job, compute it, store its result."""

import os

# Before anything imports numpy: each worker process uses one core, so BLAS must not start more threads.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

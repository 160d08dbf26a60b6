"""Celery workers: take a part of a job, compute it, hand it in."""

import os

# Before anything imports numpy: BLAS threads × worker processes would fight for the cores.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

"""The experiments that take minutes: `python -m tests.bench large`."""

from tests.bench.experiments import large_rows as rows

__all__ = ["rows"]

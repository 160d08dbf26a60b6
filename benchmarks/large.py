"""The experiments that take minutes: `python -m benchmarks large`."""

from benchmarks.experiments import large_rows as rows

__all__ = ["rows"]

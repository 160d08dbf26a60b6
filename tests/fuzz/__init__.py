"""Fuzzing of every reader: `python -m tests.fuzz [minutes each] [format …]`; a short run is in the suite."""

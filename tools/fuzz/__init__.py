"""Fuzzing of every reader: `python -m tools.fuzz [minutes each] [format …]`; a short run is in the suite."""

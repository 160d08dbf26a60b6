"""The numbers: arrays in, dataclasses out; no I/O, no clock, no global randomness.

Imports nothing else of ours. Its packages, from the highest layer to the lowest: microbenchmark,
reliability, experiment, planning, comparison, selection, measures, prediction, numerics, data.
"""

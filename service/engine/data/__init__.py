"""The data that all engine packages use: the matrix, pairs of models, its outline and summary.

The lowest layer of the engine: imports no other package of the engine.
"""

"""What everything else computes on: the matrix, pairs of models, its outline and summary.

The lowest layer of the engine: imports none of its other packages.
"""

"""One selection, and what later estimates from it rest on.

The highest layer of the engine: may import all its other packages.
"""

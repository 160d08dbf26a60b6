"""A request → a checked plan of the work.

May import comparison, selection, measures, prediction, numerics and data.
"""

"""Trials: splits of models and examples, each method's choice in them, and its estimates.

May import planning, comparison, selection, measures, prediction, numerics and data.
"""

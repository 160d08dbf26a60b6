"""Trials → agreement, MDAD, the recommended size, and what to keep in mind.

May import every other package of the engine but microbenchmark.
"""

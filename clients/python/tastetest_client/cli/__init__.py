"""The command `tastetest`: push, gate, export and analyze; other distributions add theirs by entry points.

A command imports what it needs when it runs, so that `--help` and wrong usage answer at once.
"""

"""Run jobs while everything around them breaks, then count: `python -m tools.chaos --seconds 60 --seed 1`.

Workers are killed and put to sleep past their leases, the broker is killed, emptied and frozen,
database sessions are cut, the database restarts, clients send their requests again. In the end
every job must have ended, every good one with the bytes of an undisturbed run, every bad one after
exactly its attempts, and nothing may be left running.
"""

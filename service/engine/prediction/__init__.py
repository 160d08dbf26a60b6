"""Mean and covariance of a new model's scores, and what its answers on a subset say of the rest.

May import numerics and data.
"""

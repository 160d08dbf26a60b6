"""What a numerical library could hold: singular values, k-medoids, item response theory.

May import data.
"""

"""General numerical methods: singular values, k-medoids, item response theory.

May import data.
"""

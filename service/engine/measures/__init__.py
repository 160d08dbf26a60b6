"""How well a subset orders and estimates models: agreement, MDAD, the error of a draw.

May import prediction, numerics and data.
"""

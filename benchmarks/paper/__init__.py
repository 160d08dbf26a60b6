"""The published GPQA experiment of arXiv 2510.08730, run again and set beside its tables."""

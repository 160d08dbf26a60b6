"""`make bench`: what things cost, as ratios to something bare in the same run."""

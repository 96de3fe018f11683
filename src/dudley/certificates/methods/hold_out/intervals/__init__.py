"""Intervals: upper confidence bounds on the mean of losses in [0, 1], a file each."""

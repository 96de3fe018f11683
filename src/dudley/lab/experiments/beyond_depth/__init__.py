"""Depth 1, 2 and 4 on a sparse task: accuracy, and the derived bound at the trained norms."""

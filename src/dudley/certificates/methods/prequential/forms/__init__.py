"""Bounds on the mean risk of the models of a pass, each valid at every step at once."""

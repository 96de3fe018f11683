"""Statistics of the experiments: intervals, bootstrap, trends, binomial models, survival.

Everything is deterministic: what is random takes a seed. numpy and scipy only.
"""

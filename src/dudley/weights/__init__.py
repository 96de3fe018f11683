"""Weights, measured: checkpoint readers, certified norms, and the layouts that join them."""

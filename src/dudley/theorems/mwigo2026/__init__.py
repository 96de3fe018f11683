"""Mwigo, Dasgupta: *Generalization bound for a Shallow Transformer trained using Gradient Descent*.

Transactions on Machine Learning Research, 2026. Gradient descent near its initialisation.
"""

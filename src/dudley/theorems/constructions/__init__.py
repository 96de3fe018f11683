"""Sparse-variable constructions: weights that compute Boolean functions of a few tokens."""

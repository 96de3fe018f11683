"""Activations, attention normalisers and first weights, exchanged one at a time."""

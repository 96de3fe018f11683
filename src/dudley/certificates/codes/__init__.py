"""Codes: bit strings that decode to the exact weights of a model.

A code word is a file; its length in bits is what a certificate pays. `interval` turns a sequence
of choices with exact probabilities into bits and back, `atoms` are codes of numbers, subsets,
levels and steps, and `kinds` (`sparse`, `subspace`, `low_rank`, `plain`) are codes of whole models
behind one interface, `base`, told apart by two leading bits.
"""

"""Attention of one row over bits: the formula, and two fast ways to compute it."""

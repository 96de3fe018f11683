"""Occam's bound for any torch module: a code word of its difference to a start."""

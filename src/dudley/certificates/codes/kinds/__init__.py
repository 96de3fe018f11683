"""Kinds of codes: each describes the weights of a whole model, a file each."""

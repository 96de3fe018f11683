"""Families of checkpoints, one per file; the registry ``LAYOUTS`` imports them."""

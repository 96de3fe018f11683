"""Sparse AND where the paper could not go: T to 10⁵, by a protocol that collapses."""

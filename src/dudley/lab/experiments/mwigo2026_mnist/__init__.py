"""MNIST, 0 against 1: full-batch descent of a shallow encoder (mwigo2026, appendix B)."""

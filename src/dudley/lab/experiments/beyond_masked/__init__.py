"""A small masked-token model, and trauger2024's Theorem 5.1 about it."""

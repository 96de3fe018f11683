"""Hold-out: the risk of a fixed model from examples that no choice saw."""

"""Architectures as compositions: local facts, and the maps themselves."""

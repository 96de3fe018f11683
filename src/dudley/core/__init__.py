"""Quantities and contracts: norms, constraints, entropies, bounds, statements, refusals."""

"""Rigorous lower bounds: packings, exact suprema and risks, and counterexamples."""

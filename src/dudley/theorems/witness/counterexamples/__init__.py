"""Counterexamples to published statements, one idea a file; each is a registered witness."""

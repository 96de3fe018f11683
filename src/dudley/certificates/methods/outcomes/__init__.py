"""Outcomes as a method: a certificate of anything, from what it gave on n examples."""

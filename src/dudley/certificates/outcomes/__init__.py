"""Outcomes: bounds for anything of which only the outcomes on n examples are known."""

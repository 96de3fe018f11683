"""Figures: bounds along an axis, where each bound stands, the tree of a network; and their look."""

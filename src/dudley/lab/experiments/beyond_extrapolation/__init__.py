"""Tests at lengths that were not trained on: another law, of which no bound speaks."""

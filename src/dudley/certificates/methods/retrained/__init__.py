"""Retrained: a model trained on all data, by its disagreements with the model of the picks."""

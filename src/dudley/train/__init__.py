"""Thousands of small trainings at once: tasks, ensembles, optimisers, one trainer."""

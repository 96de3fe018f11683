"""Optimisers, schedules, clipping, norm balls and penalties for many trainings at once."""

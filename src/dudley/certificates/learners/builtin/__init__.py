"""Learners that come with dudley, one a file: a network and its recipe."""

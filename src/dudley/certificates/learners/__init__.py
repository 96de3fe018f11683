"""Learners: deterministic trainings of any model, and the predictors they give."""

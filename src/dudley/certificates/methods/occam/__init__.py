"""Occam: a bound for models that a short code word describes."""

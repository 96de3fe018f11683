"""A stream of outcomes after release: what is known of the error at every moment, and an alarm."""

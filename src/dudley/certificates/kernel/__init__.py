"""Certificates that a proof kernel accepts: a claim in Coq, its numbers, and `coqc` to check it."""

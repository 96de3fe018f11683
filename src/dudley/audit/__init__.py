"""Attacks on bounds: what is reported as a lower bound is true."""

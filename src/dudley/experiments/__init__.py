"""The papers' experiments, one a file: what is run at each scale, and what follows from it."""

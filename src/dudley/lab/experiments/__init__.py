"""The papers' experiments, one a folder: what is run at each scale, and what follows from it."""

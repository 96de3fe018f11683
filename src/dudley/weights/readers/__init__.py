"""Readers of checkpoints: each refuses what is damaged or hostile before it reads a tensor."""

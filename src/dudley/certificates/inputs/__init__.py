"""Encodings of the inputs of described checkpoints: tokens of a vocabulary, patches of pictures."""

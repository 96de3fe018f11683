"""Sequence length to a thousand tokens and more: accuracy and bound of one head."""

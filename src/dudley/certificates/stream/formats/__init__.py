"""Formats of streams: from lines to losses in [0, 1]."""

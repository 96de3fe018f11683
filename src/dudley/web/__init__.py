"""The explorer: a local page over the library; it computes nothing that the library does not."""

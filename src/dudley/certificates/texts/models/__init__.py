"""Models of texts, one a file."""

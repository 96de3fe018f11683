"""Training for a certificate: fits whose certificate is small."""

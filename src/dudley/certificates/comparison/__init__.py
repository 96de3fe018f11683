"""Certificates side by side, in words: what each costs, why one says nothing, which one wins."""

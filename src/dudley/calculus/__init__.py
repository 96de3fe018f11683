"""The rules, each written once: allocate, compose, chain, deviate, offset, union."""

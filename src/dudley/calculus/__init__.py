"""The rules, each written once: allocate, compose, chain, peel, deviate, offset, union."""

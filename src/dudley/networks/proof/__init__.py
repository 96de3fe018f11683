"""Proofs of bounds, with the numbers of the network they are about.

``prove`` makes them, ``steps`` has what a step is, ``lemmas`` what is cited; ``local`` has the
nodes and the composition, ``covering`` the blocks at each resolution, ``ending`` the way from there
to the bound.
"""

"""Checkpoints as people have them, as models that can be certified.

`unstored` holds what a file of weights cannot say, `plan` finds the role of every tensor, `layers`
writes the network down as a network file does, `assemble` makes a `Hypothesis` of both.
"""

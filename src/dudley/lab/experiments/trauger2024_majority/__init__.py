"""Sparse majority: do norms, gap and accuracy of trained networks depend on the sequence length?"""

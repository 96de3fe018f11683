"""Sparse parity, online: when does the loss drop, in how many seeds, and at which T no more?"""

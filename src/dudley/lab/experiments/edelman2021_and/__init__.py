"""Sparse AND: how many examples does it take, and how does that grow with T?"""

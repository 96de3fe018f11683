"""Triton kernels of optimisers: imported only where Triton is installed."""

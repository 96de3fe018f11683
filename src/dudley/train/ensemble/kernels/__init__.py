"""Triton kernels of ensembles: imported only where Triton is installed."""

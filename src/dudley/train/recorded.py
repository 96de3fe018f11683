"""Record functions of tensors once and replay them: CUDA graphs.

What is recorded reads and writes tensors that stay where they are and asks for no value: then a
replay costs a few microseconds of the processor for hundreds of kernels. Recording costs as much of
the processor as calling the function twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from dudley.core.backend import torch


@torch.no_grad()
def record_graphs(
    functions: Sequence[Callable[[], None]], changed: Sequence[torch.Tensor] = ()
) -> list[Callable[[], None]]:
    """The functions as graphs, to be called in any order, one at a time.

    ``changed`` are the tensors that they write and that matter afterwards; they are as before when
    this returns. All else that a function makes is gone when it ends, so that the graphs use one
    piece of memory in turn.
    """
    before = [tensor.detach().clone() for tensor in changed]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        for function in functions:  # libraries and kernels are loaded, memory is set aside
            function()
    torch.cuda.current_stream().wait_stream(side)
    graphs, memory = [], torch.cuda.graph_pool_handle()
    for function in functions:
        graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graphs[-1], pool=memory), torch.enable_grad():
            function()
    for tensor, old in zip(changed, before, strict=True):
        tensor.copy_(old)
    return [graph.replay for graph in graphs]

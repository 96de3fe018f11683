"""Record a function of tensors once and replay it: a CUDA graph.

What is recorded reads and writes tensors that stay where they are and asks for no value: then a
replay costs a few microseconds of the processor for hundreds of kernels.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

from dudley.core.backend import torch

Result = TypeVar("Result")


@torch.no_grad()
def record_graph(
    function: Callable[[], Result], changed: Sequence[torch.Tensor] = ()
) -> Callable[[], Result]:
    """The function as a graph: each call returns the same tensors with new values.

    ``changed`` are the tensors that it writes; they are as before when this returns.
    """
    before = [tensor.detach().clone() for tensor in changed]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        function()  # libraries and kernels are loaded, memory is set aside
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.enable_grad():
        result = function()
    for tensor, old in zip(changed, before, strict=True):
        tensor.copy_(old)

    def replay() -> Result:
        graph.replay()
        return result

    return replay

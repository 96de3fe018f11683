"""Any torch module as a predictor: evaluation mode, no gradients, batches of a declared size.

The outputs are those of ``module(torch.from_numpy(X[i:j]))`` for consecutive chunks of ``batch``
examples, in float64. The module may return a tensor of shape (n,), (n, 1) or (n, classes), or an
object with such a tensor in ``.logits``. A sum may come out differently for another batch size, in
the last digits: so the size is part of the hash.

What decides the outputs is hashed: every tensor of the state (parameters and buffers, by name),
the batch, and a text of the architecture, `architecture`. The text tells layers and their settings
as far as the modules print them, and the heads, order of norms and activation of attention layers,
which are not printed; the code of ``forward`` is not in it. Who verifies gives the same code, and a
hash cannot show that it is. A module of one's own prints its settings by ``extra_repr``.

A module is refused unless it is in evaluation mode throughout: a batch norm or a dropout in
training mode would make an example's output depend on others, or on chance. So is a batch norm that
has no running statistics, which in evaluation mode takes those of the batch.

>>> from dudley.core.backend import torch
>>> linear = torch.nn.Linear(2, 3, bias=False).eval()
>>> _ = torch.nn.init.ones_(linear.weight)
>>> predictor = ModulePredictor(linear, batch=2)
>>> predictor.outputs(np.ones((3, 2), np.float32))[0]
array([2., 2., 2.])
>>> predictor.facts()["weights"], architecture(linear)
(6, 'Linear(in_features=2, out_features=3, bias=False)')
>>> ModulePredictor(linear.train())
Traceback (most recent call last):
dudley.core.errors.InputError: module: expected one in evaluation mode throughout, got Linear itself
in training mode; call module.eval()
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dudley.certificates.data import sha256_of
from dudley.certificates.learners.arithmetic import full_precision
from dudley.certificates.predictor import Predictor
from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.core.errors import InputError

# Settings that change what layers compute, and that neither torch nor transformers prints.
UNPRINTED = (
    "num_heads", "num_attention_heads", "batch_first", "add_zero_attn", "norm_first", "activation",
)  # fmt: skip


class ModulePredictor(Predictor):
    """Final: a torch module, its batch size and where it runs."""

    def __init__(self, module: torch.nn.Module, batch: int = 256, device: str = "cpu"):
        expect_evaluation(module)
        self.module = module.to(device)
        self.batch, self.device = size_of("batch", batch), device

    def outputs(self, X: np.ndarray) -> np.ndarray:
        """(n, 1) or (n, classes), in float64."""
        expect_evaluation(self.module)
        parts = []
        with torch.no_grad(), full_precision(self.device):
            for first in range(0, len(X), self.batch):
                chunk = np.array(X[first : first + self.batch])  # a copy: torch must not write to X
                made = logits(self.module(torch.from_numpy(chunk).to(self.device)), len(chunk))
                parts.append(made.double().cpu().numpy())
        return np.concatenate(parts) if parts else np.zeros((0, 1))

    @property
    def sha256(self) -> str:
        """Of the state, the batch and the text of the architecture, as they are now."""
        text = f"batch {self.batch}\n{architecture(self.module)}"
        return sha256_of({**state_of(self.module), " ": np.frombuffer(text.encode(), np.uint8)})

    def facts(self) -> dict[str, Any]:
        """The hash, the number of weights, and the batch."""
        count = sum(W.numel() for W in self.module.parameters())
        return {"sha256": self.sha256, "weights": count, "batch": self.batch}


def logits(output: Any, rows: int) -> torch.Tensor:
    """The outputs of a module as (rows, 1) or (rows, classes)."""
    tensor = getattr(output, "logits", output)
    if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
        got = f"{tensor.dtype}" if isinstance(tensor, torch.Tensor) else type(output).__name__
        raise InputError("output of the module", "a tensor of floats, or .logits", got)
    if tensor.shape == (rows,):
        tensor = tensor[:, None]
    if tensor.ndim != 2 or len(tensor) != rows or tensor.shape[1] < 1:
        expected = f"shape ({rows},), ({rows}, 1) or ({rows}, classes)"
        raise InputError("output of the module", expected, f"shape {tuple(tensor.shape)}")
    return tensor


def state_of(module: torch.nn.Module) -> dict[str, np.ndarray]:
    """Parameters and buffers by name, as arrays; bfloat16 as the float32 of the same value."""
    return {name: array_of(W) for name, W in module.state_dict(keep_vars=True).items()}


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's values in numpy."""
    plain = tensor.detach().cpu()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()


def architecture(module: torch.nn.Module) -> str:
    """The layers and their settings, as torch prints them, and those that it leaves out."""
    lines = [repr(module)]
    for path, part in module.named_modules():
        for name in UNPRINTED:
            value = vars(part).get(name)
            if callable(value):
                value = getattr(value, "__name__", type(value).__name__)
            if isinstance(value, bool | int | str):
                lines.append(f"{path}.{name}: {value}")
    return "\n".join(lines)


def expect_evaluation(module: Any) -> None:
    """Refuse what is no module, and one that is in training mode anywhere."""
    if not isinstance(module, torch.nn.Module):
        raise InputError("module", "a torch.nn.Module", type(module).__name__)
    for name, part in module.named_modules():
        if part.training:
            got = f"{type(part).__name__} {name or 'itself'} in training mode"
            expected, fix = "one in evaluation mode throughout", "call module.eval()"
            raise InputError("module", expected, got, fix)
    expect_apart(module)


def expect_apart(module: torch.nn.Module, training: bool = False) -> None:
    """Refuse a batch norm that takes the statistics of the batch, in training mode or always.

    Its outputs for an example depend on the others of the batch.
    """
    for name, part in module.named_modules():
        norm = isinstance(part, torch.nn.modules.batchnorm._BatchNorm)
        if norm and (training or part.running_mean is None):
            got = f"{type(part).__name__} {name or 'itself'} with the statistics of a batch"
            expected = "outputs that depend on their own example alone"
            fix = "use a layer norm, or running statistics in evaluation mode"
            raise InputError("module", expected, got, fix)

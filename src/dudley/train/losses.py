"""Losses of outputs (E, B, C) against labels, one number an example: (E, B).

>>> two = torch.tensor([[[0.0, 2.0]]])
>>> round(float(loss_of("cross-entropy")(two, torch.tensor([[1]]))), 4)   # log(1 + e^−2)
0.1269
>>> round(float(loss_of("binary-cross-entropy")(two, torch.tensor([[1]]))), 4)
0.41
>>> float(loss_of("square")(torch.tensor([[[3.0]]]), torch.tensor([[1.0]])))
2.0
"""

from __future__ import annotations

from collections.abc import Callable

from dudley.core.backend import torch
from dudley.core.registry import Registry

F = torch.nn.functional
LossFunction = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
LOSSES: Registry[LossFunction] = Registry("loss")
loss_of = LOSSES.__getitem__


@LOSSES.register("cross-entropy")
def cross_entropy(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """−log softmax(outputs)[label]; of labels (E, B, T) of tokens the sum, none for one below 0."""
    taken = -torch.log_softmax(outputs, -1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    losses = torch.where(labels >= 0, taken, torch.zeros_like(taken))
    return losses if labels.ndim == 2 else losses.sum(-1)


@LOSSES.register("binary-cross-entropy")
def binary_cross_entropy(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Each class's logit against its own indicator, averaged over classes (trauger2024's)."""
    indicator = F.one_hot(labels, outputs.shape[-1]).to(outputs.dtype)
    return F.binary_cross_entropy_with_logits(outputs, indicator, reduction="none").mean(-1)


@LOSSES.register("logistic")
def logistic(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """log(1 + e^{−f}) for label 1 and log(1 + e^f) for label 0, of one output f."""
    f = outputs[..., 0]
    return F.softplus(torch.where(labels > 0, -f, f))


@LOSSES.register("square")
def square(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """½ (f − y)² of one output f."""
    return (outputs[..., 0] - labels.to(outputs.dtype)).square() / 2


BOUNDARIES = {"square": 0.5}  # between 0 and 1, the labels that one output is drawn to; else 0


def correct(outputs: torch.Tensor, labels: torch.Tensor, boundary: float = 0.0) -> torch.Tensor:
    """Is the label predicted, by the largest logit or the side of one output? A tie is an error."""
    if outputs.shape[-1] == 1:
        f = outputs[..., 0]
        return torch.where(labels > 0, f > boundary, f < boundary)
    if outputs.shape[-1] == 2:
        first, second = outputs.unbind(-1)
        return torch.where(labels == 1, second > first, first > second)
    label_output = outputs.gather(-1, labels.clamp(min=0)[..., None])
    return (outputs >= label_output).sum(-1) == 1

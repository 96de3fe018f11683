"""The training tail of AND classifiers, case by case: what it is given and must answer.

Answers are logits and then gradients: of [CLS] rows, heads and all weights in `TAIL`'s order. The
kernels' are part of `attention_cases.of_kernels`.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from dudley.core.philox import keys_tensor
from dudley.train.ensemble import and_classifier
from dudley.train.ensemble.and_classifier import TAIL, AndEnsemble
from dudley.train.ensemble.base import Noise
from dudley.train.ensemble.bit_attention import choose, masks
from dudley.train.ensemble.rows import Padded
from dudley.train.packed import pack

NAMES = ("logits", "cls", "heads", *TAIL)
T, M, STEP = 9, 40, 7  # the position of factors, rows of the longest member, a step


@dataclass(frozen=True)
class TailCase:
    """Sizes, who has how many rows (None: all), dropout, size of gradients, rows of a program for
    weights, and how products are computed."""

    D: int = 16
    H: int = 2
    C: int = 3
    counts: tuple[int, ...] | None = (34, 0)
    p: float = 0.2
    pull: float = 1.0
    split: int = 1024
    precisions: tuple[str, ...] = ("ieee", "fp16")

    @property
    def noise(self) -> Noise:
        return Noise(keys_tensor([3, 2**63 + 1]), torch.tensor(STEP))

    def inputs(self) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Leaves in float64, weights as parts of one row of a member, and the logits' gradients,
        whose sizes differ by orders of magnitude from row to row."""
        source, D, F, C = torch.Generator().manual_seed(0), self.D, 4 * self.D, self.C
        shapes = (D, D), (1, D), (D, 1), (1, D), (D, F), (1, F), (F, D), (1, D), (D, 1), (1, D)
        shapes = *shapes, (D, C)

        def drawn(*shape):
            return torch.randn(shape, generator=source, dtype=torch.float64) / 2

        row = drawn(2, sum(a * b for a, b in shapes) + 16)
        starts = itertools.accumulate((a * b for a, b in shapes), initial=16)
        weights = [
            row[:, at : at + a * b].unflatten(1, (a, b))
            for at, (a, b) in zip(starts, shapes, strict=False)
        ]
        pulls = self.pull * drawn(2, M, C) * torch.exp(4 * drawn(2, M, 1)) * self.used()
        return [drawn(2, M, D), drawn(2, M, D), *weights], pulls

    def used(self) -> torch.Tensor:
        counts = torch.tensor(self.counts or (M,) * 2)
        return (torch.arange(M) < counts[:, None])[..., None]


CASES = {
    "dropout": TailCase(),
    "no dropout": TailCase(p=0.0, counts=None, precisions=("ieee",)),
    "small gradient": TailCase(pull=1e-8, precisions=("fp16",)),
    "rows in splits": TailCase(D=32, H=4, C=2, split=32, precisions=("fp16",)),
}


def by_formula(case: TailCase) -> list[torch.Tensor]:
    """What `classify` answers in float64; zero in rows that are no examples."""
    leaves, pulls = case.inputs()
    for leaf in leaves:
        leaf.requires_grad_()
    factors = [1.0, 1.0]
    if case.p:
        sizes = case.D, case.H, case.p
        factors = [
            masks.row_factors(case.noise.keys, STEP, M, T + which, *sizes) for which in (1, 2)
        ]
    logits = and_classifier.classify(*leaves[:2], *factors, *leaves[2:]) * case.used()
    return [logits.detach(), *torch.autograd.grad(logits, leaves, pulls)]


def by_kernels(case: TailCase, device="cpu", members=slice(None)) -> list[torch.Tensor]:
    """What the kernels answer in float32, for some members."""
    kernels = and_classifier.fused_training_tail
    assert kernels is not None
    leaves, pulls = case.inputs()
    leaves = [leaf.float().to(device)[members].detach().requires_grad_() for leaf in leaves]
    counts = case.counts and torch.tensor(case.counts, dtype=torch.int32, device=device)[members]
    noise = Noise(case.noise.keys[members].to(device), case.noise.step.to(device))
    split, kernels.SPLIT = kernels.SPLIT, case.split
    logits = kernels.tail(*leaves[:2], counts, noise, T, case.H, case.p, leaves[2:])
    answers = torch.autograd.grad(logits, leaves, pulls[members].float().to(device))
    kernels.SPLIT = split
    return [one.detach().double().cpu() for one in (logits, *answers)]


def trained(dtype=torch.float64, device="cpu") -> list[torch.Tensor]:
    """Logits of whole networks in training, of rows in use, and the weights' gradients."""
    source, keys = torch.Generator().manual_seed(3), keys_tensor([3, 4])
    networks = AndEnsemble(T=T, d=16, H=4, classes=3)
    leaves = {
        name: W.double() + 0.3 * torch.randn(W.shape, generator=source, dtype=torch.float64)
        for name, W in networks.start(keys).items()
    }
    leaves = {name: W.to(device, dtype).requires_grad_() for name, W in leaves.items()}
    words = pack(torch.randint(0, 2, (2, M, T), generator=source)).to(device)
    rows = Padded(words, torch.tensor([M, 5], dtype=torch.int32, device=device))
    noise = Noise(keys.to(device), torch.tensor(STEP, device=device))
    logits = networks.forward(leaves, rows, noise)
    logits = logits * (torch.arange(M, device=device) < rows.counts[:, None])[..., None]
    moved = [W for name, W in leaves.items() if not name.endswith("b_K")]  # softmax sees no b_K
    pulls = torch.autograd.grad(logits.sin().sum(), moved)
    return [one.detach().double().cpu() for one in (logits, *pulls)]


@contextmanager
def taking_kernels():
    """Training takes the kernels for its tail, also where these are only interpreted, and torch's
    operations for attention: numba would compile for seconds."""
    before = and_classifier.training_tail_fits, choose.compiled_for_processor
    and_classifier.training_tail_fits = lambda *_: True
    choose.compiled_for_processor = lambda: None
    yield
    and_classifier.training_tail_fits, choose.compiled_for_processor = before


def of_kernels(settings, device) -> dict:
    """(case, precision) ↦ answers; the first case again, and for one member; whole networks."""
    answers = {}
    for name, case in CASES.items():
        for settings.precision in case.precisions:
            answers[f"training tail, {name}", settings.precision] = by_kernels(case, device)
    again = CASES["dropout"]
    answers["training tail, again"] = by_kernels(again, device)
    answers["training tail, alone"] = by_kernels(again, device, slice(0, 1))
    settings.precision = "ieee"
    with taking_kernels():
        answers["training"] = trained(torch.float32, device)
    return answers

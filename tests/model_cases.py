"""Every model in small sizes, with weights moved off their first values, and inputs for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

import dudley as du
from dudley.models import (
    AndClassifier,
    Block,
    ConcatenatedHeads,
    GeneralAttention,
    HeadMLP,
    Layers,
    MajorityClassifier,
    Model,
    MultiHead,
    ShallowEncoder,
    SingleHead,
)

torch.set_num_threads(1)


@dataclass(frozen=True)
class Case:
    """How to make a model of width d, and what it is run on: T rows of norm at most R."""

    make: Callable[..., Model]
    T: int = 4
    R: float = 1.0
    rows: bool = False  # rows to rows: no loss fits

    def model(self, seed: int = 0, moved: float = 0.3) -> Model:
        """In double precision, evaluation mode, every weight (biases too) moved at random."""
        model, source = self.make(seed=seed).double().eval(), torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for _, W in model.named_weights():
                W += moved * torch.randn(W.shape, generator=source, dtype=W.dtype)
        return model

    def tokens(self, model: Model) -> du.Tokens:
        if isinstance(model, AndClassifier | MajorityClassifier):
            return model.inputs
        return du.Tokens(row2inf=self.R, T=self.T, d=model.width)

    def inputs(self, model: Model, n: int = 3, seed: int = 0) -> torch.Tensor:
        """(n, T, d) rows that the tokens allow."""
        source = torch.Generator().manual_seed(seed)
        if isinstance(model, AndClassifier | MajorityClassifier):
            return model.tokens(torch.randint(0, 2, (n, self.T), generator=source))
        X = torch.randn(n, self.T, model.width, generator=source, dtype=torch.float64)
        return X * (self.R / X.norm(dim=-1, keepdim=True))


CASES: dict[str, Case] = {
    "single head": Case(lambda **s: SingleHead(4, 3, **s)),
    "single head apart": Case(lambda **s: SingleHead(4, 3, "gelu", apart=True, scale=0.5, **s)),
    "single head sparsemax": Case(lambda **s: SingleHead(4, attention="sparsemax", **s)),
    "multi-head": Case(lambda **s: MultiHead(4, 3, H=3, **s)),
    "concatenated heads": Case(lambda **s: ConcatenatedHeads(4, 2, **s)),
    "concatenated heads plain": Case(lambda **s: ConcatenatedHeads(4, 2, 3, biases=False, **s)),
    "trauger block": Case(lambda **s: Block(4, 3, **s), rows=True),
    "li block": Case(lambda **s: Block(4, 3, "li", **s), rows=True),
    "trauger layers": Case(lambda **s: Layers(4, 2, 3, "edelman", **s)),
    "li layers": Case(lambda **s: Layers(4, 2, 3, "li", **s)),
    "general attention": Case(lambda **s: GeneralAttention(4, 3, "tanh", **s)),
    "general sparsemax": Case(
        lambda **s: GeneralAttention(4, 3, "identity", "sparsemax", "gelu", "tanh", 0.5, **s)
    ),
    "head and MLP": Case(lambda **s: HeadMLP(4, (5, 3), 3, H=2, **s)),
    "shallow encoder": Case(lambda **s: ShallowEncoder(4, 6, **s)),
    "and classifier": Case(lambda **s: AndClassifier(4, 4, 2, **s)),
    "majority classifier": Case(lambda **s: MajorityClassifier(4, 5, 2, 3, 4, **s)),
}

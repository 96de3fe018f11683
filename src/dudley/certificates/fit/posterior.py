"""Training for a PAC-Bayes certificate: a Gaussian posterior that makes the bound small.

The objective is Catoni's, in nats:

    λ·n·E_{W∼Q} ℓ(W) + KL(Q‖P),      ℓ = sigmoid(−margin/τ) ∈ [0, 1] in place of the error,

with fresh weights for every example of a batch, W = w + σz. The prior's scale of each matrix moves
along (the certificate rounds it to a grid and pays for it); w, ln σ and ln s take steps of Adam.

With ``prefix`` = n₀ the prior is itself such a posterior, fitted by a plan of its own to the n₀
examples that the declared seed ``split`` draws, and is held fixed while Q is fitted to the others:
the examples that the bound counts never touch the prior.

For one head with a fixed query on bits an example reads one score and K values a place, so only
those are drawn: the same distribution for T + 1 draws a column, and no one-hot rows are made. For
such a head on a single row x it is x·W_v that is drawn: a Gaussian with mean x·w and variance x²·σ²
in every column, all of them independent.

Margins of several outputs are the logit of the label less the largest other one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dudley.certificates.data import Dataset
from dudley.certificates.fit.forward import blank
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.methods.pac_bayes.prior import Learned, Zero, split as parts
from dudley.certificates.order import declared_seed
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.networks.activations import activation
from dudley.networks.head import Head

MOST_DRAWN = 1 << 27  # numbers: half a gigabyte, and as much for each gradient
Arrays = dict[str, np.ndarray]
Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class PosteriorTraining:
    """How long and how hard: λ weighs errors against nats, τ is the width of the sigmoid.

    The first ``warm`` of the steps use the logistic loss, and the divergence enters slowly. The
    means start as normals of size ``start``, the standard deviations at ``sigma``.
    """

    steps: int = 3000
    batch: int = 2048
    rate: float = 0.03
    λ: float = 2.0
    τ: float = 0.3
    warm: float = 0.25
    start: float = 0.1
    sigma: float = 0.05
    seed: int = 0

    def __post_init__(self):
        for name in ("steps", "batch", "rate", "λ", "τ", "start", "sigma"):
            if not getattr(self, name) > 0:
                raise InputError(name, "a number > 0", getattr(self, name))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def fit(
    tables: dict[str, Any],
    encoding: dict[str, Any],
    data: Dataset,
    prefix: int = 0,
    plan: PosteriorTraining | None = None,
    prior_plan: PosteriorTraining | None = None,
    split: int | None = None,
    look: Callable[[], None] = lambda: None,
) -> Posterior:
    """A posterior for a network; ``prefix`` > 0 learns the prior on so many examples.

    They are those that the seed ``split`` draws; without one, a seed is drawn.
    ``look`` is called at every step, and may raise.
    """
    plan, split = plan or PosteriorTraining(), declared_seed(split)
    empty = blank(tables, encoding)
    if not 0 <= prefix < data.n:
        raise InputError("prefix", f"fewer than the {data.n} examples", prefix)
    if (outputs := empty.outputs(data.X[:1]).shape[1]) < (data.classes if data.classes > 2 else 1):
        expected = f"a network with an output for each of {data.classes} classes"
        raise InputError("fit of a posterior", expected, f"{outputs} outputs")
    _expect_small(_Examples(empty, data), plan)
    rng = np.random.default_rng(plan.seed)
    first = {n: plan.start * rng.standard_normal(shape) for n, shape in empty.shapes.items()}
    σ = {n: np.full(shape, plan.sigma) for n, shape in empty.shapes.items()}
    zero = {n: np.zeros(shape) for n, shape in empty.shapes.items()}
    if not prefix:
        w, σ = _fit(_Examples(empty, data), first, σ, (zero, None), plan, look)
        return Posterior(Hypothesis(tables, encoding, w), σ, Zero())
    head, rest = parts(data, prefix, split)
    w0, S = _fit(_Examples(empty, head), first, σ, (zero, None), prior_plan or plan, look)
    w, σ = _fit(_Examples(empty, rest), w0, S, (w0, S), plan, look)
    return Posterior(Hypothesis(tables, encoding, w), σ, Learned(prefix, split, head.sha256, w0, S))


@dataclass(frozen=True, eq=False)
class _Examples:
    """A network, whose weights are not read, and data, as batches of them are drawn."""

    model: Hypothesis
    data: Dataset

    @cached_property
    def head(self) -> Head | None:
        """The head, where the network is one with a fixed query, on bits or on a single row."""
        node, table = self.model.network.nodes[0], self.model.encoding_table
        short = table.get("name") == "bits" or self.single
        if not short or len(self.model.network.nodes) > 1:
            return None
        if not isinstance(node, Head) or node.query != "fixed" or node.W_c is not None:
            return None
        return node if (node.attention, node.scale) == ("softmax", 1.0) else None

    @cached_property
    def single(self) -> bool:
        """Is an example one row of given numbers?"""
        table = self.model.encoding_table
        return table.get("name") == "rows" and self.model.encoding.inputs.T == 1

    @cached_property
    def label(self) -> torch.Tensor:
        return torch.from_numpy(self.data.y.astype(np.int64))

    def margins(self, rows: torch.Tensor, w: Tensors, log_σ: Tensors, generator) -> torch.Tensor:
        """The margin of each example under weights of its own, (rows,)."""
        f, label = self.outputs(rows, w, log_σ, generator), self.label[rows]
        if f.shape[1] == 1:
            return f[:, 0] * (2.0 * label - 1)
        right = f.gather(1, label[:, None])[:, 0]
        return right - f.scatter(1, label[:, None], -torch.inf).amax(1)

    @cached_property
    def X(self) -> torch.Tensor:
        """Bits (n, T) for a head on bits, clipped rows (n, d) if they are single, or as given."""
        if self.head is not None and self.single:
            return torch.from_numpy(self.model.encoding.rows(self.data.X)[:, 0]).float()
        return torch.tensor(self.data.X)

    def outputs(self, rows: torch.Tensor, w: Tensors, log_σ: Tensors, generator) -> torch.Tensor:
        """The outputs of each example under weights of its own, (rows, outputs)."""
        if self.head is not None and self.single:
            X, σ = self.X[rows], log_σ["0.W_v"].exp()
            spread = (X.square() @ σ.square()).clamp_min(1e-12).sqrt()
            f = X @ w["0.W_v"] + spread * torch.randn(spread.shape, generator=generator)
            return activation(self.head.sigma).apply(f)
        if self.head is not None:
            return self._closed(self.head, self.X[rows].float(), w, log_σ, generator)
        drawn = {
            n: W + log_σ[n].exp() * torch.randn(len(rows), *W.shape, generator=generator)
            for n, W in w.items()
        }
        tokens = torch.from_numpy(self.model.encoding.rows(self.X[rows].numpy())).float()
        return self.model.network.apply(self.model.params(drawn), tokens)[..., -1, :]

    def _closed(self, head: Head, X: torch.Tensor, w: Tensors, log_σ: Tensors, generator):
        """What each place reads is drawn alone."""
        B, T = X.shape

        def read(name: str, column: int = 0) -> torch.Tensor:  # (B, T + 1)
            parts = []
            for W in (w[name][:, column], log_σ[name][:, column].exp()):
                of_bits = W[:T] + X * (W[T : 2 * T] - W[:T])
                parts.append(torch.cat([of_bits, W[2 * T :].expand(B, 1)], 1))
            return parts[0] + parts[1] * torch.randn(B, T + 1, generator=generator)

        weights = torch.softmax(read("0.v"), 1)
        f = [(weights * read("0.W_v", k)).sum(1) for k in range(head.inner)]
        return activation(head.sigma).apply(torch.stack(f, 1))


def _expect_small(examples: _Examples, plan: PosteriorTraining) -> None:
    """Refuse batches whose drawn weights would fill the memory."""
    count = sum(map(math.prod, examples.model.shapes.values()))
    if examples.head is None and plan.batch * count > MOST_DRAWN:
        expected = f"at most {MOST_DRAWN:,} weights drawn for a batch"
        got, fix = f"{plan.batch:,} examples of {count:,}", "a smaller batch, or network"
        raise InputError("fit of a posterior", expected, got, fix)


def _fit(
    examples: _Examples,
    w0: Arrays,
    σ0: Arrays,
    prior: tuple[Arrays, Arrays | None],
    plan: PosteriorTraining,
    look: Callable[[], None],
) -> tuple[Arrays, Arrays]:
    """Means and standard deviations after a plan's steps; scales of ``None`` move along."""
    generator = torch.Generator().manual_seed(plan.seed)
    moves = prior[1] is None
    w, log_σ = {n: _leaf(W) for n, W in w0.items()}, {n: _leaf(np.log(σ)) for n, σ in σ0.items()}
    log_s = (
        {n: torch.zeros((), requires_grad=True) for n in w}
        if prior[1] is None
        else {n: _plain(np.log(S)) for n, S in prior[1].items()}
    )
    center = {n: _plain(W) for n, W in prior[0].items()}
    optimiser = torch.optim.Adam(
        [*w.values(), *log_σ.values(), *(log_s.values() if moves else ())], lr=plan.rate
    )
    warm, total = int(plan.warm * plan.steps) if moves else 0, examples.data.n
    for step in range(plan.steps):
        look()
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * _pace(step / plan.steps)
        rows = torch.randint(total, (plan.batch,), generator=generator)
        margin = examples.margins(rows, w, log_σ, generator)
        nats = sum(_kl(w[n], log_σ[n], center[n], log_s[n]) for n in w) / total
        if step < warm:
            loss = torch.nn.functional.softplus(-margin / plan.τ).mean() + step / warm * nats
        else:
            loss = plan.λ * torch.sigmoid(-margin / plan.τ).mean() + nats
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return {n: _array(W) for n, W in w.items()}, {n: np.exp(_array(σ)) for n, σ in log_σ.items()}


def _kl(w, log_σ, center, log_s):
    moved = (2 * (log_σ - log_s)).exp() + (w - center) ** 2 * (-2 * log_s).exp()
    return (0.5 * (moved - 1) + log_s - log_σ).sum()


def _pace(done: float) -> float:
    """Full speed, then down to nothing over the last two fifths (a cosine)."""
    return 1.0 if done < 0.6 else 0.5 * (1 + math.cos(math.pi * (done - 0.6) / 0.4))


def _plain(W: np.ndarray) -> torch.Tensor:
    return torch.tensor(W).float()


def _leaf(W: np.ndarray) -> torch.Tensor:
    return _plain(W).requires_grad_()


def _array(W: torch.Tensor) -> np.ndarray:
    return W.detach().double().numpy()

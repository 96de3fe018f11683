"""Training one-layer heads with a fixed query for a small norm-cover certificate.

The head is f(x) = Σ_t a_t u·x_t, a = softmax_t(v·x_t): scores v ∈ R^d and values u ∈ R^d, both
trained, nothing else. Its cover at margin γ costs, with s nonzeros of size ≤ B in p entries,
log C(p, s) + s log⌈B/ε⌉ for each of v and u (or the ℓ1 count), with ε of the order of γ/4 in units
of ‖u‖_∞: so what pays is ‖u‖_∞ = 1 (a point of the grid), few nonzeros, a large margin.

Three phases, all of Adam with projection onto ‖u‖_∞ ≤ 1, ‖v‖_∞ ≤ ``v_max``:
*find*: a smooth hinge at ``target`` and an ℓ1 penalty;
*prune*: entries below ``keep`` of the largest one become zero for good;
*polish*: the smallest margins are raised (a soft minimum over the batch, ever harder), without
penalty, and ‖u‖_∞, ‖v‖_∞ end on their bounds or below.

Nothing here needs to be paid for but what is read off the result: the bound holds for every head in
the sets, however it was found.

For bits the token row at place t is one of two basis vectors, so v·x_t and u·x_t are looked up; for
blocks of a picture it is a multiple of one, m_t e_t: no row is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dudley.certificates.data import Dataset
from dudley.certificates.encodings import Bits, Blocks, encoding_of
from dudley.certificates.hypothesis import Hypothesis
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.watch import Watch


@dataclass(frozen=True)
class HeadFit:
    """The settings of one training; all are recorded beside the result."""

    v_max: float = 8.0
    target: float = 0.5
    penalty: float = 2e-3
    keep: float = 0.2
    steps: int = 600
    polish: int = 400
    batch: int = 1024
    rate: float = 0.05
    seed: int = 0
    softness: tuple[float, float] = field(default=(0.1, 0.01))

    def __post_init__(self):
        for name in ("v_max", "target", "rate", "batch", "steps"):
            if not getattr(self, name) > 0:
                raise InputError(name, "a number > 0", getattr(self, name))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def tables(encoding: dict[str, Any]) -> dict[str, Any]:
    """The network file of the head, its weights free.

    >>> tables({"name": "bits", "T": 2})["layer"][0]["query"]
    'fixed'
    """
    inputs = encoding_of(encoding).inputs
    head = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1}
    return {
        "schema": "dudley.net/1",
        "input": {"T": inputs.T, "d": inputs.d, "X": {"row2inf": float(inputs.row2inf)}},
        "layer": [head | {"sigma": "identity"}],
    }


def fit_head(data: Dataset, encoding: dict[str, Any], config: HeadFit | None = None) -> Hypothesis:
    """A head trained on the data, as a hypothesis.

    >>> X = np.random.default_rng(0).integers(0, 2, (256, 4)).astype(np.uint8)
    >>> small = HeadFit(steps=120, polish=60, batch=256, v_max=4.0)
    >>> model = fit_head(Dataset(X, X[:, 1].astype(np.int64)), {"name": "bits", "T": 4}, small)
    >>> bool((model.margins(Dataset(X, X[:, 1].astype(np.int64))) > 0).all())
    True
    """
    config = HeadFit() if config is None else config
    if data.classes > 2:
        raise InputError("labels of a head with one output", "0 and 1", f"{data.classes} classes")
    training = _Training(data, encoding, config)
    training.find()
    training.prune()
    training.polish()
    v, u = (W.detach().numpy().astype(np.float64)[:, None] for W in training.weights)
    return Hypothesis(tables(encoding), encoding, {"0.v": v, "0.W_v": u})


def fit_best(
    data: Dataset,
    encoding: dict[str, Any],
    configs: Sequence[HeadFit],
    watch: Watch | None = None,
    **declared: Any,
) -> tuple[Hypothesis, HeadFit]:
    """The head with the smallest norm-cover certificate among some trainings, and its settings.

    Choosing among them costs nothing: the bound holds for all heads of the sets at once. The watch
    may leave out any but the first.
    """
    from dudley.certificates.methods.norm_cover.method import NormCover

    watch, trained = watch or Watch(), []
    for i, config in enumerate(configs):
        step = f"training {i + 1} of {len(configs)}"
        model = watch.do(step, partial(fit_head, data, encoding, config), needed=not trained)
        trained += [] if model is None else [(model, config)]
    if len(trained) == 1:
        return trained[0]
    return min(trained, key=lambda pair: NormCover()(pair[0], data, **declared).value)


class _Training:
    def __init__(self, data: Dataset, encoding: dict[str, Any], config: HeadFit):
        self.config, self.encoding = config, encoding_of(encoding)
        self.source = torch.Generator().manual_seed(config.seed)
        self.X = data.X
        self.signs = torch.from_numpy(np.where(data.y == 1, 1.0, -1.0).astype(np.float32))
        self.bits = torch.from_numpy(data.X.astype(bool)) if self._is_bits else None
        self.means = None
        if isinstance(self.encoding, Blocks):
            self.means = torch.from_numpy(self.encoding.means(data.X)).float()
        d = self.encoding.inputs.d
        assert d is not None
        start = 0.1 * torch.randn(2, d, generator=self.source)
        self.weights = [start[0].requires_grad_(), start[1].requires_grad_()]
        self.masks = [torch.ones(d, dtype=torch.bool)] * 2

    @property
    def _is_bits(self) -> bool:
        return isinstance(self.encoding, Bits)

    def margins(self, rows: torch.Tensor) -> torch.Tensor:
        """y·f on some examples."""
        v, u = self.weights
        if self.bits is not None:
            T, bits = self.bits.shape[1], self.bits[rows]
            scores = torch.where(bits, v[T : 2 * T], v[:T])
            values = torch.where(bits, u[T : 2 * T], u[:T])
            ones = torch.ones(len(rows), 1, dtype=v.dtype)
            scores = torch.cat([scores, v[2 * T] * ones], dim=1)  # and [CLS]
            values = torch.cat([values, u[2 * T] * ones], dim=1)
        elif self.means is not None:
            scores, values = self.means[rows] * v, self.means[rows] * u
        else:
            X = torch.from_numpy(self.encoding.rows(self.X[rows.numpy()])).float()
            scores, values = X @ v, X @ u
        return self.signs[rows] * (torch.softmax(scores, dim=1) * values).sum(1)

    def find(self) -> None:
        """Hinge at the target, and the ℓ1 norms."""
        c = self.config
        optimiser = torch.optim.Adam(self.weights, lr=c.rate, betas=(0.9, 0.99))

        def loss(m: torch.Tensor) -> torch.Tensor:
            size = self.weights[0].abs().sum() / c.v_max + self.weights[1].abs().sum()
            return (c.target - m).clamp(min=0).square().mean() + c.penalty * size

        for step in range(c.steps):
            self._step(optimiser, c.rate * min(1.0, 2 * (1 - step / c.steps)), loss)

    def prune(self) -> None:
        """Small entries become zero for good."""
        with torch.no_grad():
            self.masks = [W.abs() >= self.config.keep * W.abs().max() for W in self.weights]
            for W, mask in zip(self.weights, self.masks, strict=True):
                W.mul_(mask)

    def polish(self) -> None:
        """Raise the smallest margins."""
        c = self.config
        optimiser = torch.optim.Adam(self.weights, lr=c.rate, betas=(0.9, 0.99))
        first, last = c.softness
        for step in range(c.polish):
            done = step / c.polish
            τ = first * (last / first) ** done
            self._step(
                optimiser, c.rate * (1 - done), lambda m, τ=τ: τ * torch.logsumexp(-m / τ, 0)
            )

    def _step(self, optimiser, rate: float, loss) -> None:
        rows = torch.randint(
            len(self.signs), (min(self.config.batch, len(self.signs)),), generator=self.source
        )
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        loss(self.margins(rows)).backward()
        optimiser.step()
        with torch.no_grad():
            for W, mask, most in zip(
                self.weights, self.masks, (self.config.v_max, 1.0), strict=True
            ):
                W.mul_(mask).clamp_(-most, most)

"""Training one-layer heads with a fixed query for a small norm-cover certificate.

The head is f(x) = Σ_t a_t u·x_t, a = softmax_t(v·x_t): scores v ∈ R^d and values u ∈ R^d, both
trained, nothing else. For K > 2 classes u is a matrix in R^{d×K}: one attention, K logits, and the
margin is the logit of the label less the largest other one. Where there is a single row a = 1
whatever v is, so v = 0 and the head is linear.

The cover at margin γ costs, with s nonzeros of size ≤ B in p entries, log C(p, s) + s log⌈B/ε⌉ for
each of v and u (or the ℓ1 count), with ε of the order of γ/4 in units of ‖u‖_∞: so what pays is
‖u‖_∞ = 1 (a point of the grid), few nonzeros, a large margin.

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

from collections.abc import Callable, Sequence
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

MOST_CLASSES = 1000


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


def tables(encoding: dict[str, Any], classes: int = 2) -> dict[str, Any]:
    """The network file of the head, its weights free: one output for two classes, else one each.

    >>> [tables({"name": "bits", "T": 2}, K)["layer"][0]["k"] for K in (2, 3)]
    [1, 3]
    """
    inputs, outputs = encoding_of(encoding).inputs, classes if classes > 2 else 1
    head = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": outputs}
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
    training = _Training(data, encoding, config)
    training.find()
    training.prune()
    training.polish()
    v, u = (W.detach().numpy().astype(np.float64) for W in training.weights)
    network = tables(encoding, data.classes)
    return Hypothesis(network, encoding, {"0.v": v[:, None], "0.W_v": u})


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


def expect_classes(data: Dataset) -> int:
    """The number of classes; more than a head can have outputs for are refused."""
    if data.classes > MOST_CLASSES:
        fix = "number the classes 0, 1, …"
        raise InputError("classes", f"at most {MOST_CLASSES}", f"a label {data.classes - 1}", fix)
    return data.classes


class _Training:
    def __init__(self, data: Dataset, encoding: dict[str, Any], config: HeadFit):
        self.config, self.encoding = config, encoding_of(encoding)
        self.source = torch.Generator().manual_seed(config.seed)
        self.X = data.X
        self.classes = expect_classes(data)
        self.signs = torch.from_numpy(np.where(data.y == 1, 1.0, -1.0).astype(np.float32))
        self.labels = torch.from_numpy(data.y.astype(np.int64))
        self.bits = torch.from_numpy(data.X.astype(bool)) if self._is_bits else None
        self.means = None
        if isinstance(self.encoding, Blocks):
            self.means = torch.from_numpy(self.encoding.means(data.X)).float()
        d, outputs = self.encoding.inputs.d, self.classes if self.classes > 2 else 1
        assert d is not None
        start = 0.1 * torch.randn(1 + outputs, d, generator=self.source)
        values = start[1:].T.contiguous()
        self.masks = [torch.ones(d, dtype=torch.bool), torch.ones(d, outputs, dtype=torch.bool)]
        if self.encoding.inputs.T == 1:
            start[0], self.masks[0] = 0.0, torch.zeros(d, dtype=torch.bool)
        self.weights = [start[0].clone().requires_grad_(), values.requires_grad_()]

    @property
    def _is_bits(self) -> bool:
        return isinstance(self.encoding, Bits)

    def margins(self, rows: torch.Tensor) -> torch.Tensor:
        """y·f on some examples, or the logit of the label less the largest other one."""
        v, u = self.weights
        read = self._reader(rows)
        weights = torch.softmax(read(v), dim=1)
        f = torch.stack([(weights * read(u[:, k])).sum(1) for k in range(u.shape[1])], dim=1)
        if f.shape[1] == 1:
            return self.signs[rows] * f[:, 0]
        label = self.labels[rows][:, None]
        return f.gather(1, label)[:, 0] - f.scatter(1, label, -torch.inf).amax(1)

    def _reader(self, rows: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        """The products of a vector of R^d with all rows of some examples, (examples, places)."""
        if self.bits is not None:
            T, bits = self.bits.shape[1], self.bits[rows]

            def of_bits(w: torch.Tensor) -> torch.Tensor:
                last = w[2 * T] * torch.ones(len(rows), 1, dtype=w.dtype)  # [CLS]
                return torch.cat([torch.where(bits, w[T : 2 * T], w[:T]), last], dim=1)

            return of_bits
        if self.means is not None:
            means = self.means[rows]
            return lambda w: means * w
        X = torch.from_numpy(self.encoding.rows(self.X[rows.numpy()])).float()
        return lambda w: X @ w

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

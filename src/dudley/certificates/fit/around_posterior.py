"""Training for a posterior around a start: as far from it as pays, with as much noise as it bears.

With σ = s·S in every tensor put θ = θ₀ + s·S·u. Then KL(Q‖P) = ½‖u‖², and a draw is θ₀ + s·S·(u +
z): all scales are gone. For each s of a few, u takes steps of momentum along the gradient of

    λ·(cross-entropy under a draw) + ½‖u‖²/n,

every step of the same length in the units of the prior, falling to nothing: length is what the
bound counts. A model that was fine-tuned by other means is taken as it is (``fine_tuned``). Both
are tried at a few fractions of the way, u·t, since the shorter way costs t². What is given is the
mean, and the s, whose bound is the least by a few draws.

*Tolerances*: the relative scales S may be measured on the share. Tensor by tensor, S_t is the
largest c·2^j at which noise in that tensor alone leaves ``spoiled`` more of the share's examples
failing than without noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dudley.certificates.around.draws import drawn
from dudley.certificates.around.flat import FlatAround
from dudley.certificates.around.posterior import AroundPosterior, relative_scales
from dudley.certificates.around.start import ModuleStart
from dudley.certificates.data import Dataset
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.certificates.methods.pac_bayes.scales import GRID
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.watch import Watch


@dataclass(frozen=True)
class AroundPosteriorTraining:
    """How the mean is trained, and which scales are tried.

    ``exponents`` are those of the declared scale's grid; ``length`` is that of a step in units of
    the prior; ``ways`` the fractions of the way. Each candidate is judged by ``draws`` draws on
    ``counted`` examples. With ``steps = 0`` nothing is trained.
    """

    part: str = "*"
    exponents: tuple[int, ...] = (-4, -2, 0, 2, 4, 6, 8, 10)
    steps: int = 200
    batch: int = 64
    length: float = 0.1
    λ: float = 1.0
    momentum: float = 0.9
    ways: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    draws: int = 8
    counted: int = 1000
    spoiled: float = 0.002
    seed: int = 0

    def __post_init__(self):
        for name in ("batch", "length", "λ", "draws", "counted"):
            if not getattr(self, name) > 0:
                raise InputError(name, "a number > 0", getattr(self, name))
        if self.steps < 0 or not self.exponents or not self.ways:
            raise InputError("training", "steps ≥ 0, exponents and ways", self)
        if not 0 <= self.momentum < 1:
            raise InputError("momentum", "a number in [0, 1)", self.momentum)


def fit_around(
    start: ModuleStart,
    data: tuple[np.ndarray, np.ndarray],
    counted: Dataset,
    plan: AroundPosteriorTraining,
    scale: float = 2.0**-5,
    relative: str = "size",
    measured: Mapping[str, float] | None = None,
    fine_tuned: ModulePredictor | None = None,
    tolerance: float = 0.0,
    delta: float = 0.05,
    watch: Watch | None = None,
) -> AroundPosterior:
    """The posterior with the least bound, of those tried; it is trained on all the ``data``."""
    watch = watch or Watch()
    watch.begin("posterior around the start")
    names = start.names(plan.part)
    S = relative_scales(start, plan.part, relative, measured)
    flat = FlatAround(start, names, *data)
    judge = FlatAround(start, names, counted.X, counted.y)
    unit, origin = flat.spread(S), flat.vector(start.arrays(names))
    best: tuple[float, torch.Tensor, float] | None = None
    goal = None
    if fine_tuned is not None:
        goal = flat.vector(start.difference(fine_tuned, plan.part)) - origin
    for j in plan.exponents:
        s = scale * GRID.ratio**j

        def look(s: float = s, j: int = j) -> list[tuple[float, torch.Tensor, float]]:
            ends = [] if goal is None else [goal]
            if plan.steps:
                u = _train(flat, origin, s * unit, plan, watch)
                ends.append(s * unit * u)
            tried = []
            for t in sorted(set(plan.ways)):
                for end in ends if t else [torch.zeros_like(origin)]:
                    share = _failure(judge, origin + t * end, s * unit, plan, tolerance)
                    nats = 0.5 * float(((t * end) / (s * unit)).square().sum()) + GRID.nats(j)
                    value = _about(share, nats, counted.n, delta)
                    watch.say(f"scale {s:.3g}, way {t:g}: {nats:.1f} nats, {share:.4f} fail")
                    tried.append((value, t * end, s))
            return tried

        tried = watch.do(f"scale {s:.3g}", look, needed=best is None) or []
        for candidate in tried:
            if best is None or candidate[0] < best[0]:
                best = candidate
    assert best is not None
    _, move, s = best
    σ = {name: s * S[name] for name in names}
    kind = "share" if measured is not None else relative
    return AroundPosterior(start, plan.part, flat.arrays(origin + move), σ, kind, measured)


def tolerances(
    start: ModuleStart,
    share: Dataset,
    plan: AroundPosteriorTraining,
    tolerance: float = 0.0,
    watch: Watch | None = None,
) -> dict[str, float]:
    """S of each tensor, measured on the share: the noise that it bears alone."""
    watch = watch or Watch()
    watch.begin("tolerance of each tensor, on the share")
    names = start.names(plan.part)
    flat = FlatAround(start, names, share.X, share.y)
    origin, sizes = flat.vector(start.arrays(names)), relative_scales(start, plan.part, "size")
    still = _failure(flat, origin, torch.zeros_like(origin), plan, tolerance)
    measured = {}
    for name in names:
        low, high = -12, 6  # 2^low·c is taken without a look

        def spoils(j: int, name: str = name) -> bool:
            σ = {other: 2.0**j * sizes[other] if other == name else 0.0 for other in names}
            failing = _failure(flat, origin, flat.spread(σ), plan, tolerance)
            return failing > still + plan.spoiled

        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if spoils(middle) else (middle, high)
        measured[name] = 2.0**low * sizes[name]
        watch.say(f"{name}: {measured[name]:.3g}")
    return measured


def _train(
    flat: FlatAround,
    origin: torch.Tensor,
    unit: torch.Tensor,
    plan: AroundPosteriorTraining,
    watch: Watch,
) -> torch.Tensor:
    """u after the plan's steps, in float64."""
    source = torch.Generator().manual_seed(plan.seed)
    noise = torch.Generator(flat.device).manual_seed(plan.seed)
    base, small = origin.float(), unit.float()
    u = torch.zeros_like(base)
    speed = torch.zeros_like(base)
    for step in range(plan.steps):
        watch.look()
        z = torch.randn(len(u), generator=noise, device=flat.device)
        θ = (base + small * (u + z)).requires_grad_()
        loss = plan.λ * flat.loss(θ, flat.draw(plan.batch, source))
        (gradient,) = torch.autograd.grad(loss, θ)
        speed.mul_(plan.momentum).add_(gradient * small + u / flat.n)
        size = float(speed.norm())
        if not math.isfinite(size) or size == 0:
            break
        u -= plan.length * 0.5 * (1 + math.cos(math.pi * step / plan.steps)) / size * speed
    return u.double()


def _failure(
    flat: FlatAround,
    mean: torch.Tensor,
    σ: torch.Tensor,
    plan: AroundPosteriorTraining,
    tolerance: float,
) -> float:
    """The share that fails under a few draws, on the same examples with the same normals always."""
    from dudley.core.philox import key, keys_tensor

    source = torch.Generator().manual_seed(plan.seed + 1)
    rows = torch.randperm(flat.n, generator=source)[: plan.counted].to(flat.device)
    keys = keys_tensor([key("a look at draws", plan.seed)], flat.device)
    failing = [flat.failing(drawn(mean, σ, keys, k), rows, tolerance) for k in range(plan.draws)]
    return sum(failing) / (len(rows) * plan.draws)


def _about(share: float, nats: float, n: int, delta: float) -> float:
    """The kl form in floats: to compare, not to claim."""
    from dudley.certificates.fit.quantised import relaxed_bound

    return relaxed_bound(share, (nats + math.log(2 * math.sqrt(n))) / math.log(2), n, delta)

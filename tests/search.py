"""Search for the worst weights and inputs of a node: the oracle against which its facts stand.

For every restart at once (``torch.func.vmap`` over ``apply``) gradient ascent raises

    ‖f(W, X) − f(Ŵ, X′)‖ / ( Σ_i weight_i·‖W_i − Ŵ_i‖ + L·‖X − X′‖ )        (max-row-ℓ2 norms)

over weights W, Ŵ and inputs X, X′ inside their balls, or ‖f(W, X)‖ over the declared radius. Which
blocks may differ is a *mode*: one block alone, all of them, the inputs alone, or everything. The
starts are random and extreme: rank one, orthogonal, sparse, aligned, tiny and opposite. Gradients
are taken with a spectral norm by power iteration; what is *reported* is measured afterwards with
singular values, on weights that lie in their balls up to rounding.

A check is a function ``check_…`` that raises ``AssertionError``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from dudley.calculus.compose import Chain, Heads, Parallel, Repeat, Residual, tie_together
from dudley.calculus.facts import Signal
from dudley.core.magnitude import Magnitude

torch.set_num_threads(1)
RADII = (0.1, 1.0, 3.0)
TOLERANCE = 1e-6


def signal_of(R, T: int, d: int, l1: float | None = None) -> Signal:
    """Rows like those a network gets from ``Tokens``."""
    return Signal(Magnitude.of(R), float(T), d, l1)


# -- leaves: arrays in the nest of parameters, and the use that bounds each ----------------------


@dataclass(frozen=True)
class Leaf:
    """One array of the nest: where it is, what it is, and the name of its use."""

    path: tuple
    parameter: object
    name: str
    layer: int | None

    def use(self, facts):
        return next((u for u in facts.uses if u.name == self.name), None)

    def weight(self, facts) -> float:
        use = self.use(facts)
        if use is None:
            return math.nan
        log = np.ravel(use.weight.log)
        return float(np.exp(log[self.layer if log.size > 1 else 0]))


def leaves(node, nest, prefix="", path=(), layer=None) -> list[Leaf]:
    """The leaves of a nest of parameters, named as the uses of the node's facts are."""
    if isinstance(node, Chain | Parallel):
        parts = zip(node.nodes, nest, strict=True)
        return [
            leaf
            for i, (child, own) in enumerate(parts)
            for leaf in leaves(child, own, f"{prefix}{i}.", (*path, i), layer)
        ]
    if isinstance(node, Heads):
        return [
            leaf
            for i, own in enumerate(nest)
            for leaf in leaves(node.inner, own, prefix, (*path, i), layer)
        ]
    if isinstance(node, Repeat):
        return [
            leaf
            for i, own in enumerate(nest)
            for leaf in leaves(node.inner, own, f"{prefix}*.", (*path, i), i)
        ]
    if isinstance(node, Residual):
        return leaves(node.inner, nest, prefix, path, layer)
    return [Leaf((*path, n), p, prefix + n, layer) for n, p in nest.items()]


def nest_like(nest, found: dict, path=()):
    """The nest of arrays with the structure of a nest of parameters."""
    if isinstance(nest, dict):
        return {n: found[(*path, n)] for n in nest}
    return [nest_like(own, found, (*path, i)) for i, own in enumerate(nest)]


# -- norms, differentiable and batched -------------------------------------------------------------


def spectral(W):
    """Spectral norms by power iteration (from below), with the right gradient."""
    with torch.no_grad():
        G = W.transpose(-1, -2) @ W if W.shape[-1] <= W.shape[-2] else W @ W.transpose(-1, -2)
        for _ in range(6):
            G = G / (G.diagonal(dim1=-1, dim2=-2).sum(-1)[..., None, None] + 1e-300)
            G = G @ G
        column = G.norm(dim=-2).argmax(-1)[..., None, None]
        x = torch.take_along_dim(G, column.expand(*G.shape[:-1], 1), -1)
        x = x / (x.norm(dim=-2, keepdim=True) + 1e-300)
    y = W @ x if W.shape[-1] <= W.shape[-2] else W.transpose(-1, -2) @ x
    return y.norm(dim=(-2, -1))


def singular(W):
    return torch.linalg.svdvals(W)[..., 0]


def norm(name: str, W, exact=False):
    """A batch of matrix norms by the names of ``dudley.core.norms``."""
    if name == "op":
        thin = 1 in W.shape[-2:]
        return W.norm(dim=(-2, -1)) if thin else (singular if exact else spectral)(W)
    if name == "fro":
        return W.norm(dim=(-2, -1))
    if name == "l11":
        return W.abs().sum((-2, -1))
    if name == "linf":
        return W.abs().amax((-2, -1))
    p, q = {"1": 1, "2": 2}[name[3]], name[4:]
    sizes = W.norm(p=p, dim=-2 if name.startswith("col") else -1)
    return sizes.amax(-1) if q == "inf" else sizes.sum(-1)


def into_ball(W, constraint, exact=False):
    """Rescale into every (centreless) ball of the constraint."""
    factor = torch.ones(W.shape[0], dtype=W.dtype)
    for ball in constraint.balls:
        assert ball.center is None
        factor = torch.minimum(factor, ball.radius / (norm(ball.norm, W, exact) + 1e-300))
    return W * factor[:, None, None]


def rows(X):
    """The largest ℓ2 norm of a row (over all axes but the first)."""
    return X.norm(dim=-1).flatten(1).amax(-1)


def clip_rows(X, R):
    sizes = X.norm(dim=-1, keepdim=True)
    return X * (R[:, None, None] / torch.maximum(sizes, R[:, None, None]))


# -- starts --------------------------------------------------------------------


def start_weight(kind: int, shape, rng):
    a, b = shape
    if kind == 0:
        W = rng.normal(size=shape)
    elif kind == 1:
        W = np.outer(rng.normal(size=a), rng.normal(size=b))
    elif kind == 2:
        W = np.eye(a, b)
    elif kind == 3:
        W = -np.eye(a, b)
    elif kind == 4:
        W = np.zeros(shape)
        W[0, 0] = 1
    elif kind == 5:
        W = np.eye(a, b) * rng.choice([-1.0, 1.0], size=(a, 1))
    elif kind == 6:
        W = np.eye(a, b)[rng.permutation(a)]
    else:
        W = 0.03 * rng.normal(size=shape)
    size = np.linalg.norm(W, 2)
    return (W + 0.01 * rng.normal(size=shape)) / (size if kind != 7 and size > 0 else 1)


def start_rows(kind: int, T: int, d: int, rng):
    if kind == 0:
        X = rng.normal(size=(T, d))
    elif kind == 1:
        X = np.zeros((T, d))
        X[:, 0] = np.where(np.arange(T) % 2, 1, -1)
    elif kind == 2:
        X = np.eye(T, d)[rng.permutation(T)]
    elif kind == 3:
        X = np.tile(rng.normal(size=d), (T, 1))
    elif kind == 4:  # a query apart from values ± e_1
        X = np.zeros((T, d))
        X[:, 0] = np.where(np.arange(T) % 2, 1, -1)
        X[-1] = np.eye(d)[1]
    elif kind == 5:
        X = np.eye(d)[rng.integers(0, d, T)] * rng.choice([-1.0, 1.0], size=(T, 1))
    else:
        X = 0.01 * rng.normal(size=(T, d))
    size = np.linalg.norm(X, axis=1, keepdims=True)
    X = X / np.where((size > 0) & (kind != 6), size, 1)
    return X + 0.02 * rng.normal(size=(T, d))


# -- the search ----------------------------------------------------------------


@dataclass
class Found:
    """The largest ratio found to declared, for each radius R and mode, and where."""

    ratios: dict = field(default_factory=dict)  # (R, mode) -> ratio
    where: dict = field(default_factory=dict)

    def worst(self) -> dict:
        """The largest ratio over radii, by mode."""
        best: dict = {}
        for (_, mode), ratio in self.ratios.items():
            best[mode] = max(best.get(mode, 0.0), ratio)
        return best

    def check(self) -> Found:
        bad = {k: v for k, v in self.ratios.items() if not v <= 1 + TOLERANCE}
        assert not bad, f"found above declared: {bad}"
        return self


@dataclass(frozen=True)
class Problem:
    """A node on T rows of width d, at several radii, and starts of one's own (params, X)."""

    node: object
    T: int = 4
    d: int = 4
    radii: tuple = RADII
    logits: bool = False
    one_hot: bool = False
    l1: float | None = None
    witness: Callable | None = None  # R -> Start, given to the first two restarts
    ties: dict = field(default_factory=dict)  # path -> (path of the master, transposed?)
    hat_apply: Callable | None = None  # (params, x, R) for the covered network, if it differs
    free_hats: bool = False  # may the covered weights leave their balls?


class Start(NamedTuple):
    """Weights, directions in which they move, rows of norm ≤ R, directions of those."""

    W: dict
    D: dict
    X: np.ndarray
    E: np.ndarray


def search(
    problem: Problem, modes=None, restarts=10, steps=50, seed=0, lr=0.08, scores=False
) -> Found:
    """Gradient ascent from many starts, for all radii and modes in one batch.

    With ``scores`` the error of a score matrix is what it is on the inputs, max |x ΔW zᵀ|/R²,
    instead of its spectral norm: the sharper statement, which covers of scores use.
    """
    p, rng = problem, np.random.default_rng(seed)
    node, T, d = p.node, p.T, p.d
    nest, _ = node.parameters(d)
    everything = leaves(node, nest)
    facts = {R: node.facts(signal_of(R, T, d, p.l1)) for R in p.radii}
    merged = {R: {u.name: u for u in tie_together(facts[R].uses)} for R in p.radii}
    uses = {leaf.path: leaf.use(facts[p.radii[0]]) for leaf in everything}
    masters = [leaf for leaf in everything if leaf.path not in p.ties]
    trained = [leaf for leaf in masters if uses[leaf.path] is not None]

    def declared_weight(leaf, R) -> float:
        tie = uses[leaf.path].tie
        return leaf.weight(facts[R]) if tie is None else float(merged[R][tie].weight)

    def error(leaf, ΔW, x, exact):
        use = uses[leaf.path]
        if leaf.path in {master for master, _ in p.ties.values()}:
            return norm("op", ΔW, exact)
        if scores and use.form == "bilinear":
            return (x @ ΔW @ x.transpose(-1, -2)).abs().amax((-2, -1)) / R**2
        if use.form == "logits":
            return norm("col2inf", ΔW)
        if use.l1 is None:
            return norm("op", ΔW, exact)
        return torch.minimum(norm("op", ΔW, exact), use.l1 * norm("row2inf", ΔW))

    if modes is None:
        modes = ["radius", *([] if p.one_hot else ["lipschitz", "everything"])]
        modes += [leaf.path for leaf in trained] + (["weights"] if len(trained) > 1 else [])
    plan = [(R, m, r) for R in p.radii for m in modes for r in range(restarts)]
    B = len(plan)
    radius_mode = tensor([m == "radius" for _, m, _ in plan])
    on = tensor(
        [[m in ("weights", "everything") or m == leaf.path for leaf in trained] for _, m, _ in plan]
    ).reshape(B, len(trained))
    on_X = tensor([m in ("lipschitz", "everything") for _, m, _ in plan])
    weight = tensor([[declared_weight(leaf, R) for leaf in trained] for R, _, _ in plan])
    L = tensor([float(facts[R].lipschitz) for R, _, _ in plan])
    out_radius = tensor([float(facts[R].out.radius) for R, _, _ in plan])
    R = tensor([r for r, _, _ in plan])
    steps_of = (1e-3, 0.1, 1.0, 30.0 if p.free_hats else 2.0)
    scale = tensor([steps_of[r % 4] for _, _, r in plan])[:, None, None]
    size = {
        leaf.path: float(leaf.parameter.constraint.bounds(leaf.parameter.shape)["op"])
        for leaf in masters
    }
    constraint = {leaf.path: leaf.parameter.constraint for leaf in masters}

    aligned = rng.integers(0, 8, B)  # one kind for all the weights of half of the restarts

    def draw(shape):
        kinds = np.where(np.arange(B) % 2, aligned, rng.integers(0, 8, B))
        return tensor([start_weight(k, shape, rng) for k in kinds])

    W = {leaf.path: draw(leaf.parameter.shape) * size[leaf.path] for leaf in masters}
    D = {leaf.path: draw(leaf.parameter.shape) for leaf in trained}
    if p.one_hot:
        X = tensor(np.eye(d)[rng.integers(0, d, (B, T))])
        E = torch.zeros_like(X)
    else:
        X = tensor([start_rows(k, T, d, rng) for k in rng.integers(0, 7, B)])
        E = tensor([start_rows(k, T, d, rng) for k in rng.integers(0, 7, B)])
    if p.witness is not None:
        for b, (r, _, restart) in enumerate(plan):
            if restart < 2:
                start = p.witness(r)
                for path in start.W:
                    W[path][b] = tensor(start.W[path])
                for path in start.D:
                    D[path][b] = tensor(start.D[path])
                X[b], E[b] = tensor(start.X) / r, tensor(start.E)

    variables = [*W.values(), *D.values()] + ([] if p.one_hot else [X, E])
    for v in variables:
        v.requires_grad_()
    apply = torch.func.vmap(node.apply)
    hat_apply = apply if p.hat_apply is None else torch.func.vmap(p.hat_apply)
    extra = () if p.hat_apply is None else (R,)

    def inside(X):
        X = clip_rows(X, R)
        if p.l1 is None:
            return X
        sizes, most = X.abs().sum(-1, keepdim=True), p.l1 * R[:, None, None]
        return X * (most / torch.maximum(sizes, most))

    def with_ties(found):
        for path, (master, transposed) in p.ties.items():
            found[path] = found[master].transpose(-1, -2) if transposed else found[master]
        return nest_like(nest, found)

    def out_norm(Y):
        return Y.abs().flatten(1).amax(-1) if p.logits else rows(Y)

    def ratios(exact=False):
        true = {path: into_ball(w, constraint[path], exact) for path, w in W.items()}
        x = hat_x = X
        moved = torch.zeros_like(R)
        if not p.one_hot:
            x = inside(X * R[:, None, None])
            hat_x = inside(x + E * (scale * R[:, None, None]))
            hat_x = torch.where(on_X[:, None, None] > 0, hat_x, x)
            moved = rows(hat_x - x + 1e-300)
        hats, errors = dict(true), []
        for i, leaf in enumerate(trained):
            w, here = true[leaf.path], on[:, i, None, None] > 0
            hat = w + scale * size[leaf.path] * D[leaf.path]
            if not p.free_hats:
                hat = into_ball(hat, constraint[leaf.path], exact)
            hats[leaf.path] = torch.where(here, hat, w)
            errors.append(error(leaf, hats[leaf.path] - w, hat_x, exact))
        y, hat_y = apply(with_ties(true), x), hat_apply(with_ties(hats), hat_x, *extra)
        declared = torch.where(on_X > 0, L * moved, torch.zeros_like(L))
        if trained:
            declared = declared + (weight * torch.stack(errors, 1)).sum(1)
        changed = out_norm(hat_y - y) / (declared + 1e-12 * out_radius + 1e-300)
        size_y = out_norm(y) / (out_radius + 1e-300)
        return torch.where(radius_mode > 0, size_y, changed), (true, hats, x, hat_x)

    ascend(lambda: ratios()[0], variables, steps, lr)
    with torch.no_grad():
        value, (true, hats, x, hat_x) = ratios(exact=True)
    found = Found()
    for b, (r, mode, _) in enumerate(plan):
        name = mode if isinstance(mode, str) else ".".join(map(str, mode))
        if not float(value[b]) <= found.ratios.get((r, name), -1.0):
            found.ratios[(r, name)] = float(value[b])
            found.where[(r, name)] = (
                with_ties({path: w[b].numpy() for path, w in true.items()}),
                with_ties({path: w[b].numpy() for path, w in hats.items()}),
                x[b].detach().numpy(),
                hat_x[b].detach().numpy(),
            )
    return found


def tensor(values):
    return torch.tensor(np.array(values), dtype=torch.float64)


def ascend(values: Callable, variables: list, steps: int, lr: float) -> None:
    """Adam on Σ log values(); each restart's variables are left where its value was largest."""
    first = [torch.zeros_like(v) for v in variables]
    second = [torch.zeros_like(v) for v in variables]
    kept = [v.detach().clone() for v in variables]
    best = None
    for t in range(1, steps + 1):
        value = values()
        total = torch.log(value + 1e-30).sum()
        gradients = torch.autograd.grad(total, variables, allow_unused=True)
        with torch.no_grad():
            better = value > (-1.0 if best is None else best)
            best = value.clone() if best is None else torch.maximum(best, value)
            for v, k in zip(variables, kept, strict=True):
                k[better] = v[better]
            rate = lr * (1 - 0.8 * t / steps)
            for v, g, m, s in zip(variables, gradients, first, second, strict=True):
                if g is not None:
                    g = torch.nan_to_num(g, 0.0, 0.0, 0.0)
                    m.mul_(0.9).add_(g, alpha=0.1)
                    s.mul_(0.98).addcmul_(g, g, value=0.02)
                    v += rate * (m / (1 - 0.9**t)) / (torch.sqrt(s / (1 - 0.98**t)) + 1e-12)
    with torch.no_grad():
        for v, k in zip(variables, kept, strict=True):
            v.copy_(k)


def check_facts(problem: Problem, **options) -> Found:
    """Raise if the search finds anything above what the node declares."""
    return search(problem, **options).check()


def check_sharp(problem: Problem, mode: str, at_least: float, **options) -> Found:
    """Raise if the search finds more than declared, or if it stays far below it."""
    found = check_facts(problem, **options)
    ratio = found.worst()[mode]
    assert ratio >= at_least, f"{mode}: only {ratio:.3f} of the declared value was found"
    return found

"""Search for the worst weights and inputs of a network: the oracle against which its facts stand.

For every restart at once (``torch.func.vmap`` over ``apply``) gradient ascent raises

    ‖f(W, X) − f(Ŵ, X′)‖ / ( Σ_i weight_i·‖W_i − Ŵ_i‖ + L·‖X − X′‖ )        (max-row-ℓ2 norms)

over weights W, Ŵ and inputs X, X′ inside their balls, or ‖f(W, X)‖ over the declared radius. Which
blocks may differ is a *mode*: ``radius``, ``lipschitz`` (the inputs alone), one block alone,
``weights`` (all of them), ``everything``. What is reported is measured afterwards with singular
values, on weights strictly inside their balls.

>>> import dudley as du
>>> reached = search(SearchProblem(du.Dense(3, du.Spectral(2.0)), d=3, radii=(1.0,)))
>>> reached.exceeded(), {mode: ratio > 0.99 for mode, ratio in reached.worst().items()}
({}, {'radius': True, 'lipschitz': True, 'everything': True, 'W': True})
"""

from __future__ import annotations

import math

import numpy as np

from dudley.audit.balls import TINY, into_ball, rows
from dudley.audit.climb import climb
from dudley.audit.members import Members
from dudley.audit.problem import SearchProblem
from dudley.audit.search_ratios import SearchRatios
from dudley.core.backend import torch


def search(
    problem: SearchProblem,
    modes=None,
    restarts: int = 10,
    steps: int = 50,
    seed: int = 0,
    lr: float = 0.08,
    scores: bool = False,
    device: str = "cpu",
) -> SearchRatios:
    """Gradient ascent from many starts, for all radii and modes in one batch.

    With ``scores`` the error of a score matrix is what it is on the inputs, max |x ΔW zᵀ|/R²,
    instead of its spectral norm: the sharper statement, which covers of scores use.
    """
    m = Members(problem, modes, restarts, np.random.default_rng(seed), scores, device)
    climb(lambda: ratios(m)[0], m.variables, steps, lr)
    with torch.no_grad():
        value, where = ratios(m, exact=True)
    return _best(m, value, where)


def ratios(m: Members, exact: bool = False):
    """What each member reaches of what is declared, and the weights and rows at which it does."""
    p, R = m.p, m.R[:, None, None]
    constraint = {leaf.path: leaf.parameter.constraint for leaf in m.masters}
    true = {path: into_ball(w, constraint[path], exact) for path, w in m.W.items()}
    x = hat_x = m.X
    moved = torch.zeros_like(m.R)
    if not p.one_hot:
        x = m.inside(m.X * R)
        hat_x = m.inside(x + m.E * (m.scale * R))
        hat_x = torch.where(m.on_X[:, None, None] > 0, hat_x, x)
        moved = rows(hat_x - x + TINY)
    hats, errors = dict(true), []
    for i, leaf in enumerate(m.trained):
        w, here = true[leaf.path], m.on[:, i, None, None] > 0
        hat = w + m.scale * m.size[leaf.path] * m.D[leaf.path]
        if not p.free_hats:
            hat = into_ball(hat, constraint[leaf.path], exact)
        hats[leaf.path] = torch.where(here, hat, w)
        errors.append(m.error(leaf, hats[leaf.path] - w, hat_x, exact))
    apply = torch.func.vmap(p.node.apply)
    hat_apply = apply if p.hat_apply is None else torch.func.vmap(p.hat_apply)
    extra = () if p.hat_apply is None else (m.R,)
    y, hat_y = apply(m.nested(true), x), hat_apply(m.nested(hats), hat_x, *extra)
    declared = torch.where(m.on_X > 0, m.L * moved, torch.zeros_like(m.L))
    if m.trained:
        declared = declared + (m.weight * torch.stack(errors, 1)).sum(1)
    changed = _size(m, hat_y - y) / (declared + m.rounding + TINY)
    size_y = _size(m, y) / (m.out_radius + TINY)
    return torch.where(m.radius_mode > 0, size_y, changed), (true, hats, x, hat_x)


def _size(m: Members, Y):
    return Y.abs().flatten(1).amax(-1) if m.p.logits else rows(Y)


def _best(m: Members, value, where) -> SearchRatios:
    """The best member of each radius and mode."""
    reached, values = SearchRatios(), value.cpu().numpy()
    true, hats, x, hat_x = where
    for b, (R, mode, _) in enumerate(m.plan):
        key = (R, mode if isinstance(mode, str) else ".".join(map(str, mode)))
        if values[b] <= reached.ratios.get(key, -1.0):
            continue
        reached.ratios[key] = float(values[b])
        reached.declared[key] = _declared(m, b, mode)
        weights = [m.nested({q: w[b].cpu().numpy() for q, w in ws.items()}) for ws in (true, hats)]
        reached.where[key] = (*weights, *(rows[b].detach().cpu().numpy() for rows in (x, hat_x)))
    return reached


def _declared(m: Members, b: int, mode) -> float:
    """The one number that a mode attacks; none where it attacks a sum."""
    if mode in ("radius", "lipschitz"):
        return float((m.out_radius if mode == "radius" else m.L)[b])
    block = next((leaf for leaf in m.trained if leaf.path == mode), None)
    return math.nan if block is None else m.declared(block, m.plan[b][0])

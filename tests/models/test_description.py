"""What a model says of itself holds on it: radius, Lipschitz constant and sensitivities, by search.

Twice: the search of ``audit`` over all weights that the description allows, and gradient ascent on
the inputs of the module itself, with its own weights as they are and moved inside their balls.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch.func import functional_call

import dudley as du
from dudley.audit.balls import clip_rows, into_ball, norm
from dudley.audit.leaves import leaves
from dudley.audit.sensitivity import sensitivity
from dudley.calculus.nest import entries
from dudley.calculus.union import observed_numbers
from dudley.core.constraint import FREE, Ball, Observed
from dudley.core.entropy import Metric
from dudley.core.norms import NORMS
from dudley.models import AndClassifier, GeneralAttention, SingleHead
from dudley.models.constrain import around, constrained
from each import each
from model_cases import CASES

SEARCHED = [name for name in CASES if not name.startswith("general")]
MANY = 24  # inputs that climb at once


def describe(name, seed=0):
    model = CASES[name].model(seed)
    tokens = CASES[name].tokens(model)
    return model, tokens, model.description(tokens)


def size(facts, Y):
    return Y.abs().amax((-2, -1)) if facts.out.metric is Metric.LOGITS else Y.norm(dim=-1).amax(-1)


def inside(X, tokens, d):
    """Rows that the tokens allow."""
    X = clip_rows(X, torch.full((len(X),), float(tokens.row2inf), dtype=X.dtype))
    if tokens.row1inf is not None:
        X = X * (tokens.row1inf / X.abs().sum(-1, keepdim=True)).clamp(max=1)
    return X


def climb(value, X, steps=40):
    """The largest value that ascent in X finds."""
    X = X.clone().requires_grad_()
    optimiser, best = torch.optim.Adam([X], 0.1), 0.0
    for _ in range(steps):
        optimiser.zero_grad()
        reached = value(X)
        best = max(best, float(reached.detach().max()))
        (-reached.sum()).backward()
        optimiser.step()
    return best


def starts(tokens, d, seed=0):
    source = torch.Generator().manual_seed(seed)
    return torch.randn(MANY, int(tokens.T), d, generator=source, dtype=torch.float64)


def radius_ratio(model, tokens, node, seed=0) -> float:
    """The largest output that is met, against the declared radius."""
    d = model.width
    facts = node.facts(tokens.signal(d))
    largest = climb(lambda X: size(facts, model(inside(X, tokens, d))), starts(tokens, d, seed))
    return largest / float(facts.out.radius)


def own_ratios(model, tokens, node, seed=0) -> dict[str, float]:
    """Met/declared on the module itself: its size, its slope, and what moving a weight does."""
    d = model.width
    facts = node.facts(tokens.signal(d))
    X = starts(tokens, d, seed)
    ratios = {"radius": radius_ratio(model, tokens, node, seed)}

    def slope(X):
        a, b = inside(X[: MANY // 2], tokens, d), inside(X[MANY // 2 :], tokens, d)
        return size(facts, model(a) - model(b)) / (a - b).norm(dim=-1).amax(-1).clamp(min=1e-9)

    ratios["lipschitz"] = climb(slope, X) / float(facts.lipschitz)
    source = torch.Generator().manual_seed(seed)
    for leaf in leaves(node, node.parameters(d)[0]):
        name = "weights." + leaf.label
        W = model.state_dict()[name]
        other = torch.randn(1, *W.shape, generator=source, dtype=W.dtype)
        other = into_ball(9 * other, leaf.parameter.constraint, exact=True)[0]
        use = leaf.use(facts)
        assert use is not None, leaf
        for t in (1e-3, 1.0):
            moved = {**model.state_dict(), name: W + t * (other - W)}
            error = float(norm("op", (moved[name] - W)[None], exact=True))
            if use.form == "logits":
                error = float((moved[name] - W).norm(dim=0).max())
            elif use.l1 is not None:
                error = min(error, use.l1 * float((moved[name] - W).norm(dim=1).max()))

            def change(X, moved=moved):
                rows = inside(X, tokens, d)
                return size(facts, functional_call(model, moved, (rows,)) - model(rows))

            declared = leaf.weight(facts) * error
            ratio = climb(change, X, 12) / (declared + 1e-12 * float(facts.out.radius))
            ratios[leaf.label] = max(ratios.get(leaf.label, 0.0), ratio)
    return ratios


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHED)
def test_the_search_finds_nothing_above_the_description(name):
    _, tokens, node = describe(name)
    search = sensitivity(node, tokens, restarts=6, steps=30)
    assert not search.exceeded(), search.exceeded()
    assert search.worst()["radius"] > 0.05, "the search did not search"


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHED)
def test_the_module_itself_stays_below_the_description(name):
    ratios = own_ratios(*describe(name, seed=1), seed=1)
    assert max(ratios.values()) <= 1 + 1e-7, ratios


@pytest.mark.parametrize("name", ["single head", "majority classifier", "shallow encoder"])
def test_a_description_that_understates_a_weight_is_caught(name):
    """A quarter of every norm: the module's own output is too large for it."""
    model, tokens, node = describe(name)

    def quartered(thing):
        if isinstance(thing, Ball):
            return dataclasses.replace(thing, radius=0.25 * thing.radius)
        if isinstance(thing, tuple):
            return tuple(map(quartered, thing))
        if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
            parts = {f.name: quartered(getattr(thing, f.name)) for f in dataclasses.fields(thing)}
            return dataclasses.replace(thing, **parts)
        return thing

    assert radius_ratio(model, tokens, quartered(node)) > 1


@pytest.mark.parametrize("name", ["general attention", "general sparsemax"])
def test_general_attention_moves_as_assumption_4_1_says(name):
    model, tokens, node = describe(name)
    assert isinstance(model, GeneralAttention)
    facts = node.facts(tokens.signal(4))
    weight = {use.name: float(use.weight) for use in facts.uses}
    X, state = starts(tokens, 4), model.state_dict()
    score, _, phi_in, _ = model.general.functions
    worst = {"radius": 0.0, "change": 0.0}
    for seed in range(20):
        source = torch.Generator().manual_seed(seed)
        moved = {}
        for n, W in state.items():
            Z = torch.randn(1, *W.shape, generator=source, dtype=W.dtype)
            Z = into_ball(9 * Z, around(W, n), exact=True)[0]
            moved[n] = W + (Z - W) * (1e-3, 1.0)[seed % 2] * (seed % 3 != 2 or n[-1] != "w")
        p, q = ({k: s[f"weights.0.{k}"] for k in ("W_QK", "W_v")} for s in (state, moved))
        Δw = float((moved["weights.1.w"] - state["weights.1.w"]).norm())

        def ratio(X, moved=moved, p=p, q=q, Δw=Δw):
            x = inside(X, tokens, 4)
            z = x[:, -1:]
            Δscore = (score(p, x, z) - score(q, x, z)).abs().amax((-2, -1))
            Δinner = (phi_in(p, x) - phi_in(q, x)).norm(dim=-1).amax(-1)
            declared = weight["0.score"] * Δscore + weight["0.inner"] * Δinner
            gap = (functional_call(model, moved, (x,)) - model(x)).abs().flatten(1).amax(-1)
            return gap / (declared + weight["1.w"] * Δw)

        worst["change"] = max(worst["change"], climb(ratio, X, 15))
    worst["radius"] = radius_ratio(model, tokens, node)
    assert all(0.1 < value <= 1 + 1e-7 for value in worst.values()), worst


def test_general_attention_covers_what_its_weights_cover():
    """Scores are |x W zᵀ| ≤ R²‖W‖ and inner values ‖xW‖ ≤ R‖W‖: the radii of their entropies."""
    model = GeneralAttention(4, 3, "tanh", inner="gelu", scale=0.5).double()
    tokens = du.Tokens(2.0, T=4, d=4)
    head = model.description(tokens).nodes[0].inner
    W_QK, W_v = model.weights[0].W_QK, model.weights[0].W_v
    op = {n: float(torch.linalg.svdvals(W.detach())[0]) for n, W in (("QK", W_QK), ("v", W_v))}
    assert np.exp(head.score.log_radius) == pytest.approx(0.5 * 4 * op["QK"], rel=1e-9)
    assert np.exp(head.inner.log_radius) == pytest.approx(1.12905 * 2 * op["v"], rel=1e-9)
    assert head.B_in == pytest.approx(op["v"], rel=1e-9) and isinstance(head.B_in, Observed)


@each("name", [name for name in CASES if not CASES[name].rows])
def test_capacity_applies_to_a_live_model_once_it_is_paid_for(name):
    model, tokens, node = describe(name)
    logits = node.facts(tokens.signal(model.width)).out.metric is Metric.LOGITS
    loss = du.Margin(1.0, multiclass=True) if logits else None
    cap = du.capacity(node, tokens, n=10_000, loss=loss)
    with pytest.raises(du.NotYetPaid, match="union"):
        cap.gap(delta=0.05)
    gap = cap.gap(delta=0.05, union=du.Grid())
    weights = sum(1 for _ in model.named_weights())
    assert 0 < gap.value <= 1 and gap.details["union_nats"] > 3 * weights
    assert [a.status.value for a in gap.assumptions if a.name == "weights"] == ["paid"]


def test_every_radius_is_an_observed_norm_from_above():
    model, _, node = describe("and classifier")
    seen = observed_numbers(node)
    wanted = sum(len(around(W, ".".join(map(str, path))).balls) for path, W in
                 model.named_weights())  # fmt: skip
    assert len(seen) == wanted and wanted > 60
    nest = dict(entries(node.parameters(3)[0]))
    for path, W in model.named_weights():
        A = W.detach().numpy()
        assert nest[path].shape == A.shape
        for ball in nest[path].constraint.balls:
            exact = NORMS[ball.norm](A)
            assert exact * (1 - 1e-12) <= float(ball.radius) <= exact * (1 + 1e-3), (path, ball)


def test_a_description_follows_the_weights():
    model = SingleHead(4, 3)
    tokens = du.Tokens(1.0, T=4)
    before = float(model.description(tokens).facts(tokens.signal(4)).out.radius)
    with torch.no_grad():
        model.weights[1].w *= 3
    after = float(model.description(tokens).facts(tokens.signal(4)).out.radius)
    assert after == pytest.approx(3 * before, rel=1e-6)


def test_heads_have_norms_of_their_own():
    model, _, node = describe("multi-head")
    norms = [float(head.W_v.bounds((4, 3))["op"]) for head in node.nodes[0].nodes]
    wanted = [float(torch.linalg.svdvals(own.W_v.detach())[0]) for own in model.weights[0]]
    assert norms == pytest.approx(wanted, rel=1e-6) and len(set(norms)) == 3


def test_distance_from_the_start():
    case = CASES["shallow encoder"]
    model = case.make(seed=0).double().eval()
    first = {n: W.clone() for n, W in model.state_dict().items()}
    with torch.no_grad():
        for _, W in model.named_weights():
            W += 1e-3 * torch.randn(W.shape, generator=torch.Generator().manual_seed(1)).double()
    tokens = case.tokens(model)
    node = model.description(tokens, norms=("op", "fro"), start=first)
    near = [ball for ball in node.nodes[0].W_v.balls if ball.center is not None]
    moved = model.weights[0].W_v.detach() - first["weights.0.W_v"]
    assert [ball.norm for ball in near] == ["op", "fro"]
    assert float(near[1].radius) == pytest.approx(float(moved.norm()), rel=1e-9)
    assert float(near[1].radius) >= float(moved.norm())
    assert not any(isinstance(v, Observed) for _, v in near[0].center.norms)  # fixed before data
    plain = model.description(tokens, norms=("op", "fro"))
    near_gap, gap = (
        du.capacity(x, tokens, n=10_000).gap(0.05, union=du.Grid()).value for x in (node, plain)
    )
    assert near_gap < 0.5 * gap < 0.5
    with pytest.raises(du.InputError, match=r"weights\.0\.W_v"):
        model.description(tokens, start={})


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(bad):
    model, tokens, _ = describe("and classifier")
    with torch.no_grad():
        model.weights[2][1][2].W_2[0, 0] = bad
    with pytest.raises(du.InputError, match=r"2\.1\.2\.W_2"):
        model.description(tokens)


def test_inputs_that_do_not_fit_are_refused():
    model = AndClassifier(4, 4, 2)
    with pytest.raises(du.InputError, match="rows"):
        model.description(du.OneHot(3, 6))  # positions for five
    with pytest.raises(du.InputError, match="width"):
        SingleHead(4).description(du.Tokens(1.0, T=2, d=5))
    with pytest.raises(du.UnknownName, match="no such norm"):
        model.description(model.inputs, norms=("no such norm",))


def test_general_attention_serves_only_the_tokens_it_was_described_for():
    model = GeneralAttention(4)
    node = model.description(du.Tokens(1.0, T=4))
    assert du.capacity(node, du.Tokens(0.5, T=3), n=100).facts.uses
    for other in (du.Tokens(1.1, T=4), du.Tokens(1.0, T=5)):
        with pytest.raises(du.InputError, match="describe"):
            du.capacity(node, other, n=100).gap(0.05, union=du.Grid())
    with pytest.raises(du.NotYetPaid, match="declare"):
        model.description(du.Tokens(Observed(1.0), T=4, clipped=True))


def test_general_attention_pays_for_what_it_covers():
    """On the grid the covered sets grow with the norms: no entropy stays at what was observed."""
    from dudley.calculus.union import pay

    node = GeneralAttention(4).description(du.Tokens(1.0, T=4))
    paid, payments = pay(node, du.Grid(ratio=4.0))
    assert not observed_numbers(paid) and len(payments) == 10
    for part in ("score", "inner"):
        before, after = (getattr(n.nodes[0].inner, part) for n in (node, paid))
        assert after.log_radius > before.log_radius


@pytest.mark.parametrize("attention", ["sigmoid", "linear"])
def test_general_attention_refuses_what_assumption_4_1_does_not_allow(attention):
    with pytest.raises(du.InputError, match="softmax or sparsemax"):
        GeneralAttention(4, attention=attention)
    with pytest.raises(du.InputError, match=r"σ\(0\) = 0"):
        GeneralAttention(4, inner="softplus")


def test_a_weight_without_a_set_of_its_own_is_refused():
    fixed = du.Head(3, FREE, FREE, query="fixed", query_norm=1.0)
    with pytest.raises(du.InputError, match="derived"):
        constrained(fixed, {("W_v",): du.Spectral(1.0), ("v",): du.Spectral(1.0)})


def test_gains_that_share_a_bound_take_the_larger():
    node = du.MultiHeadAttention(4, 2, FREE, FREE, FREE, FREE, qk_norm=True, qk_gain=FREE)
    sets = {(n,): du.Spectral(1.0) for n in ("W_Q", "W_K", "W_v", "W_c")}
    filled = constrained(node, {**sets, ("g_q",): du.LInf(2.0), ("g_k",): du.LInf(3.0)})
    assert filled.qk_gain.balls[0].radius == 3.0  # pyright: ignore

"""Blocks and stacks: closed forms T11 and T12, depth, and what must be refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dudley as du
from dudley.audit.problem import SearchProblem, signal_of
from dudley.calculus.assemble import compose
from dudley.calculus.compose import Chain, Heads, Parallel, Residual
from dudley.calculus.repeat import Repeat
from dudley.core.errors import InputError
from dudley.core.magnitude import Magnitude
from dudley.networks.activations import Activation
from each import each
from node_cases import ATTENTION, LN, MLP, check_facts

S = du.Spectral
TRIPLED = Activation("tripled", lambda x: 3 * x * (x > 0), 3.0)
B_QK, B_v, B_c, B_w = 1.7, 2.5, 1.3, 0.6
SIGMAS = [("relu", 1.0), (TRIPLED, 3.0)]


def weights(node, R, T=4, d=4):
    return {u.name: u.weight.log for u in node.facts(signal_of(R, T, d)).uses}


def check_weights(node, R, expected):
    declared = weights(node, R)
    assert set(declared) == set(expected)
    for name, value in expected.items():
        assert math.isclose(declared[name], math.log(value), abs_tol=1e-12), name


def trauger_layer(L_σ, R, c=1.0):
    """T11 for one layer: slope, and errors per unit of spectral norm."""
    slope = L_σ * B_c * B_v * (1 + 2 * c * B_QK * R**2)
    return slope, {
        "0.W_QK": c * L_σ * B_c * B_v * R**2 * R,
        "0.W_v": L_σ * B_c * R,
        "3.W_c": L_σ * min(1.0, B_v * R),
    }


def li_layer(L_σ, R, c=1.0):
    slope = L_σ**2 * B_c * B_v * (1 + 2 * c * B_QK * R**2)
    return slope, {
        "0.W_QK": c * L_σ**2 * B_c * B_v * R**2 * R,
        "0.W_v": L_σ**2 * B_c * R,
        "0.W_c": L_σ * L_σ * B_v * R,
    }


@each("block, closed", [(du.trauger_block, trauger_layer), (du.li_block, li_layer)])
@each("sigma, L_σ", SIGMAS)
@each("B_x", [0.3, 1.0, 2.5])
@each("attention, c", [("softmax", 1.0), ("softmax-papers", 2.0)])
def test_t11(block, closed, sigma, L_σ, B_x, attention, c):
    node = block(4, S(B_QK), S(B_v), S(B_c), k=3, sigma=sigma, attention=attention)
    slope, expected = closed(L_σ, B_x, c)
    facts = node.facts(signal_of(B_x, 4, 4))
    assert math.isclose(facts.lipschitz.log, math.log(slope), abs_tol=1e-12)
    check_weights(node, B_x, expected)


@pytest.mark.parametrize(
    "block, closed", [(du.trauger_block, trauger_layer), (du.li_block, li_layer)]
)
@pytest.mark.parametrize("sigma, L_σ", SIGMAS)
def test_t11_through_layers_and_readout(block, closed, sigma, L_σ):
    """|g − ĝ| ≤ e_w + B_w Σ_i (∏_{j>i} s_j) e_i, with R_1 = B_x and R_i = 1 behind a projection."""
    B_x, L = 2.0, 3
    node = block(4, S(B_QK), S(B_v), S(B_c), k=3, sigma=sigma)
    net = Chain((*[node] * L, du.Readout(du.L2(B_w))))
    layers = [closed(L_σ, R) for R in (B_x, 1.0, 1.0)]
    expected = {f"{L}.w": 1.0}
    for i, (_, errors) in enumerate(layers):
        after = B_w * math.prod(slope for slope, _ in layers[i + 1 :])
        expected |= {f"{i}.{name}": after * value for name, value in errors.items()}
    check_weights(net, B_x, expected)


@pytest.mark.parametrize("sigma, L_σ", SIGMAS)
@pytest.mark.parametrize("B_x", [0.3, 2.5])
def test_t12(sigma, L_σ, B_x):
    head = du.Head(4, S(B_v), S(B_QK), W_c=S(B_c), k=3, sigma=sigma, query="cls")
    net = head >> du.Readout(du.L2(B_w))
    expected = {
        "0.W_QK": B_w * B_c * B_v * L_σ * B_x**2 * B_x,
        "0.W_v": B_w * B_c * L_σ * B_x,
        "0.W_c": B_w * L_σ * B_v * B_x,
        "1.w": L_σ * B_c * B_v * B_x,
    }
    check_weights(net, B_x, expected)


# -- stacks ----------------------------------------------------------------------

STACKS = {
    "trauger": du.trauger_block(4, S(2.0), S(3.0), S(1.5), k=3),
    "li": du.li_block(4, S(2.0), S(3.0), S(1.5), k=3),
    "pre-ln": du.pre_ln_block(MLP, LN, **ATTENTION),
    "post-ln": du.post_ln_block(MLP, LN, **ATTENTION),
    "residual dense": Residual(du.Dense(4, S(0.7), sigma="relu")),
    "residual attention": Residual(du.MultiHeadAttention(**ATTENTION)),
    "gated": Residual(du.SwiGLU(4, 4, S(1.0), S(1.0), S(0.5))),
    "sigmoid": Residual(du.MultiHeadAttention(**ATTENTION, attention="sigmoid")),
    "heads": Heads(du.Head(4, S(1.0), S(1.0), W_c=S(1.0)), 3),
}


def agrees(first, other, L):
    """Facts of a Repeat and of a Chain of copies: logs equal to rounding."""
    assert other.out.rows == first.out.rows and other.out.width == first.out.width
    np.testing.assert_allclose(first.out.radius.log, other.out.radius.log, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(first.lipschitz.log, other.lipschitz.log, rtol=1e-9, atol=1e-9)
    logs = {u.name: u.weight.log for u in other.uses}
    for use in first.uses:
        rest = use.name.removeprefix("*.")
        by_layer = [logs[f"{i}.{rest}"] for i in range(L)]
        np.testing.assert_allclose(use.weight.log, by_layer, rtol=1e-9, atol=1e-9)
    assert sum(u.count for u in first.uses) == sum(u.count for u in other.uses)


@each("name", STACKS)
@each("R", [1e-6, 0.3, 1.0, 1e6])
@each("L", [1, 2, 96])
def test_a_repeat_is_a_chain_of_copies(name, R, L):
    repeated = Repeat(STACKS[name], L).facts(signal_of(R, 4, 4))
    agrees(repeated, Chain((STACKS[name],) * L).facts(signal_of(R, 4, 4)), L)
    for use in repeated.uses:
        assert np.isfinite(use.weight.log).all(), use.name
    assert np.isfinite(repeated.lipschitz.log) and np.isfinite(repeated.out.radius.log)


def test_a_repeat_sees_one_hot_rows_in_its_first_layer_alone():
    inner = du.Dense(4, du.Row2Inf(1.0) & S(1.5))
    first = Repeat(inner, 3).facts(signal_of(1.0, 4, 4, l1=1.0))
    other = Chain((inner,) * 3).facts(signal_of(1.0, 4, 4, l1=1.0))
    logs = [x for u in first.uses for x in np.ravel(u.weight.log)]
    np.testing.assert_allclose(logs, [u.weight.log for u in other.uses], atol=1e-12)
    assert [u.l1 for u in first.uses] == [1.0, None]


@pytest.mark.parametrize("inner, outer", [(2, 2), (2, 3), (3, 2)])
def test_repeats_nest(inner, outer):
    node = Repeat(Repeat(STACKS["residual attention"], inner), outer)
    flat = Chain((STACKS["residual attention"],) * (inner * outer))
    first, other = (n.facts(signal_of(0.5, 4, 4)) for n in (node, flat))
    np.testing.assert_allclose(first.lipschitz.log, other.lipschitz.log, rtol=1e-9)
    logs = [sorted(x for u in f.uses for x in np.ravel(u.weight.log)) for f in (first, other)]
    np.testing.assert_allclose(*logs, rtol=1e-9)


def test_depth_without_norm_layers_stays_in_logs():
    """Radii of 96 residual attention layers pass 10^300; nothing overflows."""
    deep = Repeat(STACKS["residual attention"], 96) >> du.Readout(du.L2(1.0))
    facts = deep.facts(signal_of(1e6, 128, 4))
    assert 1e3 < facts.lipschitz.log < 1e6 and not np.isnan(facts.out.radius.log)
    entropy, _ = compose(deep, signal_of(1e6, 128, 4))
    value = entropy.log_log(0.0, math.log(1e12))
    assert np.isfinite(value).all()


@pytest.mark.parametrize("R", [1e-6, 1e6])
def test_compose_on_extreme_radii(R):
    for name in ("trauger", "pre-ln", "post-ln"):
        entropy, _ = compose(Repeat(STACKS[name], 96) >> du.Readout(du.L2(1.0)), signal_of(R, 8, 4))
        assert not np.isnan(entropy.log_log(np.array([-5.0, 0.0]), math.log(1e12))).any()


def test_rows_of_blocks():
    signal = signal_of(1.0, 7, 4)
    by_name = {u.name: u for u in STACKS["trauger"].facts(signal).uses}
    assert (by_name["0.W_QK"].rows, by_name["0.W_QK"].pairs) == (7, 49)
    assert by_name["0.W_QK"].form == "bilinear" and by_name["3.W_c"].rows == 7
    cls = du.Head(4, S(1.0), S(1.0), query="cls").facts(signal)
    assert {u.name: (u.rows, u.pairs) for u in cls.uses}["W_QK"] == (1, 7)
    assert cls.out.rows == 1


# -- what must be refused, or hold -----------------------------------------------


def holds_or_is_refused(problem):
    try:
        check_facts(problem, restarts=12, steps=40)
    except InputError:
        return


@pytest.mark.parametrize("scale", [-1.0, math.nan, math.inf])
def test_a_scale_that_is_no_number_from_zero_on_is_refused(scale):
    """Taken as it is, −1 and NaN count as zero: scores that cost nothing."""
    with pytest.raises(InputError):
        du.MultiHeadAttention(**ATTENTION, scale=scale)
    with pytest.raises(InputError):
        du.Head(4, S(1.0), S(1.0), scale=scale)


@pytest.mark.parametrize("value", [-1.0, math.nan])
def test_magnitudes_are_not_negative(value):
    with pytest.raises((InputError, ValueError)):
        Magnitude.of(value)


def test_logits_are_measured_by_coordinates_so_what_follows_must_know():
    wide = du.Logits(9, du.Col2Inf(1.0)) >> du.Readout(du.L2(1.0))
    holds_or_is_refused(SearchProblem(wide, radii=(1.0,)))


@pytest.mark.parametrize(
    "other",
    [
        du.Dense(4, S(1.0), k=1),
        du.Pool("mean") >> du.Dense(4, S(1.0)),
        du.Dense(4, S(1.0), k=3),
    ],
    ids=["width 1", "one row", "width 3"],
)
def test_summands_of_unequal_shape(other):
    """A row of width 1 would broadcast: its norm grows by √d, which no radius says."""
    with pytest.raises(InputError):
        Parallel((du.Dense(4, S(1.0)), other)).facts(signal_of(1.0, 4, 4))


def test_a_sum_forgets_what_one_summand_knew_of_l1_norms():
    both = Parallel((du.Pool("cls"), du.Pool("mean") >> du.Dense(4, S(1.0))))
    out = both.facts(signal_of(1.0, 4, 4, l1=1.0)).out
    assert out.l1 is None or out.l1 * float(out.radius) >= 1 + math.sqrt(4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: du.Dense(4, S(1.0), k=0),
        lambda: du.Head(4, S(1.0), S(1.0), k=0),
        lambda: replace(du.MultiHeadAttention(**ATTENTION), groups=0),
        lambda: du.SwiGLU(4, 0, S(1.0), S(1.0), S(1.0)),
        lambda: du.Logits(0, S(1.0)),
        lambda: du.Logits(3, S(1.0), rows=-1),
        lambda: du.Head(4, S(1.0), S(1.0), W_Q=S(1.0)),
        lambda: du.Dense(4, S(1.0)) >> du.Dense(3, S(1.0)),
    ],
    ids=["dense k", "head k", "groups", "swiglu k", "V", "rows", "a lone W_Q", "widths"],
)
def test_sizes_are_refused(make):
    with pytest.raises(InputError):
        make().facts(signal_of(1.0, 4, 4))


def test_general_head_refuses_a_negative_slope():
    entropy = du.PowerLaw(1.0)
    with pytest.raises(InputError):
        du.GeneralHead(entropy, entropy, lipschitz=-1.0)


def test_a_residual_needs_as_many_rows_and_columns():
    for inner in (du.Dense(4, S(1.0), k=3), du.Head(4, S(1.0), S(1.0), query="cls")):
        with pytest.raises(InputError):
            Residual(inner).facts(signal_of(1.0, 4, 4))

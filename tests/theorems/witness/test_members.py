"""Members: surely in their sets, tied where they are tied, fixed where they are fixed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dudley as du
from dudley.calculus.compose import Heads
from dudley.calculus.repeat import Repeat
from dudley.core.norms import NORMS
from dudley.theorems.witness.members import draw, draw_parameters, inputs, outputs, transposed
from each import each

SHAPES = [(3, 2), (2, 3), (1, 4), (4, 1), (3, 3)]


def exact_rows(W):
    return [[Fraction(float(x)) for x in row] for row in W]


def is_definite(G) -> bool:
    """Is a symmetric matrix of rationals positive definite? Exact elimination."""
    G = [row[:] for row in G]
    for i in range(len(G)):
        if G[i][i] <= 0:
            return False
        for j in range(i + 1, len(G)):
            f = G[j][i] / G[i][i]
            G[j] = [x - f * y for x, y in zip(G[j], G[i], strict=True)]
    return True


def is_inside(norm: str, W, radius: float) -> bool:
    """norm(W) ≤ radius, in rational arithmetic (square roots rounded up by 1e-30)."""
    rows = exact_rows(W)
    if norm.startswith("col"):
        rows, norm = [list(c) for c in zip(*rows, strict=True)], "row" + norm[3:]
    r = Fraction(radius)

    def root(square):  # from above
        return Fraction(math.isqrt(int(square * 10**60)) + 1, 10**30)

    l1 = [sum(map(abs, row)) for row in rows]
    squares = [sum(x * x for x in row) for row in rows]
    if norm == "op":
        n = len(rows)
        gram = [[sum(x * y for x, y in zip(u, v, strict=True)) for v in rows] for u in rows]
        return is_definite([[(r * r if i == j else 0) - gram[i][j] for j in range(n)]
                            for i in range(n)])  # fmt: skip
    if norm == "nuc":
        return bool(np.linalg.svd(np.asarray(W, float), compute_uv=False).sum() <= radius)
    return {
        "fro": sum(squares) <= r * r,
        "l11": sum(l1) <= r,
        "linf": max(abs(x) for row in rows for x in row) <= r,
        "row21": sum(map(root, squares)) <= r,
        "row2inf": max(squares) <= r * r,
        "row1inf": max(l1) <= r,
    }[norm]


@each("norm", NORMS)
def test_members_are_exactly_inside(norm):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        for radius in (1.0, 0.1, 3e7, 7e-9):
            for W in draw(du.ball(norm, radius), shape, 24, rng):
                assert is_inside(norm, W, radius), (norm, shape, radius)


def test_the_check_sees_what_is_outside():
    for norm in NORMS:
        W = draw(du.ball(norm, 1.0), (3, 2), 1, np.random.default_rng(0))[0]
        size = NORMS[norm](W)
        assert not is_inside(norm, W * ((1 + 1e-11) / size), 1.0)


@each("norm", NORMS)
def test_many_members_are_on_the_boundary_and_differ(norm):
    W = draw(du.ball(norm, 2.0), (3, 2), 120, np.random.default_rng(1))
    sizes = np.array([NORMS[norm](w) for w in W])
    assert (sizes > 2 * (1 - 1e-9)).mean() > 0.6
    assert len(np.unique(W.round(9), axis=0)) > 60
    extreme = NORMS[norm].draw_extreme(3, 2, np.random.default_rng(0))
    assert NORMS[norm](extreme) > 0


def test_intersections_and_ranks():
    both = du.L11(2.0) & du.Spectral(1.0) & du.LInf(0.6)
    for W in draw(both, (3, 3), 60, np.random.default_rng(2)):
        assert is_inside("l11", W, 2.0) and is_inside("op", W, 1.0) and is_inside("linf", W, 0.6)
    for rank in (1, 2):
        low = du.Rank(rank) & du.Spectral(0.3)
        for W in draw(low, (4, 4), 40, np.random.default_rng(3)):
            assert is_inside("op", W, 0.3)
            assert exact_rank(W) <= rank


def exact_rank(W) -> int:
    rows, rank = exact_rows(W), 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            f = rows[i][column] / rows[rank][column]
            rows[i] = [x - f * y for x, y in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


def test_centres():
    C = np.array([[0.5, -1.0], [0.0, 2.0], [0.25, 0.0]])
    rng = np.random.default_rng(4)
    for W in draw(du.L11(1.5, center=C), (3, 2), 40, rng, C):
        assert is_inside("l11", W - C, 1.5)
    mixed = du.Frobenius(0.5, center=C) & du.Spectral(2.5)
    for W in draw(mixed, (3, 2), 40, rng, C):
        assert is_inside("fro", W - C, 0.5) and is_inside("op", W, 2.5)
    far = 1e9 * C  # where sums round by more than the ball's margin
    for W in draw(du.L11(1e-5, center=far), (3, 2), 40, rng, far):
        assert is_inside("l11", W - far, 1e-5)
    assert not draw(du.L11(0.0), (3, 2), 5, rng).any()


def test_centres_that_do_not_fit_are_refused():
    rng, C = np.random.default_rng(0), np.eye(2)
    with pytest.raises(du.InputError, match=r"op ≤ 0\.5"):
        draw(du.Spectral(0.5), (2, 2), 1, rng, C)
    with pytest.raises(du.InputError, match="center"):
        draw(du.L11(1.0, center={"fro": 1.0}), (2, 2), 1, rng, C)
    with pytest.raises(du.InputError, match="rank"):
        draw(du.Rank(1) & du.Spectral(2.0), (2, 2), 1, rng, C)


def test_the_same_generator_gives_the_same_members():
    first, two = (draw(du.Nuclear(1.0), (3, 2), 9, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(first, two)


# -- networks ------------------


def test_layers_and_heads_have_weights_of_their_own():
    head = du.Head(3, W_QK=du.L11(1.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
    for node in (Heads(head, 2), Repeat(head, 2)):
        first, second = draw_parameters(node, 3, 1, np.random.default_rng(0))[0]
        assert all(not np.array_equal(first[name], second[name]) for name in first)


def test_tied_weights_are_one_matrix():
    E = du.Row2Inf(1.5).tied("E")
    net = du.Embedding(5, 3, E) >> du.Logits(5, du.Col2Inf(1.0).tied("E"))
    for nest in draw_parameters(net, 5, 12, np.random.default_rng(0)):
        table, readout = nest[0]["W_E"], nest[1]["W"]
        assert np.array_equal(table, readout.T)
        assert is_inside("row2inf", table, 1.0)  # both constraints, in both orientations


def test_transposed():
    rng, c = np.random.default_rng(0), du.Row21(1.0) & du.Col1Inf(0.5) & du.Spectral(2.0)
    assert [b.norm for b in transposed(c).balls] == ["col21", "row1inf", "op"]
    for W in draw(transposed(c), (2, 3), 12, rng):
        assert is_inside("row21", W.T, 1.0) and is_inside("col1inf", W.T, 0.5)
    with pytest.raises(du.InputError):
        transposed(du.L11(1.0, center=np.eye(2)))


def test_what_is_not_trained_is_the_same_for_all_members():
    for trained in (False, True):
        net = du.Positions(3, 4, du.Row2Inf(0.7), trained) >> du.Readout(du.L2(1.0))
        nests = draw_parameters(net, 3, 6, np.random.default_rng(0))
        same = [np.array_equal(nest[0]["P"], nests[0][0]["P"]) for nest in nests]
        assert all(same) is not trained


def test_inputs_are_in_their_signal():
    rng = np.random.default_rng(0)
    for tokens, d in ((du.Tokens(2.0, T=5), 4), (du.Tokens(2.0, T=3, row1inf=2.5), 6)):
        X = inputs(tokens.signal(d), 50, rng)
        assert X.shape == (50, tokens.T, d)
        for row in X.reshape(-1, d):
            assert is_inside("fro", row[None], 2.0)
            assert tokens.row1inf is None or is_inside("l11", row[None], tokens.row1inf)
    assert (np.linalg.norm(X, axis=-1).max(axis=1) > 1).all()


def test_outputs_are_what_the_node_computes():
    net = du.Head(3, W_QK=du.L11(4.0), W_v=du.L11(1.0)) >> du.Dense(3, du.Spectral(1.0), 2)
    rng = np.random.default_rng(0)
    nests, X = draw_parameters(net, 3, 4, rng), rng.normal(size=(5, 2, 3))
    F = outputs(net, nests, X)
    assert F.shape == (4, 10, 2)
    assert np.array_equal(F[2].reshape(5, 2, 2), net.apply(nests[2], X))

"""The search over weights and inputs: what it reports, and that it sees a wrong constant."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import dudley as du
from dudley.audit.balls import into_ball, norm, spectral
from dudley.audit.corners import corner
from dudley.audit.leaves import leaves, masters, ties_of, with_ties
from dudley.audit.sensitivity import sensitivity
from dudley.core.errors import InputError
from dudley.core.norms import NORMS
from dudley.core.norms.op import polar
from dudley.networks.head import Head
from each import each

torch.set_num_threads(1)
S = du.Spectral
HEAD = du.Head(4, W_v=S(2.0), W_QK=S(2.0), W_c=S(1.5), k=3)
NETWORK = HEAD >> du.Readout(du.L2(1.0))
STACK = du.Repeat(du.trauger_block(4, S(1.0), S(1.2), S(1.1)), 2) >> du.Readout(du.L2(1.0))


@pytest.mark.parametrize(
    "network, inputs",
    [(NETWORK, du.Tokens(1.0, T=4)), (STACK, du.Tokens(1.0, T=3)), (HEAD, 0.5)],
)
def test_nothing_above_what_is_declared(network, inputs):
    reached = sensitivity(network, inputs, restarts=8, steps=30)
    assert not reached.exceeded()
    assert 0.3 < max(reached.ratios.values()) <= 1 + 1e-6
    names = {leaf.label for leaf in leaves(network, network.parameters(4)[0])}
    assert names | {"radius", "lipschitz", "weights", "everything"} == set(reached.worst())


def test_the_table_names_every_mode_and_marks_what_is_exceeded(monkeypatch):
    text = str(sensitivity(NETWORK, restarts=4, steps=5))
    for word in ("radius", "lipschitz", "0.W_QK", "1.w", "declared", "ratio"):
        assert word in text
    assert "above" not in text
    right = Head.facts
    halved = lambda self, signal: replace(  # noqa: E731
        right(self, signal), lipschitz=right(self, signal).lipschitz * 0.25
    )
    monkeypatch.setattr(Head, "facts", halved)
    assert "above what is declared" in str(sensitivity(HEAD, restarts=12))


@pytest.mark.parametrize("wrong", ["halved Lipschitz constant", "dropped B_X²"])
def test_a_planted_constant_is_found(monkeypatch, wrong):
    right = Head.facts

    def facts(self, signal):
        facts = right(self, signal)
        if wrong.startswith("halved"):
            return replace(facts, lipschitz=facts.lipschitz * 0.5)
        uses = [
            replace(u, weight=u.weight / signal.radius**2) if u.name == "W_QK" else u
            for u in facts.uses
        ]
        return replace(facts, uses=tuple(uses))

    head = du.Head(4, W_v=S(1.0), W_QK=S(0.2), sigma="identity")
    assert not sensitivity(head, 3.0, restarts=12).exceeded()
    monkeypatch.setattr(Head, "facts", facts)
    assert sensitivity(head, 3.0, restarts=12).exceeded()


def test_where_holds_members_that_give_the_ratio():
    reached = sensitivity(HEAD, 1.0, restarts=6, steps=20)
    true, hats, x, hat_x = reached.where[1.0, "W_v"]
    assert np.linalg.norm(true["W_v"], 2) < 2.0 and np.linalg.norm(hats["W_v"], 2) < 2.0
    assert np.array_equal(x, hat_x) and np.array_equal(true["W_QK"], hats["W_QK"])
    change = np.linalg.norm(HEAD.apply(true, x) - HEAD.apply(hats, x), axis=-1).max()
    error = np.linalg.norm(true["W_v"] - hats["W_v"], 2)
    declared = reached.declared[1.0, "W_v"]
    assert change / (error * declared) == pytest.approx(reached.ratios[1.0, "W_v"], rel=1e-6)


def test_tied_weights_are_one_array():
    E = S(1.5).tied("E")
    net = du.Chain((du.Embedding(5, 4, E), du.Logits(5, E)))
    every = leaves(net, net.parameters(5)[0])
    ties = ties_of(every)
    assert ties == {(1, "W"): ((0, "W_E"), True)}
    W = np.arange(20.0).reshape(5, 4)
    assert np.array_equal(with_ties({(0, "W_E"): W}, ties)[1, "W"], W.T)
    assert not sensitivity(net, du.OneHot(5, 3), restarts=6, steps=20).exceeded()
    narrow = du.Chain((du.Embedding(5, 4, E), du.Logits(5, (du.Col2Inf(0.2) & E))))
    every = leaves(narrow, narrow.parameters(5)[0])
    (master,) = masters(every, ties_of(every))  # a column of Eᵀ is a row of E
    assert {(b.norm, b.radius) for b in master.parameter.constraint.balls} == {
        ("op", 1.5),
        ("row2inf", 0.2),
    }


@each("name", NORMS)
def test_norms_balls_and_corners_agree_with_numpy(name):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(6, 3, 5))
    mine = norm(name, torch.tensor(W), exact=True).numpy()
    np.testing.assert_allclose(mine, [NORMS[name](w) for w in W], rtol=1e-12)
    ball = du.ball(name, 0.7)
    inside = into_ball(torch.tensor(W), ball, exact=True).numpy()
    assert max(NORMS[name](w) for w in inside) < 0.7
    best = corner(torch.tensor(W), ball).numpy()
    assert max(NORMS[name](w) for w in best) <= 0.7 * (1 + 1e-9)
    reached = (W * best).sum((1, 2))
    others = into_ball(torch.tensor(rng.normal(size=(500, 3, 5))), ball).numpy()
    assert (reached > np.einsum("nab,mab->nm", W, others).max(1)).all()


def test_intersections_and_ranks_are_kept():
    rng = np.random.default_rng(1)
    both = du.L11(2.0) & S(1.0) & du.Rank(2)
    W = into_ball(torch.tensor(3 * rng.normal(size=(8, 4, 5))), both, exact=True).numpy()
    for w in (*W, *corner(torch.tensor(rng.normal(size=(8, 4, 5))), both).numpy()):
        assert np.abs(w).sum() <= 2.0 and np.linalg.norm(w, 2) <= 1.0 + 1e-9
        assert np.linalg.svd(w)[1][2] < 1e-12


def test_polar_factor_and_spectral_norm():
    G = torch.tensor(np.random.default_rng(2).normal(size=(4, 6, 3)))
    U, _, V = torch.linalg.svd(G, full_matrices=False)
    torch.testing.assert_close(polar(G, 40), U @ V)
    assert (spectral(G) <= torch.linalg.svdvals(G)[:, 0] * (1 + 1e-12)).all()


def test_what_cannot_be_searched_is_refused():
    centred = du.Dense(2, du.ball("op", 1.0, center=np.eye(2)))
    with pytest.raises(InputError, match="balls around 0"):
        sensitivity(centred, 1.0)
    with pytest.raises(InputError, match="radius"):
        sensitivity(HEAD, 0.0)
    with pytest.raises(InputError, match="width"):
        sensitivity(du.Readout(du.L2(1.0)), 1.0)


def test_without_torch_there_is_one_clear_error():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import dudley.audit.attacks.perturbation, dudley.audit.attacks.pointwise\n"
        "try:\n    import dudley.audit.sensitivity\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ExtraMissing") and "pip install '.[torch]'" in done.stdout

"""From a checkpoint to the calculus: the described network is the network, its bound is paid."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import checkpoints
import dudley as du
from checkpoints import FAMILIES, H, K, L, T, V, d
from dudley.calculus.union import pay
from dudley.core.errors import InputError, NotYetPaid, UnknownName
from dudley.weights.balls import MATRIX
from dudley.weights.measure import plan_of
from dudley.weights.named_tensors import open_weights
from dudley.weights.network import describe


def measured(tmp_path, name: str):
    return du.measure(checkpoints.write(tmp_path / name, *FAMILIES[name]()))


def both(W: dict[str, float], names=MATRIX) -> du.Constraint:
    """The balls of a row, as a person would write them."""
    total = du.ball(names[0], du.Observed(W[names[0]]))
    for name in names[1:]:
        total = total & du.ball(name, du.Observed(W[name]))
    return total


def hand_built_bert(m) -> du.Chain:
    def of(role, layer=None, names=MATRIX):
        return both(m.row(role, layer).norms, names)

    def ln(name, layer=None):
        return du.LayerNorm(
            d,
            1e-12,
            of(f"{name}.gain", layer, ("linf", "fro")),
            of(f"{name}.bias", layer, ("fro",)),
        )

    b_E = du.Frobenius(du.Observed(m.row("W_S").norms["row2inf"]))
    table = du.Dense(V, of("W_E", None, ("op", "fro", "row2inf")), d, b_E, names=("W_E", "b_E"))
    places = du.Positions(d, T, of("P", None, ("row2inf", "fro")), trained=True)
    net = table >> places >> ln("ln_E")
    for i in range(L):
        weights = {name: of(name, i) for name in ("W_Q", "W_K", "W_v", "W_c")}
        weights |= {name: of(name, i, ("fro",)) for name in ("b_Q", "b_K", "b_v", "b_c")}
        attention = du.MultiHeadAttention(d, H, **weights)
        mlp = du.MLP(
            d, K, of("W_1", i), of("W_2", i), "gelu", of("b_1", i, ("fro",)), of("b_2", i, ("fro",))
        )
        net = net >> du.Residual(attention) >> ln("ln_1", i) >> du.Residual(mlp) >> ln("ln_2", i)
    pooler = du.Dense(
        d, of("W_pool"), d, of("b_pool", None, ("fro",)), "tanh", ("W_pool", "b_pool")
    )
    return net >> du.Pool("first") >> pooler >> du.Readout(du.L2(1.0))


def test_it_matches_a_description_written_by_hand(tmp_path):
    m = measured(tmp_path, "bert")
    description = describe(m, {"T": 4})
    hand = hand_built_bert(m)
    ours = du.capacity(description.network, description.inputs, 1e7).gap(0.05, union=du.Grid())
    theirs = du.capacity(hand, du.OneHot(V, 4), 1e7).gap(0.05, union=du.Grid())
    assert float(ours) == pytest.approx(float(theirs), rel=1e-9)
    assert float(ours) < 1
    assert ours.details["union_nats"] == pytest.approx(theirs.details["union_nats"], rel=1e-12)


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_described_network_computes_what_torch_computes(norm_first: bool):
    """The nodes, run on the stored weights, are torch's own encoder."""
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(
        d, H, K, batch_first=True, dropout=0.0, norm_first=norm_first, activation="gelu"
    )
    module = torch.nn.TransformerEncoder(
        layer, L, norm=torch.nn.LayerNorm(d), enable_nested_tensor=False
    )
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    module = module.double().eval()
    m = du.measure(module)
    description = describe(m, {"T": 5, "X.row2inf": 3.0})
    with open_weights(module) as weights:
        made = plan_of(weights, module, None)
        load = {(m.role, m.layer): m.load(weights.load).numpy() for m in made.matrices.values()}
    params = fill(description.network.parameters(d)[0], load)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 5, d))
    X *= 3.0 / np.linalg.norm(X, axis=-1, keepdims=True)
    body, body_params = du.Chain(description.network.nodes[:-1]), params[:-1]
    with torch.no_grad():
        expected = module(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(body.apply(body_params, X), expected, rtol=1e-9, atol=1e-9)
    out = du.capacity(description.network, description.inputs).facts.out
    w = np.eye(d)[:, :1]
    assert np.abs(expected @ w).max() <= math.exp(float(out.radius.log))


def fill(tree, load: dict):
    """Parameters of a described torch encoder, from the matrices by role, in the order of use."""
    layer, norms = -1, 0

    def leaf(part: dict):
        nonlocal layer, norms
        if "W_Q" in part:
            layer += 1
            return {name: load[name, layer] for name in part}
        if "gain" in part:
            return part  # filled below, where the place is known
        return {name: load[name, layer] for name in part if (name, layer) in load}

    def walk(part):
        if isinstance(part, list):
            return [walk(p) for p in part]
        return leaf(part)

    filled = walk(tree)
    places = [("ln_1", 0), ("ln_2", 0), ("ln_1", 1), ("ln_2", 1), ("ln_f", None)]

    def norm(part):
        nonlocal norms
        if isinstance(part, list):
            return [norm(p) for p in part]
        if "gain" in part:
            name, i = places[norms]
            norms += 1
            return {"gain": load[f"{name}.gain", i], "bias": load[f"{name}.bias", i]}
        return part

    return norm(filled)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_family_gets_a_bound_that_is_paid_for(tmp_path, name: str):
    overrides = {"X.row2inf": 1.0} if name == "vit" else {}
    description = describe(measured(tmp_path, name), overrides)
    cap = du.capacity(description.network, description.inputs, 1e9, description.loss)
    with pytest.raises(NotYetPaid, match="union=Grid"):
        cap.gap(0.05)
    bound = cap.gap(0.05, union=du.Grid())
    assert 0 < float(bound) <= cap.loss.range
    assert bound.details["union_nats"] > 100
    _, payments = pay(cap, du.Grid())
    assert all(p.used >= p.observed for p in payments)
    statuses = {a.name: a.status.value for a in description.assumptions}
    assert statuses["dropout"] == "declared" and statuses["activation"] == "checked"
    assert statuses["norms"] == "checked" and statuses["norm layers"] == "declared"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FAMILIES)[::3])
def test_as_many_examples_are_needed_as_make_the_bound_small(tmp_path, name: str):
    """Of every third family: the search over n is the calculus's, and knows no family."""
    description = describe(measured(tmp_path, name), {"X.row2inf": 1.0} if name == "vit" else {})
    cap = du.capacity(description.network, description.inputs, 1e9, description.loss)
    paid, _ = pay(cap, du.Grid())
    needed = cap.log10_needed_n(cap.loss.range / 2, 0.05, du.Grid())
    n = 10**needed
    assert float(cap.gap(0.05, n * 1.001, union=du.Grid())) <= cap.loss.range / 2
    assert float(cap.gap(0.05, n * 0.9, union=du.Grid())) > cap.loss.range / 2
    assert paid.log10_needed_n(cap.loss.range / 2) <= needed  # the union is not forgotten


def test_language_models_keep_their_logits(tmp_path):
    gpt2 = describe(measured(tmp_path, "gpt2"), {})
    assert gpt2.loss.range == pytest.approx(math.log(V))
    assert "E" in {use.tie for use in du.capacity(gpt2.network, gpt2.inputs).facts.uses}
    assert describe(measured(tmp_path, "gpt2"), {"margin": 0.5}).loss.multiclass
    llama = describe(measured(tmp_path, "llama"), {})
    assert isinstance(llama.network.nodes[-1], du.Logits)
    attention = next(
        n.inner.nodes[1]
        for n in llama.network.nodes
        if isinstance(n, du.Residual) and isinstance(n.inner.nodes[1], du.MultiHeadAttention)
    )
    assert attention.rope and attention.causal and attention.groups == 1


def test_rows_that_come_from_elsewhere_need_no_embedding(tmp_path):
    m = measured(tmp_path, "bert")
    description = describe(m, {"X.row2inf": 2.0, "T": 100})
    assert description.inputs.T == 100 and isinstance(description.network.nodes[0], du.Residual)
    with pytest.raises(InputError, match=r"X\.row2inf"):
        describe(measured(tmp_path, "vit"), {})
    with pytest.raises(InputError):  # more tokens than positions
        cap = du.capacity(describe(m, {"T": T + 1}).network, du.OneHot(V, T + 1), 1e6)
        cap.gap(0.05, union=du.Grid())
    with pytest.raises(UnknownName, match=r"w\.l2"):
        describe(m, {"w.l3": 1.0})


def test_near_its_initial_weights_a_network_costs_less(tmp_path):
    config, tensors = checkpoints.bert()
    start = checkpoints.write(tmp_path / "start", config, tensors)
    moved = {k: v + 1e-6 if v.dtype == np.float32 else v for k, v in tensors.items()}
    end = checkpoints.write(tmp_path / "end", config, moved)
    far, near = describe(du.measure(end), {}), describe(du.measure(end, init=start), {})
    n = 1e7
    gaps = [
        float(du.capacity(f.network, f.inputs, n).gap(0.05, union=du.Grid())) for f in (far, near)
    ]
    assert gaps[1] < gaps[0]
    assert "initial weights" in {a.name for a in near.assumptions}


CHANGES = {
    "an unknown tensor": (
        lambda c, t: t.update({"encoder.layer.0.adapter.weight": np.ones((d, d), np.float32)}),
        "adapter",
    ),
    "relative positions": (
        lambda c, t: c.update(position_embedding_type="relative_key"),
        "position_embedding_type",
    ),
    "no ε": (lambda c, t: c.pop("layer_norm_eps"), "ε of the norm layers"),
    "no activation": (lambda c, t: c.pop("hidden_act"), "activation"),
    "no heads": (lambda c, t: c.pop("num_attention_heads"), "heads"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_network_that_is_not_understood_gets_no_bound(tmp_path, what: str):
    change, words = CHANGES[what]
    config, tensors = checkpoints.bert()
    change(config, tensors)
    m = du.measure(checkpoints.write(tmp_path, config, tensors))
    with pytest.raises(InputError, match=words):
        describe(m, {})


def test_rotations_that_scale_the_scores_are_refused(tmp_path):
    config, tensors = checkpoints.llama()
    config["rope_scaling"] = {"rope_type": "yarn", "factor": 4.0}
    m = du.measure(checkpoints.write(tmp_path, config, tensors))
    with pytest.raises(InputError, match="yarn"):
        describe(m, {})

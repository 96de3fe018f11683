"""Every repaired construction is right on every input; every printed one is seen to fail."""

from itertools import product

import numpy as np
import pytest

from dudley.core.errors import InputError, UnknownName
from dudley.networks.capacity import capacity
from dudley.networks.embeddings import Tokens
from dudley.theorems.constructions import bag_head, positions_head, trained_head
from dudley.theorems.constructions.assemble import build
from dudley.theorems.constructions.bases import Basis, almost_orthonormal
from dudley.theorems.constructions.bump import bump_weights, network_of
from dudley.theorems.constructions.targets import all_bits, target
from dudley.theorems.constructions.verify import verify
from each import each

MAPPINGS, HEADS, COHERENCES = (
    ("positions", "trainable", "bag"),
    ("one", "s"),
    (0.0, 0.01, 0.05, 0.1),
)
PAIRS = list(product(MAPPINGS, HEADS))
GRID = list(product(MAPPINGS, HEADS, COHERENCES))


def check_exact(built):
    seen = verify(built)
    assert seen.exhaustive and seen.right, f"{seen.wrong} wrong, first {seen.example}"
    assert seen.head_error <= seen.stated_error
    assert seen.output_error < 1e-12
    for claim, true in built.norms():
        assert claim.ours is not None and true <= claim.ours * (1 + 1e-9), claim


@each("mapping, heads, coherence", GRID)
def test_repaired_is_exact(mapping, heads, coherence):
    for s, T in ((1, 1), (2, 7), (3, 8), (4, 10)):
        for pattern in ("worst", "random"):
            task = target("parity", s)
            check_exact(build(task, T, mapping, "repaired", heads, coherence, pattern=pattern))


@each("task", ["and", "or", "majority", "parity", "threshold"])
@each("mapping, heads", PAIRS)
def test_repaired_is_exact_for_every_task(task, mapping, heads):
    k = 2 if task == "threshold" else None
    check_exact(build(target(task, 3, k), 9, mapping, "repaired", heads, 0.1, seed=4))


@pytest.mark.parametrize("mapping, heads", [("positions", "s"), ("trainable", "s"), ("bag", "one")])
def test_any_truth_table_is_exact(mapping, heads):
    for seed in range(6):
        values = np.random.default_rng(seed).integers(0, 2, 16)
        table = target("table", 4, table=values)
        check_exact(build(table, 8, mapping, "repaired", heads, 0.1, seed=seed))


@pytest.mark.slow
@pytest.mark.parametrize("mapping, heads, coherence", GRID)
def test_repaired_is_exact_on_all_inputs_up_to_16_tokens(mapping, heads, coherence):
    for s, pattern in product((1, 2, 3, 4), ("worst", "random", "equal")):
        for T in (4, 12, 16):
            task = target("parity", s)
            check_exact(build(task, T, mapping, "repaired", heads, coherence, pattern=pattern))


@pytest.mark.slow
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_smaller_gamma_and_more_bits_stay_exact(mapping):
    check_exact(build(target("majority", 7), 14, mapping, coherence=0.05))
    check_exact(build(target("and", 4), 12, mapping, coherence=0.1, γ=0.01))


@pytest.mark.parametrize("s", [2, 3, 4, 5])
@pytest.mark.parametrize("mapping", ["positions", "bag"])
def test_repaired_reaches_the_limit_of_coherence_and_refuses_beyond(s, mapping):
    limit = 1 / (2 * s - 1)
    check_exact(build(target("parity", s), 8, mapping, coherence=0.99 * limit))
    with pytest.raises(InputError, match=r"less than 1/\(2s−1\)"):
        build(target("parity", s), 8, mapping, coherence=1.001 * limit)


@pytest.mark.parametrize("Δ, least", [(0.01, 0.06), (0.05, 0.37), (0.1, 0.7)])
def test_printed_positions_head_is_uneven(Δ, least):
    basis = almost_orthonormal(10, Δ, (0, 1, 2))
    printed = positions_head.one_head(basis, [0, 1, 2], 0.1, "printed")
    assert head_error(printed, 10, 3) > least > printed.stated_error


def test_printed_positions_head_attends_elsewhere_near_its_condition():
    """s = 4, Δ = 0.2 < 1/s: −Δ inside, +Δ to the fifth position, which takes all the attention."""
    gram = np.full((5, 5), -0.2)
    gram[4, :] = gram[:, 4] = 0.2
    np.fill_diagonal(gram, 1.0)
    basis = Basis(np.linalg.cholesky(gram))
    printed = positions_head.one_head(basis, [0, 1, 2, 3], 0.1, "printed")
    flipped = printed.features(np.array([[0, 0, 0, 0, 0], [0, 0, 0, 0, 1]]))
    assert flipped[0, 0] > 0.99 and flipped[1, 0] < -0.99


def test_printed_positions_with_s_heads_is_zero():
    printed = positions_head.s_heads(almost_orthonormal(6), [0, 2], 1.0, "printed")
    assert np.all(printed.features(all_bits(6)) == 0)
    assert head_error(printed, 6, 2, (0, 2)) == 1.0


def test_printed_goal_decreases_and_ours_increases():
    for make in (
        lambda form: positions_head.one_head(almost_orthonormal(5), [0, 1], 1.0, form),
        lambda form: trained_head.one_head(5, [0, 1], 1.0, form),
    ):
        counts = np.array([[0, 0], [1, 0], [1, 1]])
        assert (np.diff(make("printed").goal(counts)[:, 0]) < 0).all()
        assert (np.diff(make("repaired").goal(counts)[:, 0]) == 1).all()


@pytest.mark.parametrize("Δ, least", [(0.01, 0.14), (0.05, 0.8)])
@pytest.mark.parametrize("bits", [False, True])
def test_printed_bag_is_uneven(Δ, least, bits):
    basis = almost_orthonormal(8, Δ, (0, 1, 2))
    printed = bag_head.one_head(basis, [0, 1, 2], 1 / 3, "printed", bits)
    error = head_error(printed, 8, 3)
    assert error > (printed.stated_error if Δ > 0.01 or not bits else 0)
    assert bits or error > least


def test_trained_positions_must_avoid_the_tokens_axes():
    good = trained_head.s_heads(6, [0, 1], 1.0, "printed")
    clash = trained_head.s_heads(6, [0, 1], 1.0, "printed", clash=True)
    assert head_error(good, 6, 2) <= good.stated_error < 0.5 < head_error(clash, 6, 2)


def test_half_of_the_tolerance_fails_behind_a_right_head():
    """The heads err by more than γ/8, which the printed δ = γ/8 does not forgive."""
    repaired = build(target("parity", 1), 12)
    features = repaired.features(all_bits(12))
    γ, points = repaired.selector.γ, repaired.selector.goal(np.array([[0], [1]]))
    wanted = repaired.wanted(all_bits(12))
    for δ, exact in ((γ / 4, True), (γ / 8, False)):
        weights = bump_weights(points, np.array([0.0, 1.0]), δ)
        out = network_of(weights).apply(weights, features)[:, 0]
        assert (np.abs(out - wanted).max() < 1e-9) == exact


@pytest.mark.parametrize("mapping, heads", PAIRS)
def test_printed_networks_fail(mapping, heads):
    if (mapping, heads) == ("bag", "s"):
        pytest.skip("the paper has no s-headed bag")
    seen = verify(build(target("parity", 3), 8, mapping, "printed", heads))
    assert not seen.right and seen.output_error >= 1 and seen.example is not None


def test_the_two_forms_can_be_mixed():
    seen = verify(build(target("and", 2), 6, "trainable", "printed", mlp="repaired"))
    assert seen.right


def test_the_network_is_a_node_of_the_calculus():
    built = build(target("and", 2), 6, coherence=0.1)
    bits = all_bits(6)
    features, outputs = built.run(bits)
    assert np.array_equal(outputs, built.output(bits))
    assert np.array_equal(features, built.features(bits))
    rows = np.linalg.norm(built.selector.mapping(bits), axis=-1).max()
    d = built.selector.mapping.shape[1]
    cap = capacity(built.network, Tokens(row2inf=float(rows), T=7, d=d), n=1000)
    assert float(cap.facts.out.radius.log) >= np.log(np.abs(outputs).max())


def test_bad_requests_are_refused():
    xor = target("parity", 2)
    lopsided = target("table", 2, table=np.array([0, 1, 0, 0]))
    for refuse, match in (
        (lambda: build(lopsided, 4), "symmetric"),
        (lambda: build(xor, 1), "at most T"),
        (lambda: build(xor, 0), "T:"),
        (lambda: build(xor, 4, γ=1.5), "gamma"),
        (lambda: build(xor, 4, "bag", γ=0.6), "gamma"),
        (lambda: build(xor, 4, γ=float("nan")), "gamma"),
        (lambda: build(xor, 4, indices=(0, 4)), "indices"),
        (lambda: build(xor, 4, indices=(1, 1)), "indices"),
        (lambda: build(xor, 4, "bag", "printed", "s"), "no printed"),
        (lambda: build(target("parity", 7), 9, heads="s"), "at most 6"),
        (lambda: build(xor, 4, "bag", "printed", coherence=0.3), "gamma"),
        (lambda: build(xor, 4, "bag", heads="s", coherence=0.5), "1/2"),
        (lambda: build(xor, 4, coherence=float("nan")), "coherence"),
    ):
        with pytest.raises(InputError, match=match):
            refuse()
    for bad in ({"mapping": "rope"}, {"form": "fixed"}, {"heads": "two"}, {"pattern": "odd"}):
        with pytest.raises(UnknownName):
            build(xor, 4, **{"coherence": 0.1, **bad})


def head_error(selector, T, s, I=None):
    bits = all_bits(T)
    relevant = bits[:, list(I or range(s))]
    return float(np.abs(selector.features(bits) - selector.goal(relevant)).max())

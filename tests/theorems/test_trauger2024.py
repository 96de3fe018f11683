"""trauger2024: closed forms against the calculus, numeric checks of slips, must-holds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dudley.calculus import chain
from dudley.calculus.compose import Heads
from dudley.classes.linear import LinearMap
from dudley.core.constraint import L1, L2, L11, Col2Inf, Spectral
from dudley.core.errors import DudleyError, InputError
from dudley.core.statement import MissingInputs
from dudley.core.verdict import Extent, Repair, Verdict
from dudley.networks.activations import Activation
from dudley.networks.capacity import capacity
from dudley.networks.embeddings import Tokens
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems.registry import load
from dudley.theorems.trauger2024.block import block_with_two_activations
from dudley.theorems.trauger2024.two_kinds import crossing, printed_kinds
from each import each

STATEMENTS = {i: s for i, s in load().items() if s.paper == "trauger2024"}
VERDICTS = {
    Verdict.true(): "equation-2.3 lemma-3.3 lemma-3.6 lemma-C.1 lemma-E.1 lemma-E.3 appendix-G",
    Verdict.true(Repair.SYMBOL): "equation-2.4 section-4.2",
    Verdict.undecided(Repair.SYMBOL): "section-2.5",
    Verdict.no_claim(Repair.SYMBOL): "definition-2.6",
    Verdict.undecided(Repair.HYPOTHESIS): "appendix-A theorem-5.1",
    Verdict.false(Repair.CONSTANT, Extent.EDGE): "lemma-3.1",
    Verdict.false(Repair.HYPOTHESIS, Extent.EDGE): "lemma-3.2",
    Verdict.false(Repair.HYPOTHESIS): "theorem-4.1 corollary-4.1.1 corollary-D.0.1 theorem-4.2 "
    "corollary-4.2.1 lemma-E.2 lemma-3.4 lemma-3.5 corollary-D.0.2",
    Verdict.false(Repair.WEAKER): "corollary-F.0.1 corollary-F.0.2",
}
ONE_HEAD = ["theorem-4.1", "corollary-4.1.1", "corollary-D.0.1", "corollary-D.0.2", "theorem-5.1"]
MANY_LAYERS = ["theorem-4.2", "corollary-4.2.1", "corollary-F.0.1", "corollary-F.0.2"]
GRID = 1.1  # upper Riemann sums on four scales per octave exceed the integral by at most this


def value(id: str, inputs: dict, form: str = "derived") -> float:
    return STATEMENTS[f"trauger2024/{id}"].evaluate_on(inputs, form).value


def example(id: str, **changes) -> dict:
    renamed = {name.replace("__", "."): v for name, v in changes.items()}
    return dict(STATEMENTS[f"trauger2024/{id}"].example) | renamed


def log_plus(x: float) -> float:
    return max(0.0, math.log(x))


def dud(C, A, n, L0=0.0) -> float:
    """A closed form of Dudley's integral for log N ≤ L0 + C/ε²."""
    main = 12 * math.sqrt(C / n) * (1 + log_plus(A * math.sqrt(n / C) / 6))
    return min(A, main + 6 * A * math.sqrt(L0 / n))


def test_verdicts_are_as_audited():
    verdicts = {s.id.partition("/")[2]: s.verdict for s in STATEMENTS.values()}
    assert verdicts == {id: verdict for verdict, ids in VERDICTS.items() for id in ids.split()}


@pytest.mark.parametrize(
    "id", ["equation-2.3", "lemma-3.3", "lemma-3.6", "lemma-C.1", "appendix-G"]
)
def test_where_the_paper_is_right_the_derived_form_is_not_larger(id):
    for form in ("derived", "best"):
        if getattr(STATEMENTS[f"trauger2024/{id}"], form) is not None:
            assert value(id, example(id), form) <= value(id, example(id), "printed") * (1 + 1e-12)


@pytest.mark.parametrize("id", ONE_HEAD + MANY_LAYERS)
def test_derived_bounds_do_not_depend_on_the_sequence_length(id):
    unknown = value(id, example(id))
    assert unknown > 0
    for T in (20, 10**6):
        assert value(id, example(id, T=T)) == unknown


@pytest.mark.parametrize(
    "id", ["corollary-4.1.1", "corollary-D.0.1", "corollary-D.0.2", "theorem-5.1"]
)
def test_the_best_form_is_never_above_the_derived_one(id):
    for changes in ({}, {"T": 20}, {"T": 10**6}, {"n": 10_000, "T": 20}):
        inputs = example(id, **changes)
        assert value(id, inputs, "best") <= value(id, inputs) * (1 + 1e-12)


# -- section 2 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1e3, 1e6, 1e10])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_dudley_agrees_with_its_closed_form(C, n):
    numeric = value("equation-2.4", {"n": n, "class.C": C, "class.radius": 2.0})
    closed = dud(C, 2.0, n)
    assert numeric <= GRID * closed
    assert closed <= 4 * numeric  # 12 ∫ stops where C/ε² < log 2


def test_dudley_is_above_the_complexity_of_an_l1_ball():
    rng, d, n = np.random.default_rng(0), 20, 4000
    X = rng.choice([-1.0, 1.0], size=(n, d))  # |x_j| = 1: ‖w‖₁ ≤ 1 gives E max_j |Σ ε_i x_ij|/n
    truth = np.abs(rng.choice([-1.0, 1.0], size=(200, n)) @ X).max(axis=1).mean() / n
    values = {"n": n, "class.C": d * math.log(2 * d + 1), "class.radius": 1.0}
    assert truth <= value("equation-2.4", values, "best") <= value("equation-2.4", values)


def test_the_printed_kinds_cross_at_dk_and_the_covers_at_dk_over_e():
    kinds = printed_kinds(8, 16, 100, 128.0)
    assert kinds["norm_based"] == pytest.approx(kinds["parameter_counting"])
    for d, k in ((8, 16), (64, 64)):
        assert crossing(d, k) == pytest.approx(d * k / math.e, rel=0.1)
        entropy = LinearMap((d, k), L11(1.0)).entropy()
        for factor, winner in ((0.5, "maurey"), (2.0, "volumetric")):
            both = entropy.each(-math.log(factor * crossing(d, k)))
            assert min(("maurey", "volumetric"), key=lambda name: float(both[name])) == winner


def test_a_complexity_does_not_fall_like_one_over_n():
    """d = k = 1, x = 1: sup_{|w| ≤ B} (w/n)Σε_i = B·E|Σε_i|/n ≥ B/√(2n), by Khinchine."""
    for n in (1e4, 1e8):
        inputs = {"d": 1, "k": 2, "n": n, "W.l11": 3.0, "X.row2inf": 1.0}
        truth = 3 / math.sqrt(2 * n)
        assert value("section-2.5", inputs, "printed") < truth < value("section-2.5", inputs)
    with pytest.raises(InputError, match="at least 1"):
        value("section-2.5", example("section-2.5", W__l11=0.5), "printed")


def test_the_block_as_defined_applies_sigma_twice():
    """Pairs of inputs that break the constant for one σ, never the derived one."""
    rng, L_σ = np.random.default_rng(7), 3.0
    triple = Activation("triple", lambda x: L_σ * x, L_σ)
    block = block_with_two_activations(3, *(Spectral(1.0),) * 3, sigma=triple)
    worst = {"printed": 0.0, "derived": 0.0}
    for _ in range(100):
        W_QK, W_v, W_c = (s * rng.normal(size=(3, 3)) for s in (0.01, 0.02, 0.2))
        weights = {"W_QK": W_QK, "W_v": W_v, "W_c": W_c}
        inputs = {f"{name}.op": float(np.linalg.norm(W, 2)) for name, W in weights.items()}
        inputs |= {"sigma.lipschitz": L_σ, "X.row2inf": 1.01}
        Z = rng.normal(size=(2, 2, 3))
        Z /= np.maximum(1, np.linalg.norm(Z, axis=-1, keepdims=True))
        Z[1] = Z[0] + 1e-4 * rng.normal(size=(1, 3)) - 1e-5 * Z[0]
        params = [{"W_QK": W_QK, "W_v": W_v}, {}, {}, {"W_c": W_c}, {}]
        Y = [block.apply(params, z) for z in Z]
        rows = [np.linalg.norm(a, axis=-1).max() for a in (Y[1] - Y[0], Z[1] - Z[0])]
        for form in worst:
            slope = value("definition-2.6", inputs, form)
            worst[form] = max(worst[form], rows[0] / rows[1] / slope)
    assert worst["derived"] <= 1 < worst["printed"]


# -- section 3 -----------------------------------------------------------------------------------


def test_maurey_repaired_holds_where_the_printed_version_fails():
    rng, broken = np.random.default_rng(1), 0
    for _ in range(100):
        d, K = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        a = rng.dirichlet(np.ones(d)) * rng.uniform(0.05, 1)
        tuples = [t for t in itertools.product(range(K + 1), repeat=d) if sum(t) <= K]
        truth = min(((a - np.array(t) / K) ** 2).sum() for t in tuples)  # atoms e_1, …, e_d
        inputs = {"d": d, "terms": K, "combination.mass": a.sum(), "atoms.norm2": 1.0}
        inputs["combination.norm2"] = np.linalg.norm(a)
        inputs = {name: float(x) for name, x in inputs.items()}
        repaired = STATEMENTS["trauger2024/lemma-3.1"].evaluate_on(inputs)
        assert truth <= repaired.value * (1 + 1e-9) + 1e-15
        assert math.exp(repaired.details["log_tuples"]) == pytest.approx(len(tuples))
        printed = STATEMENTS["trauger2024/lemma-3.1"].evaluate_on(inputs, "printed")
        assert math.exp(printed.details["log_tuples"]) < len(tuples) or d > 1
        broken += truth > printed.value + 1e-12
    assert broken > 10


@pytest.mark.parametrize(
    "changes", [{"terms": 1.5}, {"combination.mass": 1.2}, {"combination.norm2": 0.9}]
)
def test_maurey_refuses_what_is_no_convex_combination(changes):
    with pytest.raises(InputError):
        value("lemma-3.1", example("lemma-3.1") | changes)


@pytest.mark.parametrize("ε", [0.9, 0.3, 0.05])
def test_linear_covers_are_below_closed_forms(ε):
    x = 1 / ε
    rows = value("lemma-3.3", example("lemma-3.3", epsilon=ε))
    assert rows <= 64 * math.floor(x * x) * math.log(129) * (1 + 1e-12)
    summed = value("lemma-3.4", example("lemma-3.4", epsilon=ε))
    zhang = 144 * x * x * math.log(2 * math.ceil(8 * x + 2) * 64 + 1) + 2 * 64 * math.log(2)
    assert zhang / 300 <= summed <= zhang
    entries = value("lemma-3.6", example("lemma-3.6", epsilon=ε))
    assert entries <= math.floor(x * x) * math.log(2 * 64 * 64 + 1) * (1 + 1e-12)


def test_covers_vanish_at_the_radius():
    for id in ("lemma-3.3", "lemma-3.4", "lemma-3.5", "lemma-3.6"):
        assert value(id, example(id, epsilon=1.0)) == 0.0


def test_appendix_a_is_what_the_perceptron_cover_by_columns_does():
    k, n = 4, 50
    scalar = LinearMap((8, 1), L2(1.0)).entropy().only(("perceptron",))
    vector = LinearMap((8, k), Col2Inf(1.0)).entropy().only(("perceptron-columns",))
    for ε in (0.5, 0.2):
        inputs = {"k": k, "class.log_cover": scalar(ε, n)}
        assert vector(math.sqrt(k) * ε, n) == pytest.approx(value("appendix-A", inputs))


def test_appendix_a_needs_the_whole_product_or_centres_outside():
    """Nine points, pairwise more than √2·ε apart, with rows in [−1, 1], where 4 are promised."""
    points, ε = np.array(list(itertools.product((-1, 0, 1), repeat=2))), 0.5
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert apart[apart > 0].min() > math.sqrt(2) * ε
    promised = value("appendix-A", {"k": 2, "class.log_cover": math.log(2)}, "printed")
    assert math.log(len(points)) > promised
    centres = np.array(list(itertools.product((-0.5, 0.5), repeat=2)))  # outside the nine
    nearest = np.linalg.norm(points[:, None] - centres[None], axis=-1).min(axis=1)
    assert nearest.max() <= math.sqrt(2) * ε * (1 + 1e-12)


# -- section 4, one head -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1e4, 1e7, 1e10])
@pytest.mark.parametrize("C", [0.0, 1.0, 100.0])
def test_theorem_4_1_agrees_with_its_closed_form(n, C):
    B_x, d = 1.5, 64
    inputs = example("theorem-4.1", n=n, X__row2inf=B_x, class__C=C)
    numeric, slope = value("theorem-4.1", inputs), B_x**2 * math.sqrt(C)
    attention = (
        12 * slope / math.sqrt(n) * (1 + log_plus(math.sqrt(n) * B_x / (6 * slope))) if C else 0
    )
    closed = min(B_x, 2 * (attention + 6 * B_x * math.sqrt(math.log(2 * d) / n)))
    assert closed / 4 <= numeric <= GRID * closed


def test_corollary_4_1_1_is_the_theorem_with_lemma_3_6():
    """C = B_x²B² log(2d²+1), which the exact count never exceeds; printed α is √2 too small."""
    B_x, B, d = 1.5, 2.0, 64
    C = (B_x * B) ** 2 * math.log(2 * d * d + 1)
    theorem = example("theorem-4.1", X__row2inf=B_x, class__C=C)
    corollary = example("corollary-4.1.1", X__row2inf=B_x, W_QK__l11=B)
    assert value("corollary-4.1.1", corollary) <= value("theorem-4.1", theorem) * (1 + 1e-9)
    assert value("theorem-4.1", theorem) <= 3 * value("corollary-4.1.1", corollary)
    scaled = example("corollary-4.1.1", X__row2inf=B_x, W_QK__l11=math.sqrt(2) * B)
    printed = value("theorem-4.1", theorem, "printed")
    assert value("corollary-4.1.1", scaled, "printed") == pytest.approx(printed)


@pytest.mark.parametrize(
    "id, norm",
    [
        ("theorem-4.1", "class.C"),
        ("corollary-4.1.1", "W_QK.l11"),
        ("corollary-D.0.1", "W_QK.col1inf"),
        ("corollary-D.0.2", "W_QK.col21"),
    ],
)
def test_a_negative_printed_value_says_so_and_the_derived_one_is_trivial(id, norm):
    inputs = example(id, n=1000) | {norm: 1e6}
    printed = STATEMENTS[f"trauger2024/{id}"].evaluate_on(inputs, "printed")
    assert printed.negative is not None and printed.vacuous and "negative" in str(printed)
    derived = STATEMENTS[f"trauger2024/{id}"].evaluate_on(inputs)
    assert derived.vacuous and derived.value == pytest.approx(derived.trivial)


def test_a_printed_logarithm_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="ln"):
        value("corollary-D.0.1", example("corollary-D.0.1", n=2), "printed")


def test_derived_complexity_is_above_a_head_that_follows_the_signs():
    """σ = identity, W_QK = 0: the supremum over ‖w‖₁, col1inf ≤ 1 is E max_j |Σ ε_i ā_ij|/n."""
    rng, d, n = np.random.default_rng(3), 8, 500
    averages = rng.choice([-1.0, 1.0], size=(n, d)) / math.sqrt(d)
    truth = np.abs(rng.choice([-1.0, 1.0], size=(300, n)) @ averages).max(axis=1).mean() / n
    inputs = example("corollary-4.1.1", n=n, d=d, k=d, W_QK__l11=0.0)
    for form in ("derived", "best"):
        assert truth <= value("corollary-4.1.1", inputs, form)


def test_shared_readout_makes_the_sum_of_heads_smaller_than_the_sum():
    """Exact over all signs: two heads of five members each in R², w on the unit circle."""
    rng, m = np.random.default_rng(5), 4
    signs = np.array(list(itertools.product((-1, 1), repeat=m)))
    angles = np.linspace(0, 2 * np.pi, 60)
    w = np.stack([np.cos(angles), np.sin(angles)])
    heads = [np.einsum("kdm,em,dw->wke", rng.normal(size=(5, 2, m)), signs, w) for _ in range(2)]
    together = sum(head.max(axis=1) for head in heads).max(axis=0).mean() / m
    apart = [head.max(axis=(0, 1)).mean() / m for head in heads]
    assert together < sum(apart) - 1e-3
    bound = value("section-4.2", {"H": 2, "class.rademacher": max(apart)})
    assert together <= sum(apart) <= bound * (1 + 1e-12)


def test_covering_all_heads_at_once_costs_the_cube_in_the_log_cover():
    head = Head(4096, W_QK=L11(1.0), W_v=L11(1.0), W_c=L11(1.0), query="cls")
    logs, sizes = [], (4, 8, 16)
    for H in sizes:
        net = Heads(head, H) >> Readout(L1(1.0))
        logs.append(math.log(capacity(net, Tokens(1.0, 20), covers=("maurey",)).entropy(0.5)))
    slope = np.polyfit(np.log(sizes), logs, 1)[0]
    assert 2.5 < slope < 3.1


# -- bad input -----------------------------------------------------------------------------------


@each("id", STATEMENTS)
def test_bad_input_gives_no_number(id):
    s = STATEMENTS[id]
    for bad in (-1.0, math.nan, math.inf):
        for name in s.example:
            with pytest.raises(DudleyError):
                s.evaluate_on({**s.example, name: bad})


def test_the_papers_letters_are_accepted():
    letters = {"m": "n", "B_x": "X.row2inf", "B_w": "w.l1", "L_sigma": "sigma.lipschitz"}
    inputs = example("corollary-4.1.1")
    by_letter = {next((a for a, n in letters.items() if n == k), k): v for k, v in inputs.items()}
    assert value("corollary-4.1.1", by_letter) == value("corollary-4.1.1", inputs)
    with pytest.raises(MissingInputs, match=r"X\.row2inf"):
        value("corollary-4.1.1", {k: v for k, v in inputs.items() if k != "X.row2inf"})


def test_derived_chaining_uses_the_rule_it_names():
    """The 4/12 rule by hand, on a fine grid of its own."""
    C, A, n = 2.0, 1.0, 1e6
    grid = np.geomspace(1e-5, A / 2, 20_001)
    root = np.where(C / grid**2 < math.log(2), 0, np.sqrt(C / n) / grid)
    tail = np.concatenate([np.cumsum((np.diff(grid) * root[1:])[::-1])[::-1], [0.0]])
    by_hand = (4 * grid + 12 * tail).min()
    derived = value("equation-2.4", {"n": n, "class.C": C, "class.radius": A})
    assert by_hand * (1 - 1e-3) <= derived <= GRID * by_hand
    assert chain.STEPS == 4

"""The rules over many classes: feasible, near the optimum, and above the truth."""

import math

import numpy as np
import pytest

import calculus_checks
import checks
import dudley as du
import oracles
from dudley.calculus import allocate, chain
from dudley.calculus.allocate import Allocated, WeightBlock
from dudley.core.entropy import PowerLaw
from dudley.core.magnitude import Magnitude
from dudley.networks import files
from each import each


def network(*weights, cases=checks.CASES):
    """Blocks of many classes with the given weights in turn."""
    return Allocated(
        tuple(
            WeightBlock(case.name, case.entropy(), Magnitude.of(weights[i % len(weights)]))
            for i, case in enumerate(cases)
        )
    )


SMALL = [case for case in checks.CASES if case.name in ("l11-linear", "op-bilinear", "vector-l2")]


@each("log_n", [None, math.log(1000), math.log(1e12)])
def test_allocations_are_feasible_and_add_up(log_n):
    for allocated in (network(1.0, 7.0, 0.01), network(3.0, cases=SMALL)):
        for below in (0.01, 0.3, 1.0, 3.0, 10.0, 50.0):
            log_n_used = allocated.rounded(log_n)
            calculus_checks.check_feasible(allocated, allocated.log_radius - below, log_n_used)


@pytest.mark.parametrize("cases", [checks.CASES, SMALL], ids=["many", "three"])
def test_an_allocated_entropy_keeps_the_contract(cases):
    allocated = network(1.0, 5.0, 0.2, cases=cases)
    log_ε = allocated.log_radius - np.linspace(0.0, 14, 3000)
    for log_n in (None, math.log(1000)):
        logs = allocated.log_log(log_ε, log_n)
        assert logs[0] == -math.inf, "not zero at the radius"
        assert (logs[1:] > -math.inf).all()
        assert (np.diff(logs[1:]) >= 0).all(), "increases with the resolution"
    past = allocated.log_log(allocated.log_radius + np.array([1e-12, 0.1, 40.0, 2000.0]))
    assert (past == -math.inf).all()


@each(("B", "b", "R"), [(2.0, 0.5, 3.0), (1.0, 1.0, 1.0), (30.0, 4.0, 0.1)])
def test_one_point_covers_from_the_output_radius_on(B, b, R):
    net = du.Dense(3, du.Spectral(B)) >> du.Readout(w=du.L2(b))
    calculus_checks.check_one_point(du.capacity(net, du.Tokens(R, T=1)))


def test_shipped_networks_cost_nothing_past_their_output_radius():
    for name in ("single-head", "bert-base", "gpt2-small"):
        described = files.load(name)
        for n in (None, 1e6):
            cap = du.capacity(described.network, described.inputs, n)
            A = float(cap.facts.out.radius)
            assert cap.entropy(A * 1.01) == cap.entropy(3 * A) == 0.0 < cap.entropy(A * 0.99)


@each(
    ("Cs", "βs"),
    [
        ([1.0], [1.0]),
        ([1.0, 8.0], [1.0, 1.0]),
        ([2.0, 300.0, 1e-3], [5.0, 0.1, 40.0]),
        (list(np.geomspace(1, 1e6, 12)), list(np.geomspace(1e3, 1e-3, 12))),
    ],
)
@each("share", [0.05, 0.005, 1e-4])
def test_numeric_allocation_is_near_the_closed_form(Cs, βs, share):
    _, parts = allocate.power_law(Cs, βs, 1.0)
    reaches = np.sqrt(np.array(Cs) / math.log(2))  # past it a block costs nothing
    share *= float((reaches / parts).min())
    calculus_checks.check_power_law(allocate, Cs, βs, share)


def test_numeric_allocation_of_parameter_counts():
    """p_i log(1 + 2B_i/ε_i) at small ε: within 1 % of the closed form for p_i log(2B_i/ε_i)."""
    shapes, Bs, βs = [(3, 2), (2, 2), (4, 3)], [1.0, 20.0, 0.3], [1.0, 3.0, 10.0]
    blocks, p = [], [a * b for a, b in shapes]
    for shape, B, β in zip(shapes, Bs, βs, strict=True):
        entropy = du.LinearMap(shape, du.Spectral(B)).entropy()
        blocks.append(WeightBlock("", entropy, Magnitude.of(β)))
    for ε in (1e-4, 1e-8, 1e-100, 1e-250):
        closed, parts = allocate.logarithmic(p, βs, ε)
        closed += sum(pi * math.log(2 * B) for pi, B in zip(p, Bs, strict=True))
        assert math.isclose(float(np.dot(βs, parts)), ε, rel_tol=1e-9)
        numeric = Allocated(tuple(blocks))(ε)
        assert closed <= numeric <= 1.01 * closed


@each("shape", [(4, 1), (3, 2)])
def test_one_block_pays_for_the_whole_step_it_stands_on(shape):
    """Down to ε = B/√2 one Maurey draw serves; the allocator must find the far end of that step."""
    entropy = du.LinearMap(shape, du.L11(1.0)).entropy()
    allocated = Allocated((WeightBlock("", entropy, Magnitude.of(1.0)),))
    draw = math.log(oracles.delannoy(shape[0] * shape[1], 1))
    assert allocated(0.9) == pytest.approx(draw, rel=1e-9)


# -- chains against complexities that are known ------------------


def ball_cases():
    """(name, entropy, A, n, lower bound on the empirical Rademacher complexity)."""
    rng = np.random.default_rng(0)
    for n, d in ((6, 3), (12, 4)):
        X = oracles.inputs(rng, n, d)
        l1 = oracles.rademacher(lambda s, X=X: np.abs(s @ X).max(axis=1), n)
        l2 = oracles.rademacher(lambda s, X=X: np.linalg.norm(s @ X, axis=1), n)
        linf = oracles.rademacher(lambda s, X=X: np.abs(s @ X).sum(axis=1), n)
        yield f"l1-{n}", du.LinearMap((d, 1), du.L1(1.0)).entropy(), 1.0, n, l1
        yield f"l2-{n}", du.LinearMap((d, 1), du.L2(1.0)).entropy(), 1.0, n, l2
        A = math.sqrt(d)
        yield f"linf-{n}", du.LinearMap((d, 1), du.LInf(1.0)).entropy(), A, n, linf
        Z = oracles.inputs(rng, n, d)

        def nuclear(s, X=X, Z=Z):
            return np.linalg.norm(np.einsum("kn,na,nb->kab", s, X, Z), ord="nuc", axis=(1, 2))

        scores = du.LinearMap((d, d), du.Spectral(1.0)).entropy("bilinear")
        yield f"op-{n}", scores, 1.0, n, oracles.rademacher(nuclear, n)
    for n, d in ((400, 4), (3000, 16)):
        X = np.eye(d)[np.arange(n) % d]  # the design at which these balls are most complex
        below = oracles.rademacher_below
        for name, constraint, A, sup in (
            ("l1", du.L1(1.0), 1.0, lambda s, X=X: np.abs(s @ X).max(axis=1)),
            ("l2", du.L2(1.0), 1.0, lambda s, X=X: np.linalg.norm(s @ X, axis=1)),
        ):
            entropy = du.LinearMap((d, 1), constraint).entropy()
            yield f"{name}-{n}", entropy, A, n, below(sup, n, A, rng)


@each("case", ball_cases, ids=lambda case: case[0])
def test_chains_are_above_the_exact_complexity(case):
    _, entropy, A, n, truth = case
    calculus_checks.check_complexity(chain, entropy, A, n, truth)
    assert truth > 0


@each("n", [3, 8, 14])
def test_chains_of_finite_classes_by_enumeration(n):
    rng = np.random.default_rng(n)
    for count in (2, 5, 40):
        F = rng.choice([-1.0, 1.0], size=(count, n))
        truth = oracles.rademacher(lambda s, F=F: (s @ F.T).max(axis=1), n)
        calculus_checks.check_complexity(
            chain, calculus_checks.Finite(math.log(count)), 1.0, n, truth
        )


@each("n", [100, 10**4, 10**8, 10**12])
@each("count", [2, 50, 10**6])
def test_a_finite_class_costs_what_massart_says(count, n):
    calculus_checks.check_finite_class(chain, count, n)


@each("case", checks.CASES[::5], ids=lambda case: case.name)
def test_forms_are_ordered(case):
    log_n = np.log([1.0, 10.0, 1e3, 1e6, 1e9, 1e12])
    grid = chain.scales(log_n)
    entropy = case.entropy()
    calculus_checks.check_forms(
        chain, chain.entropies(entropy, entropy.log_radius, log_n, grid), log_n, grid
    )


@each("log_H", [-math.inf, -5.0, 3.0, 1e3, 1e6])
def test_forms_at_extreme_entropies(log_H):
    log_n = np.log([1.0, 1e12])
    grid = chain.scales(log_n)
    for shape in (0 * grid, -2 * grid, -9 * grid):
        with np.errstate(invalid="ignore"):
            calculus_checks.check_forms(chain, (log_H + shape)[:, None], log_n, grid)


def test_more_data_never_hurts():
    log_n = np.linspace(0, math.log(1e12), 60)  # about two sizes an octave
    octave = math.log(2)  # covers on points are asked for n rounded up to a power of two
    for case in checks.CASES[::7]:
        entropy = case.entropy()
        values = chain.complexity(entropy, entropy.log_radius, log_n)
        assert (values <= 1).all()
        assert (values > 0).all()
        later = chain.complexity(entropy, entropy.log_radius, log_n + octave)
        assert (later <= values * (1 + 1e-9)).all()


@each("n", [1e2, 1e5, 1e9, 1e12])
@each("C", [1e-3, 1.0, 500.0])
def test_riemann_sums_are_upper(C, n):
    calculus_checks.check_power_integral(chain, C, n)


def test_optimised_chains_by_hand():
    rng = np.random.default_rng(5)
    for n in (50.0, 1e4, 1e6):
        log_H = np.log(np.cumsum(rng.exponential(8.0, size=9)))
        log_H[0] = -math.inf
        calculus_checks.check_chain_by_hand(chain, log_H, n)


def test_a_chain_is_the_sum_of_its_links():
    entropy = du.LinearMap((4, 4), du.L11(1.0)).entropy()
    for n in (1e3, 1e6):
        log_n = np.log([n])
        grid = chain.scales(log_n)
        log_H = chain.entropies(entropy, 0.0, log_n, grid)
        for proper in (True, False):
            links = chain.best_chain(chain.massart(log_H, log_n)[:, 0], grid, proper)
            total = sum(cost for _, cost in links) + math.exp(links[-1][0])
            value = float(chain.optimised(log_H, log_n, grid, proper)[0])
            assert math.isclose(total, value, rel_tol=1e-9)


# -- power laws ------------------


def test_power_laws_have_the_shape_they_say():
    entropy = PowerLaw(5.0, radius=2.0)
    checks.check_entropy(entropy)
    improper = PowerLaw(5.0, is_proper=False)
    for ε in (0.1, 0.5):
        assert math.isclose(improper.proper()(ε), improper(ε / 2), rel_tol=1e-12)

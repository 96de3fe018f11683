"""How often hold-out numbers fail, and that each way to cheat is caught.

δ = 0.1 throughout. Ours may fail as often as δ allows (exact binomial test); a leaky variant of a
trap must fail at 3δ or more. Risks are known; most toys sit where Clopper and Pearson are tight.
"""

import math
from functools import cache

import numpy as np
import pytest

from certificates.parts import Part
from certificates.validity import NoisyCopies, allowed, failures, leaks, reader, tight
from dudley.calculus.inversion import binomial_lower, binomial_upper
from dudley.certificates.auto import best_of
from dudley.certificates.base import METHODS
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.hold_out.interval import upper
from dudley.certificates.methods.hold_out.intervals.betting import log_capital, plug_in
from dudley.certificates.methods.hold_out.method import HoldOut
from dudley.certificates.pool import hypergeometric_upper
from dudley.core.errors import InputError

δ, REPETITIONS = 0.1, 600
C = math.log(1 / δ)
N, P = 80, tight(5, 80, δ)  # examples, and a risk at which 5 errors of 80 are just too few
METHOD = HoldOut()


def ours_holds(draw, certify, truth, seed=0, repetitions=REPETITIONS) -> int:
    failed = failures(draw, certify, truth, repetitions, seed)
    assert allowed(failed, repetitions, δ), f"{failed} of {repetitions} fail"
    return failed


def leaky_fails(draw, certify, truth, seed=0, repetitions=REPETITIONS) -> None:
    failed = failures(draw, certify, truth, repetitions, seed)
    assert leaks(failed, repetitions, δ), f"only {failed} of {repetitions} fail"


def bound(errors, n=N, c=C) -> float:
    return _bound(int(errors), n, c)


@cache  # some hundred repetitions have some dozen numbers of errors
def _bound(errors: int, n: int, c: float) -> float:
    return binomial_upper(errors, n, c)


# -- the harness ------------------------------------------------------------------------------


def test_clopper_pearson_is_nearly_tight_here_so_a_wrong_delta_is_seen():
    toy = NoisyCopies((P,), N)
    failed = ours_holds(toy, lambda data: METHOD(reader(1, 0), data, delta=δ).value, P)
    assert failed >= REPETITIONS * δ / 2
    wrong = failures(toy, lambda data: bound(toy.errors(data)[0], N, C - math.log(2)), P, 2000, 0)
    assert not allowed(wrong, 2000, δ)


@pytest.mark.parametrize(
    "interval", ["hoeffding", "hoeffding-kl", "empirical-bernstein", "fixed-bets", "betting"]
)
def test_intervals_hold_for_losses_of_two_kinds(interval):
    for shape in ((0.3, 2.0), (2.0, 2.0)):
        mean = shape[0] / sum(shape)

        def draw(rng, shape=shape):
            return rng.beta(*shape, 40)

        ours_holds(draw, lambda z: upper(interval, z, C), mean, repetitions=300)
    ours_holds(lambda rng: (rng.random(40) < P) * 1.0, lambda z: upper(interval, z, C), P)


def test_betting_is_nearly_tight_so_a_wrong_capital_is_seen():
    """A bound is below P exactly where P itself is refuted: no inversion is needed."""

    def refuted(z, c):
        m = P * (1 - 1e-9)
        return float(not (log_capital(z, plug_in(z, C), m) >= c))

    def draw(rng):
        return (rng.random(N) < P) * 1.0

    failed = ours_holds(draw, lambda z: refuted(z, C), 0.5, repetitions=2000)
    assert failed >= 2000 * δ / 3
    wrong = failures(draw, lambda z: refuted(z, C - 1), 0.5, 2000, 0)
    assert not allowed(wrong, 2000, δ)


# -- the traps --------------------------------------------------------------------------------


@pytest.mark.slow
def test_trap_1_the_best_of_several_methods(monkeypatch):
    names = [f"part-{i}" for i in range(4)]
    for i, name in enumerate(names):
        monkeypatch.setitem(METHODS._units, name, Part(i, 4))
    n = 40
    risk = tight(0, n, δ / 4)  # tight where each is claimed at its share
    toy, model = NoisyCopies((risk,), 4 * n), reader(1, 0)
    ours_holds(
        toy, lambda data: best_of(model, data, None, names, δ).best.value, risk, repetitions=500
    )
    risk = tight(3, n, δ)
    toy = NoisyCopies((risk,), 6 * n)

    def unsplit(data):
        wrong = (data.y[:, None] != data.X)[:, 0]
        return min(bound(wrong[i::6].sum(), n) for i in range(6))

    leaky_fails(toy, unsplit, risk)


def test_trap_2_the_smallest_of_several_intervals():
    toy, model = NoisyCopies((P,), N), reader(1, 0)
    every = ["clopper-pearson", "hoeffding", "hoeffding-kl", "empirical-bernstein"]
    ours_holds(toy, lambda data: METHOD(model, data, delta=δ, interval=every).value, P)
    orders = [np.random.default_rng(i).permutation(N) for i in range(64)]  # 64 betting intervals

    def unpaid(z):
        m = P * (1 - 1e-9)
        return float(
            z.mean() >= m or not any(log_capital(z[o], plug_in(z[o], C), m) >= C for o in orders)
        )

    leaky_fails(lambda rng: (rng.random(N) < P) * 1.0, unpaid, P, repetitions=500)


def test_trap_3_an_order_chosen_after_looking():
    def draw(rng):
        return (rng.random(40) < P) * 1.0

    ours_holds(draw, lambda z: upper("betting", z, C), P, repetitions=500)
    leaky_fails(draw, lambda z: upper("betting", np.sort(z), C), P, repetitions=500)


@pytest.mark.slow
def test_trap_4_a_hold_out_used_for_selection():
    M = 8
    tight_for = {looks: tight(5, N, δ / looks) for looks in (1, M)}

    def selected(looks, risk):
        toy = NoisyCopies((risk,) * M, N)

        def certify(data):
            best = int(toy.errors(data).argmin())
            return METHOD(reader(M, best), data, delta=δ, looks=looks).value, best

        return toy, certify, risk

    failed = ours_holds(*selected(M, tight_for[M]))
    assert failed >= REPETITIONS * δ / 3
    leaky_fails(*selected(1, tight_for[1]))


def test_trap_4_unequal_risks():
    """Sixteen models, most of them worse: the chosen one's own risk is what is bounded."""
    risks = tuple(np.linspace(P, 2 * P, 16))
    toy = NoisyCopies(risks, N)

    def certify(data):
        best = int(toy.errors(data).argmin())
        return METHOD(reader(16, best), data, delta=δ, looks=16).value, best

    ours_holds(toy, certify, lambda best: risks[best])


def test_trap_12_ties_are_errors():
    W_v = np.array([[-1.0], [-1], [1], [1], [0]])  # two bits vote, and tie where they differ
    first_bit = reader(2, 0)
    voters = Hypothesis(
        first_bit.tables, first_bit.encoding_table, {"0.v": np.zeros((5, 1)), "0.W_v": W_v}
    )
    toy = NoisyCopies((0.1, 0.1), N)
    risk = 1 - 0.9**2
    ours_holds(toy, lambda data: METHOD(voters, data, delta=δ).value, risk)
    leaky_fails(toy, lambda data: bound((voters.margins(data) < 0).sum()), risk)


def test_trap_19_copies_are_not_examples():
    toy, model = NoisyCopies((P,), N), reader(1, 0)
    units = np.repeat(np.arange(N), 16)

    def augmented(data):
        return Dataset(data.X[units], data.y[units])

    leaky_fails(toy, lambda data: bound(16 * toy.errors(data)[0], 16 * N), P)
    some = augmented(toy(np.random.default_rng(0)))
    with pytest.raises(InputError, match="1280 examples of 80 groups"):
        Dataset(some.X, some.y, units)
    ours_holds(toy, lambda data: METHOD(model, data.part(np.arange(N)), delta=δ).value, P)


def test_trap_21_a_pool_is_not_the_population():
    population, size, n = 0.1, 100, 95

    def draw(rng):
        pool = rng.random(size) < population
        return pool, rng.permutation(size)[:n]

    def about_pool(drawn):
        pool, rows = drawn
        return hypergeometric_upper(int(pool[rows].sum()), n, size, C) / size, pool.mean()

    ours_holds(draw, about_pool, lambda share: share - 1e-12, repetitions=2000)
    leaky_fails(draw, lambda drawn: about_pool(drawn)[0], population)
    ours_holds(draw, lambda drawn: bound(drawn[0][drawn[1]].sum(), n), population)
    data = NoisyCopies((0.1,), n)(np.random.default_rng(0))
    certificate = METHOD(reader(1, 0), data, delta=δ, pool=size)
    assert "of the pool" in certificate.quantity and certificate.declared.pool == size


def test_trap_24_two_sided_intervals_spend_delta_twice():
    """[lower, upper] for the model and for the constant: four ends, each at δ, called one δ."""
    n = 400
    toy = NoisyCopies((0.3,), n)

    def worst_end(c):
        def slack(data):
            gaps = []
            for errors, risk in ((toy.errors(data)[0], 0.3), (int(data.y.sum()), 0.5)):
                gaps += [bound(errors, n, c) - risk, risk - binomial_lower(int(errors), n, c)]
            return min(gaps)

        return slack

    leaky_fails(toy, worst_end(C), 0.0, repetitions=1000)
    ours_holds(toy, worst_end(math.log(4 / δ)), 0.0, repetitions=1000)


def test_trap_25_several_models_at_once():
    M = 8
    for looks, holds in ((1, leaky_fails), (M, ours_holds)):
        risk = tight(5, N, δ / looks)
        toy = NoisyCopies((risk,) * M, N)
        c = math.log(looks / δ)
        holds(toy, lambda data, c=c, toy=toy: min(bound(e, N, c) for e in toy.errors(data)), risk)


@pytest.mark.slow
def test_trap_25_several_sizes_of_one_data_set():
    sizes = [20 * 2**i for i in range(8)]
    for ways, holds in ((1, leaky_fails), (len(sizes), ours_holds)):
        c = math.log(ways / δ)

        def smallest(z, c=c):
            errors = np.cumsum(z)
            return min(bound(errors[n - 1], n, c) for n in sizes)

        holds(lambda rng: rng.random(sizes[-1]) < 0.2, smallest, 0.2, repetitions=500)


def test_trap_26_vacuity_is_against_the_lower_end_of_the_majority_class():
    """A constant is certified: to say that it beats constants is the failure."""
    n, minority = 300, 0.2

    def draw(rng):
        y = (rng.random(n) < minority).astype(int)
        return Dataset((y[:, None] ^ (rng.random((n, 1)) < minority)).astype(np.uint8), y)

    model, rng, said = reader(1, 0), np.random.default_rng(0), np.zeros(3, int)
    for _ in range(REPETITIONS):  # the model errs on a fifth, as does the constant
        certificate = METHOD(model, draw(rng), delta=δ)
        upper_end = bound(certificate.baseline["errors"], n)
        said += [not certificate.vacuous, certificate.value < 0.5, certificate.value < upper_end]
    assert allowed(said[0], REPETITIONS, δ)
    assert leaks(said[1], REPETITIONS, δ)  # "below chance"
    assert leaks(said[2], REPETITIONS, δ)  # below the upper end for the constant

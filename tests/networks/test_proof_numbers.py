"""A proof is recomputed from its text: composition, covers, splits, chain, deviation, bound."""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import binom

import dudley as du
from dudley.calculus.union import pay
from dudley.classes.counting import log_log_delannoy
from dudley.classes.directions import lines, worth_trying
from dudley.core.constraint import Observed
from dudley.networks import files
from dudley.networks.proof import local
from each import each
from proof_text import Read, after, log, read

S = du.Spectral(2.0)
TOKENS = du.Tokens(1.0, T=4, d=8)
DENSE = du.Dense(8, S)
READOUT = du.Readout(du.L2(1.0))
SEEN = du.Spectral(Observed(1.7))


def example(name: str, n: float) -> du.Capacity:
    described = files.load(name)
    return du.capacity(described.network, described.inputs, n, described.loss)


def on(net, n: float, loss=None, tokens=TOKENS) -> du.Capacity:
    return du.capacity(net, tokens, n, loss)


CASES = {
    "one-hot rows": lambda: on(du.Repeat(DENSE, 3) >> READOUT, 1e6, tokens=du.OneHot(8, T=4)),
    "peeled readout": lambda: example("single-head", 1e6),
    "positions, attention, logits": lambda: example("trauger2024-head", 1e13),
    "twelve layers": lambda: example("vit-b", 1e13),
    "residual heads": lambda: on(
        du.Residual(du.Heads(du.Head(8, du.L11(2.0), du.L11(1.0)), 3)) >> READOUT, 1e5
    ),
    "points": lambda: on(du.Dense(1024, du.L2(2.0)) >> READOUT, 1e6, tokens=du.Tokens(1.0, T=1)),
    "paid": lambda: on(du.Dense(8, SEEN) >> du.Dense(8, SEEN) >> READOUT, 1e7),
    "margin": lambda: on(DENSE >> READOUT, 1e5, du.Margin(0.5)),
    "margin, past counting": lambda: on(DENSE >> READOUT, 1e7, du.Margin(0.5)),
    "mean loss, paid": lambda: on(du.Dense(8, SEEN) >> READOUT, 1e6, du.Loss(2.0, 3.0)),
    "alarms": lambda: on(DENSE >> du.LayerNorm(8, least_std=0.5) >> READOUT, 1e7),
    "shared": lambda: on(du.Repeat(du.Dense(8, S.tied("W")), 3) >> READOUT, 1e6),
    "vacuous": lambda: example("vit-b", 10.0),
    "one function": lambda: on(READOUT, 1e6),
    "zero": lambda: on(du.Dense(8, du.Spectral(0.0)) >> READOUT, 1e6),
}
OPTIONS = {
    "paid": {"union": du.Grid()},
    "margin": {"train_error": 0.01},
    "margin, past counting": {"train_error": 0.01},
    "mean loss, paid": {"train_error": 0.02, "union": du.Grid()},
}
ONE_SCALE = [case for case in CASES if "train_error" in OPTIONS.get(case, {})]
CHAINED = [case for case in CASES if case not in ONE_SCALE]
EMPTY = ("vacuous", "one function", "zero")  # nothing is split


@cache
def proved(case: str) -> tuple[du.Capacity, du.Bound, dict[str, Read]]:
    cap, options = CASES[case](), OPTIONS.get(case, {})
    return cap, cap.gap(0.05, **options), read(cap.proof(0.05, **options))


# -- what the lemmas say, written anew -------------------------------------------------------------


def log_delannoy(p: float, K: float) -> float:
    """log Σ_k C(p, k) C(K, k) 2^k."""
    k = np.arange(min(p, K) + 1)
    chosen = gammaln(p + 1) - gammaln(k + 1) - gammaln(p - k + 1)
    signs = gammaln(K + 1) - gammaln(k + 1) - gammaln(K - k + 1) + k * math.log(2)
    return float(logsumexp(chosen + signs))


def sizes(words: str) -> dict[str, float]:
    return {name: float(x) for name, x in re.findall(r"(\w) = ([\d.e+]+)", words)}


COVERS = {
    "volumetric": lambda log_x, p: p * np.logaddexp(0, math.log(2) + log_x),
    "maurey": lambda log_x, p: log_delannoy(p, math.ceil(math.exp(2 * log_x)) - 1),
    "rounding-nearest": lambda log_x, p: log_delannoy(
        p, math.ceil(math.sqrt(p) * math.exp(log_x) / 2) + math.ceil(p / 2)
    ),
    "grid": lambda log_x, p: p * (log_x if log_x > 30 else math.log(math.ceil(math.exp(log_x)))),
    "spherical": lambda log_x, N: min(
        math.exp(log_log_delannoy(math.log(N) + log_m, K, math.log(K)))
        for t, log_m in worth_trying(lines(1024))
        for K in [math.ceil(t * math.exp(2 * log_x)) - 1]
    ),
}
COUNTED = ("maurey", "rounding-nearest")  # by a bound on D(p, K), which is as near as that


def tables(step: Read, head: str) -> list[tuple[str, list[dict[str, str]]]]:
    return [(title, rows) for title, rows in step.tables if head in rows[0]]


def links(steps: dict[str, Read]) -> list[dict[str, str]]:
    chain = steps.get("Chaining") or steps.get("Peeling and chaining")
    return [row for _, rows in (chain.tables if chain else []) for row in rows]


# -- step by step ----------------------------------------------------------------------------------


@each("case", CASES)
def test_the_walk_and_the_facts_agree(case):
    """The weights of the composition table are those of the facts, which the bound is made from."""
    cap = proved(case)[0]
    cap = pay(cap, du.Grid())[0]
    (table,) = (t for step in local.steps(cap) for t in step.tables if t.heads[0] == "block")
    walked = sorted((log(str(row[4])), row[1]) for row in table.rows)
    facts = sorted((w, use.copies) for use in cap.facts.uses for w in np.ravel(use.weight.log))
    np.testing.assert_allclose(walked, facts, rtol=1e-9, atol=1e-9)


@each("case", CASES)
def test_weights_are_products_of_the_slopes_behind(case):
    steps = proved(case)[2]
    slopes: dict[str, float] = {}
    for step in steps.values():
        for _, rows in tables(step, "node"):
            for row in rows:
                at, slope = row["node"].removeprefix("network"), log(row["Lipschitz"])
                slopes[at] = max(slopes.get(at, -math.inf), slope)  # a residual is above its inside
    (_, blocks), *_ = tables(steps["Composition"], "block")
    for row in blocks:
        behind = 0.0
        places = [row["block"].rpartition(".")[0]]
        while places[-1]:
            places.append(re.sub(r"(\[\d+\]|(^|\.)\d+)$", "", places[-1]))
        for place, around in pairwise(places):
            number = int(re.findall(r"\d+", place)[-1])
            form = around + "[{}]" if place.endswith("]") else f"{around}.{{}}".lstrip(".")
            later = number + 1
            while (sibling := form.format(later)) in slopes:
                behind += slopes[sibling]
                later += 1
        assert log(row["slopes behind"]) == pytest.approx(behind, rel=1e-8, abs=1e-7)
        assert log(row["w"]) == pytest.approx(
            log(row["own weight"]) + log(row["slopes behind"]), rel=1e-8, abs=1e-7
        )


@each("case", CASES)
def test_splits_keep_the_resolution_and_add_up_to_the_entropy(case):
    steps = proved(case)[2]
    splits = tables(steps["Allocation"], "β") if "Allocation" in steps else []
    (_, blocks), *_ = tables(steps["Composition"], "block")
    weights = {row["block"]: log(row["w"]) for row in blocks}
    alarms = {row["block"]: log(row["alarm"]) for row in blocks if "alarm" in row}
    stated = [step.words for step in steps.values() if "Here L_ℓ" in step.words]
    L = after("L_ℓ =", stated[0]) if stated else 1.0
    for title, rows in splits:
        d, entropy = re.findall(r"= (\S+): entropy (\S+)", title)[0]
        used = [log(r["times"]) + log(r["β"]) + log(r["ε"]) for r in rows]
        prices = [log(r["times"]) + log(r["log N"]) for r in rows]
        assert logsumexp(used) <= log(d) + 1e-8
        assert logsumexp(prices) == pytest.approx(log(entropy), rel=1e-8, abs=1e-8)
        for row in rows:
            if row["block"] in weights:
                β = max(weights[row["block"]] + math.log(L), alarms.get(row["block"], -math.inf))
                assert log(row["β"]) == pytest.approx(β, rel=1e-8, abs=1e-7)
    assert splits or case in EMPTY


@each("case", CASES)
def test_covers_cost_what_their_formulas_say(case):
    steps = proved(case)[2]
    here = {
        (title.removeprefix("Cover: "), row["block"]): (log(row["B"]), sizes(row["sizes"]))
        for title, step in steps.items()
        if title.startswith("Cover: ")
        for _, rows in step.tables
        for row in rows
    }
    checked = 0
    for _, rows in tables(steps["Allocation"], "β") if "Allocation" in steps else []:
        for row in rows:
            if row["cover"] == "one point":
                assert log(row["log N"]) == -math.inf
            elif row["cover"] in COVERS:
                log_B, measures = here[row["cover"], re.sub(r"\[\d+\]", ".*", row["block"])]
                size = measures["N" if row["cover"] == "spherical" else "p"]
                cost = COVERS[row["cover"]](log_B - log(row["ε"]), size)
                above = 8.0 if row["cover"] in COUNTED else 0.0
                assert -1e-6 * cost <= math.exp(log(row["log N"])) - cost <= 1e-6 * cost + above
                checked += 1
    assert checked or case in EMPTY


@each("case", CHAINED)
def test_links_cost_what_the_lemma_says(case):
    cap, _, steps = proved(case)
    rows = links(steps)
    if not rows:
        assert case in EMPTY
        return
    peels = "Peeling and chaining" in steps
    chain = steps["Peeling and chaining" if peels else "Chaining"].words
    (stated,) = (step.words for step in steps.values() if "so A =" in step.words)
    A = after("so A =", stated)
    n, members = after("at n =", chain), "Centres are members" in chain
    above = A
    for j, row in enumerate(rows, 1):
        d, N = float(row["d"]), math.exp(log(row["log N(d)"]))
        length = A if j == 1 else above + (0.0 if members else d)
        assert float(row["length"]) == pytest.approx(length, rel=1e-8)
        price = math.sqrt(2 * N / n)
        if peels:
            price = math.sqrt(2 * (N + math.log(2)) / n) if N else 1 / math.sqrt(n)
        cost = length * price
        if peels and j == 1:
            reach = min(float(cap.loss.range) / 2, A)
            cost = min(cost, reach * math.sqrt(2 * N / n) + A / math.sqrt(n))
        assert float(row["cost"]) == pytest.approx(cost, rel=1e-7)
        above = d
    total = above + sum(float(row["cost"]) for row in rows)
    assert after("R ≤", chain) == pytest.approx(total, rel=1e-8)
    titles = [title for title, _ in tables(steps.get("Allocation", Read("")), "β")]
    for row in rows:
        if float(row["log N(d)"] if "^" not in row["log N(d)"] else 1):
            assert any(f"= {row['d']}: entropy {row['log N(d)']}" in title for title in titles)


@each("case", CHAINED)
def test_the_steps_add_up_to_the_printed_bound(case):
    cap, bound, steps = proved(case)
    chain = (steps.get("Chaining") or steps["Peeling and chaining"]).words
    R = after("R ≤ A =", chain) if "R ≤ A =" in chain else after("R ≤", chain)
    words, b, n = steps["Deviation"].words, float(cap.loss.range), float(cap.n)
    nats = after("they cost", steps["Union bound"].words) if "Union bound" in steps else 0.0
    deviation = b * math.sqrt((math.log(1 / 0.05) + nats) / (2 * n))
    assert after("= ", words.split("√")[1]) == pytest.approx(deviation, rel=1e-8)
    total = min(2 * R + deviation, b)
    printed = after("≤", steps["Together, at n = " + f"{n:g}"].words)
    assert printed == pytest.approx(total, rel=1e-5) == pytest.approx(bound.value, rel=1e-8)


@each("case", ONE_SCALE)
def test_one_scale_adds_up_to_the_printed_bound(case):
    cap, bound, steps = proved(case)
    (words,) = (step.words for title, step in steps.items() if title.startswith("One scale"))
    nats = after("they cost", steps["Union bound"].words) if "Union bound" in steps else 0.0
    ((title, _),) = tables(steps["Allocation"], "β")
    ε, entropy = map(float, re.findall(r"= (\S+): entropy (\S+)", title)[0])
    c = entropy + math.log(1 / 0.05) + nats
    n, q, b, L = float(cap.n), OPTIONS[case]["train_error"], cap.loss.range, cap.loss.lipschitz
    moved = 0.0
    if not isinstance(cap.loss, du.Margin):
        c, moved = c + math.log(40), L * ε
    else:
        assert ε == pytest.approx(1 / (2 * L), rel=1e-8)
    stated = float(re.search(r"= (\S+) nats, at", words)[1])
    assert stated == pytest.approx(c, rel=1e-8)
    risk = after("the risk is at most", words)
    p = (risk - moved) / b
    if isinstance(cap.loss, du.Margin) and n <= 1e6:
        assert binom.logcdf(round(q * n), n, p) == pytest.approx(-c, rel=1e-6)
    else:
        share = (q + moved) / b
        kl = share * math.log(share / p) + (1 - share) * math.log((1 - share) / (1 - p))
        assert kl == pytest.approx(c / n, rel=1e-6)
    printed = after("≤", steps["Together, at n = " + f"{n:g}"].words.split("risk −")[1])
    assert printed == pytest.approx(risk - q, rel=1e-5) == pytest.approx(bound.value, rel=1e-8)


def test_what_was_paid_is_listed():
    steps = proved("paid")[2]
    ((_, rows),) = steps["Union bound"].tables
    prices = [du.Grid().round_up(float(row["read off"])) for row in rows]
    assert [(float(r["on the grid"]), float(r["nats"])) for r in rows] == [
        (pytest.approx(used), pytest.approx(nats)) for used, nats in prices
    ]
    assert after("they cost", steps["Union bound"].words) == pytest.approx(
        sum(nats for _, nats in prices), rel=1e-8
    )


def test_a_wrong_number_is_seen():
    """A proof in which one link is cheaper does not add up."""
    cap = proved("peeled readout")[0]
    text = cap.proof(0.05)
    cost = links(read(text))[0]["cost"]
    steps = read(text.replace(cost, f"{float(cost) * 0.99:.9g}"))
    rows = links(steps)
    total = float(rows[-1]["d"]) + sum(float(row["cost"]) for row in rows)
    assert after("R ≤", steps["Peeling and chaining"].words) != pytest.approx(total, rel=1e-6)

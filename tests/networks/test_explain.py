"""Explain: shares sum to one, covers are known, the tree shows every block."""

from __future__ import annotations

import math
import re

import pytest

import dudley as du
from dudley.classes.covers.base import COVERS
from dudley.networks import explain, files
from each import each

S = du.Spectral(1.0)
HEADS = {"W_Q": S, "W_K": S, "W_v": S, "W_c": S}
LN, MLP = du.LayerNorm(8, 1e-5, du.LInf(1.0), du.L2(1.0)), du.MLP(8, 16, S, S)
NETWORKS = {
    "head": du.Head(8, W_QK=du.L11(2.0), W_v=du.L11(1.0), W_c=du.L11(1.0)),
    "heads": du.Heads(du.Head(8, W_QK=S, W_v=S, W_c=S), 3),
    "parallel": du.Parallel((du.Head(8, S, S, W_c=S), du.Head(8, du.L11(3.0), S, W_c=S))),
    "repeat": du.Repeat(du.trauger_block(8, S, S, S), 5),
    "pre-ln": du.Repeat(du.pre_ln_block(MLP, LN, d=8, H=2, **HEADS), 3),
    "tied": du.Dense(8, S.tied("A")) >> du.Activate("relu") >> du.Dense(8, S.tied("A")),
    "rank": du.Dense(8, du.Rank(1) & S) >> du.Pool(),
}


def cap(name: str, n: float | None = 1e8) -> du.Capacity:
    return du.capacity(NETWORKS[name] >> du.Readout(du.L2(1.0)), du.Tokens(1.0, T=4), n)


@each(
    ("name", "n"), [*((name, 1e8) for name in NETWORKS), *(("head", n) for n in (None, 10, 1e12))]
)
def test_shares_sum_to_one(name: str, n):
    rows, log_ε, log_n = explain.shares(cap(name, n))
    assert sum(row.share for row in rows) == pytest.approx(1.0, abs=1e-6)
    assert all(0 <= row.share <= 1 + 1e-9 for row in rows)
    assert log_ε < 0 < log_n and math.isfinite(log_n)


@pytest.mark.parametrize("name", NETWORKS)
def test_covers_and_weights_are_those_of_the_blocks(name: str):
    c = cap(name)
    rows = explain.shares(c)[0]
    assert {row.cover for row in rows} <= {*COVERS, "one point", "peeled"}
    assert all(row.name == "w" for row in rows if row.cover == "peeled")
    assert any(row.cover in COVERS for row in rows)
    assert [row.block for row in rows] == [block.name for block in c.allocated.blocks]
    for row, block in zip(rows, c.allocated.blocks, strict=True):
        logs = block.weight.log / math.log(10)
        low, high = (logs.min(), logs.max()) if getattr(logs, "ndim", 0) else (logs, logs)
        assert row.log10_weight == pytest.approx((low, high))
        assert row.share > 0 or row.cover in ("one point", "peeled")


def test_the_costliest_scale_is_that_of_the_given_n():
    assert explain.dominant_scale(cap("head", 1e9))[1] == pytest.approx(math.log(1e9))
    needed = cap("head", None).log10_needed_n(0.5) * math.log(10)
    assert explain.dominant_scale(cap("head", None))[1] == pytest.approx(needed)
    assert explain.dominant_scale(cap("head", 2))[1] == pytest.approx(needed)  # vacuous there


@pytest.mark.parametrize("name", NETWORKS)
def test_the_tree_shows_every_block_once(name: str):
    c = cap(name)
    tree, rows = c.explain(), explain.shares(c)[0]
    for row in rows:
        assert tree.count(str(row)) >= 1, row
    assert len(re.findall(r"share \d+\.\d%", tree)) == len(rows)
    assert tree.splitlines()[0].startswith("shares of the entropy at ε = ")
    assert tree.splitlines()[-1] == f"culprit: {explain.culprit(c)}"
    assert not re.search(r"\b(nan|inf)\b", tree)


def test_the_tree_shows_its_nodes():
    tree = cap("pre-ln").explain()
    for words in ("3 × Chain", "+ Chain", "LayerNorm", "MultiHeadAttention", "Dense", "Readout"):
        assert words in tree
    assert "3 heads × Head" in cap("heads").explain()
    assert "shared: A" in cap("tied").explain()
    assert "×3" in tree  # three blocks alike


def test_the_culprit_is_the_costliest_block():
    c = cap("head")
    top = max(explain.shares(c)[0], key=lambda row: row.share)
    assert explain.culprit(c) == f"W_QK holds {top.share:.0%} of the entropy"


def test_the_steepest_kind_is_named():
    description = files.load("bert-base")
    c = du.capacity(description.network, description.inputs, 1e12, description.loss)
    budget = explain.lipschitz_budget(c)
    assert max(budget, key=lambda kind: budget[kind]) == "LayerNorm"
    assert budget["LayerNorm"] == pytest.approx(24 * 6, abs=0.01)  # 1/√ε = 10^6, twice a block
    assert "in LayerNorm" in explain.culprit(c)


def test_the_lipschitz_budget_counts_every_layer_where_it_stands():
    """Where radii grow, later layers are steeper than the first."""
    grow = du.Residual(du.Head(8, W_QK=du.Spectral(2.0), W_v=du.Spectral(2.0)))
    c = du.capacity(du.Repeat(grow, 6) >> du.Readout(du.L2(1.0)), du.Tokens(1.0, T=4), 1e6)
    total = sum(explain.lipschitz_budget(c).values())
    assert total == pytest.approx(float(c.facts.lipschitz.log10), rel=0.05)


@pytest.mark.parametrize(
    ("log_x", "text"),
    [(-math.inf, "0"), (0.0, "1"), (math.log(1234), "1.23e+03"), (2771.0, "10^1203")],
)
def test_magnitudes_for_people(log_x: float, text: str):
    assert explain.power(log_x) == text

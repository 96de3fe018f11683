"""What every norm supplies, checked on concrete matrices; and that a norm is one file."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dudley as du
from dudley.audit import balls as searched
from dudley.core.backend import torch
from dudley.core.errors import UnknownName
from dudley.core.norms import NORMS, Norm, implied, norm_named
from dudley.networks import files
from dudley.theorems.witness import linear_maps, members, suprema, volumes
from dudley.train.optimise.balls import project
from dudley.weights import certified

SHAPES = [(1, 1), (3, 1), (1, 4), (3, 3), (4, 2), (2, 5)]
FACTS = {  # what each norm of the package supplies; an exception is named with its reason
    "batch": set(),
    "dual": set(),
    "maximiser": set(),
    "draw_extreme": set(),
    "parts": set(),
    "log_volume": {"nuc"},  # no closed form is known here
    "from_sums": {"op", "nuc"},  # certified from singular values
}
NORM = pytest.mark.parametrize("name", NORMS)


def matrices(seed: int = 0) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    for shape in SHAPES:
        W = rng.standard_normal(shape)
        yield W
        yield np.sign(W)
        yield W * (rng.random(shape) < 0.5)


def singular(W: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(np.linalg.eigvalsh(W.T @ W), 0))


def lengths(W: np.ndarray, p: int) -> list[float]:
    return [math.fsum(abs(w) ** p for w in row) ** (1 / p) for row in W]


DEFINED = {
    "op": lambda W: max(singular(W)),
    "fro": lambda W: math.sqrt(math.fsum(w * w for w in W.flat)),
    "nuc": lambda W: math.fsum(singular(W)),
    "l11": lambda W: math.fsum(abs(w) for w in W.flat),
    "linf": lambda W: max(abs(w) for w in W.flat),
    "col21": lambda W: math.fsum(lengths(W.T, 2)),
    "row21": lambda W: math.fsum(lengths(W, 2)),
    "col2inf": lambda W: max(lengths(W.T, 2)),
    "row2inf": lambda W: max(lengths(W, 2)),
    "col1inf": lambda W: max(lengths(W.T, 1)),
    "row1inf": lambda W: max(lengths(W, 1)),
}


def test_every_norm_supplies_what_is_listed():
    for fact, without in FACTS.items():
        assert {name for name, norm in NORMS.items() if not norm.supplies(fact)} == without, fact
    assert set(DEFINED) == set(NORMS)


@NORM
def test_values(name: str):
    norm = NORMS[name]
    for W in matrices():
        assert norm(W) == pytest.approx(DEFINED[name](W), rel=1e-7, abs=1e-7)
        batch = norm.batch(torch.tensor(np.stack([W, 2 * W])))
        np.testing.assert_allclose(batch, [norm(W), 2 * norm(W)], rtol=1e-12, atol=1e-12)
        assert norm(W.T) == pytest.approx(NORMS[norm.transposed](W), rel=1e-12)
    assert NORMS[norm.transposed].transposed == name


@NORM
def test_the_dual_is_attained_at_the_maximiser_and_not_exceeded(name: str):
    norm, rng = NORMS[name], np.random.default_rng(1)
    for G in matrices(1):
        size = float(norm.dual(G))
        if norm.dual_name is not None:
            assert size == pytest.approx(NORMS[norm.dual_name](G), rel=1e-12)
        W = norm.maximiser(torch.tensor(G)[None])[0].numpy()
        assert norm(W) <= 1 + 1e-9
        slack = 1e-3 if name in ("op", "nuc") else 1e-12  # these two iterate
        assert (G * W).sum() >= size * (1 - slack) - 1e-300
        for _ in range(5):
            V = norm.draw_extreme(*G.shape, rng)
            assert (G * V).sum() <= size * norm(V) * (1 + 1e-9)


@NORM
def test_drawn_extreme_points_are_extreme(name: str):
    """A point is extreme where no direction can be added and subtracted within the ball."""
    norm, rng = NORMS[name], np.random.default_rng(2)
    for shape in SHAPES:
        V = norm.draw_extreme(*shape, rng)
        V = V / norm(V)
        for _ in range(20):
            D = rng.standard_normal(shape) * (rng.random(shape) < 0.7)
            D = 0.01 * D / max(np.abs(D).max(), 1e-9)
            if D.any():
                assert max(norm(V + D), norm(V - D)) > 1


@NORM
def test_projections_are_inside_and_nearest(name: str):
    """P is the nearest point iff ⟨W − P, Z⟩ ≤ ⟨W − P, P⟩ for every Z of the ball."""
    norm = NORMS[name]
    for W in matrices(3):
        P = project(torch.tensor(W)[None], name, 0.7)[0].numpy()
        assert norm(P) <= 0.7 * (1 + 1e-12)
        D = W - P
        assert 0.7 * float(norm.dual(D)) <= (D * P).sum() + 1e-12 * (1 + np.linalg.norm(W))


@NORM
def test_both_certified_ends_contain_the_value(name: str):
    for W in matrices(4):
        interval = certified.interval(name, W)
        assert interval.lower * (1 - 1e-12) <= NORMS[name](W) <= interval.upper * (1 + 1e-12)
        assert interval.excess < 1e-9 or name == "nuc"
        assert certified.norms(W)[name] >= NORMS[name](W) * (1 - 1e-12)


@NORM
def test_implications_hold(name: str):
    norm = NORMS[name]
    for W in matrices(5):
        rank = max(int(np.linalg.matrix_rank(W)), 1)
        for other, c in norm.implies(*W.shape, rank).items():
            assert NORMS[other](W) <= c * norm(W) * (1 + 1e-12) + 1e-12
        for other, c in norm.follows(*W.shape, rank).items():
            assert norm(W) <= c * NORMS[other](W) * (1 + 1e-12) + 1e-12
        sizes = {each: unit(W) for each, unit in NORMS.items()}
        assert norm(W) <= norm.jointly(sizes) * (1 + 1e-12)


@NORM
def test_volumes_of_discs(name: str):
    """The area of the unit ball of R² is ½∫ r(θ)² dθ with r = 1/norm(cos θ, sin θ)."""
    norm = NORMS[name]
    if not norm.supplies("log_volume"):
        pytest.skip("no volume is known")
    assert norm.log_volume(1, 1) == pytest.approx(math.log(2), rel=1e-12)
    θ = (np.arange(4000) + 0.5) * (2 * math.pi / 4000)
    for shape in [(2, 1), (1, 2)]:
        points = np.stack([np.cos(θ), np.sin(θ)], axis=1).reshape(-1, *shape)
        area = sum(norm(W) ** -2 for W in points) * math.pi / 4000
        assert math.exp(norm.log_volume(*shape)) == pytest.approx(area, rel=1e-5)
    assert norm.log_volume(3, 2) == pytest.approx(NORMS[norm.transposed].log_volume(2, 3))


@NORM
def test_constructors(name: str):
    for function, text in NORMS[name].constructors:
        make = getattr(du, function)
        assert make(2.0) == du.ball(name, 2.0)
        assert (make.__name__, make.__doc__) == (function, text)
    assert NORMS[name].constructors


# -- a norm is one file ------------------

L33 = '''
"""The entrywise ℓ3 norm."""

import numpy as np

from dudley.core.norms import Norm, register


@register
class CubicNorm(Norm):
    name = "l33"
    latex = "(W)_3"
    meaning = "ℓ3 norm of all entries"
    transposed = "l33"
    aliases = ("l3",)

    def value(self, W):
        return np.cbrt((np.abs(W) ** 3).sum())

    def implies(self, a, b, rank):
        return {"linf": 1.0, "fro": (a * b) ** (1 / 6)}

    def follows(self, a, b, rank):
        return {"fro": 1.0}
'''
NETWORK = """\
schema = "dudley.net/1"
[input]
T = 16
d = 8
X.row2inf = 1.0
[[layer]]
node = "head"
W_QK.l33 = 2.0
W_v.l3 = 1.5
W_c.l11 = 1.0
[output]
node = "readout"
w.l1 = 1.0
"""


@pytest.fixture
def cubic(tmp_path: Path) -> Iterator[Norm]:
    """A norm that was added by a file alone."""
    implied((("fro", 2.0),), (2, 2), None)  # a table from before must not be served afterwards
    du.Frobenius(2.0).bounds((2, 2))
    path = tmp_path / "l33.py"
    path.write_text(L33, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("l33", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    yield NORMS["l33"]
    NORMS.remove("l33")
    assert "l33" not in sys.modules


def test_a_new_norm_serves_in_constraints_and_network_files(cubic: Norm, tmp_path: Path):
    assert list(NORMS)[-1] == "l33" and norm_named("l3") is cubic
    assert du.Frobenius(2.0).bounds((2, 2))["l33"] == 2.0
    bounds = (du.ball("l33", 1.0) & du.L11(5.0)).bounds((3, 3))
    assert bounds["linf"] == 1.0 and bounds["op"] == pytest.approx(9 ** (1 / 6))
    path = tmp_path / "network.toml"
    path.write_text(NETWORK, encoding="utf-8")
    described = files.load(path)
    assert str(described.network.nodes[0].W_QK) == "l33 ≤ 2"  # pyright: ignore[reportAttributeAccessIssue]
    known = files.load(path, {"W_QK.l33": 1.0})
    gap = [du.capacity(each.network, each.inputs, n=10**6).gap(0.05) for each in (described, known)]
    assert gap[1].value <= gap[0].value


def test_measuring_works_on_every_matrix_and_names_what_is_not_known(cubic: Norm):
    measurement = du.measure("tiny-bert")
    assert all("l33" not in row.norms for row in measurement.rows)
    assert "l33" not in json.dumps(measurement.to_json()) + measurement.to_csv()
    with pytest.raises(UnknownName, match="l33"):
        _ = measurement.rows[0].norms["l33"]
    assert certified.norms(np.zeros((2, 2))).keys() == certified.norms(np.eye(2)).keys()


def test_what_a_new_norm_lacks_is_refused_by_name(cubic: Norm):
    W = torch.eye(2, dtype=torch.float64)[None]
    lacking = [
        lambda: suprema.dual("l33", np.eye(2)),
        lambda: volumes.log_volume("l33", (2, 2)),
        lambda: members.draw(du.ball("l33", 1.0), (2, 2), 12, np.random.default_rng(0)),
        lambda: project(W, "l33", 0.5),
        lambda: searched.norm("l33", W),
        lambda: cubic.maximiser(W),
        lambda: certified.interval("l33", np.eye(2)),
        lambda: linear_maps.linear(du.LinearMap((2, 2), du.ball("l33", 1.0)), 0.1),
        lambda: du.ball("l33", 1.0).bounds((2, 2))["l34"],
    ]
    for ask in lacking:
        with pytest.raises(UnknownName, match=r"l3[34]"):
            ask()


def test_other_norms_are_as_they_were(cubic: Norm):
    bounds = du.L11(2.0).bounds((3, 2))
    value = volumes.volume_ratio({"op": 1.0}, (3, 2), "op", 0.5)
    NORMS.remove("l33")
    try:
        assert du.L11(2.0).bounds((3, 2)) == {name: bounds[name] for name in NORMS}
        assert value == volumes.volume_ratio({"op": 1.0}, (3, 2), "op", 0.5)
    finally:
        NORMS.register("l33")(cubic)

"""A head and a ReLU network put together: any sparse Boolean function, exactly.

Lemmas B.5 and B.6: a selector that is within γ/4 of a goal whose values are γ apart, followed by
the network of Lemma B.8 on the goal's values, equals f on every input. B.8 forgives δ and asks for
separation 4δ, so δ = γ/4 is what fits (the printed δ = γ/8 forgives only half of the error that
the head makes). Symmetric f needs the s + 1 values of a count, an arbitrary f the 2^s values of
the bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.calculus.compose import Chain
from dudley.core.errors import InputError, UnknownName
from dudley.core.norms import norm_named
from dudley.theorems.constructions import bag_head, positions_head, trained_head
from dudley.theorems.constructions.bases import almost_orthonormal
from dudley.theorems.constructions.bump import bump_weights, network_of
from dudley.theorems.constructions.selector import FORMS, NormClaim, Selector
from dudley.theorems.constructions.targets import Target, all_bits

MAPPINGS = ("positions", "trainable", "bag")
LARGEST_T = 2000
LARGEST_TABLE = 6  # the network on bits has 4s·2^s units in its first layer


@dataclass(frozen=True)
class Construction:
    """Weights that compute a target, with what is claimed of them."""

    target: Target
    indices: tuple[int, ...]  # the relevant positions, from 0
    selector: Selector
    mlp: list[dict[str, np.ndarray]]
    form: str
    coherence: float  # measured

    @cached_property
    def network(self) -> Chain:
        """Heads, then three dense layers, as one node."""
        return Chain((self.selector.node, *network_of(self.mlp).nodes))

    @property
    def params(self) -> list:
        return [list(self.selector.heads), *self.mlp]

    def features(self, bits: np.ndarray) -> np.ndarray:
        """What the heads say, (N, d_f)."""
        return self.selector.features(bits)

    def output(self, bits: np.ndarray) -> np.ndarray:
        """What the whole network says, (N,)."""
        return self.network.apply(self.params, self.selector.mapping(bits))[:, 0, 0]

    def run(self, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features and output together: the heads are run once."""
        heads, *layers = self.network.nodes
        spoken = heads.apply(list(self.selector.heads), self.selector.mapping(bits))
        outputs = Chain(tuple(layers)).apply(self.mlp, spoken)
        return spoken[:, 0, : self.selector.d_f], outputs[:, 0, 0]

    def goal(self, bits: np.ndarray) -> np.ndarray:
        return self.selector.goal(bits[:, self.indices])

    def wanted(self, bits: np.ndarray) -> np.ndarray:
        return self.target(bits[:, self.indices])

    def norms(self) -> list[tuple[NormClaim, float]]:
        """Each claimed norm beside the true one."""
        γ, B, s = self.selector.γ, self.selector.bound, self.target.s
        d_f, M = self.selector.d_f, self.target.largest
        repaired = self.form == "repaired"
        claims = (
            NormClaim(
                "W_1", "linf", 8 * max(1, B) / γ, 4 * max(1, B) / γ + 2 if repaired else None
            ),
            NormClaim("W_2", "linf", 8 * s / γ, max(1.0, d_f - 1) if repaired else None),
            NormClaim("w", "linf", M, M),
        )
        measured = [(claim, self.selector.measure(claim)) for claim in self.selector.claims]
        for claim, layer in zip(claims, self.mlp, strict=True):
            with_bias = np.vstack([value for value in layer.values()])
            measured.append((claim, norm_named("linf")(with_bias)))
        return measured

    def tensors(self) -> dict[str, np.ndarray]:
        """Every array by name."""
        named = dict(self.selector.mapping.tensors())
        for h, head in enumerate(self.selector.heads):
            named |= {f"head.{h}.{name}": value for name, value in head.items()}
        for layer in self.mlp:
            named |= {f"mlp.{name}": value for name, value in layer.items()}
        return named


def build(
    target: Target,
    T: int,
    mapping: str = "positions",
    form: str = "repaired",
    heads: str = "one",
    coherence: float = 0.0,
    γ: float | None = None,
    indices: Sequence[int] | None = None,
    pattern: str = "worst",
    seed: int = 0,
    mlp: str | None = None,
) -> Construction:
    """The weights for a target on T tokens; ``mlp`` is the network's form if it differs.

    >>> from dudley.theorems.constructions.targets import target
    >>> xor = build(target("parity", 2), T=4, coherence=0.1, indices=(1, 3))
    >>> xor.output(np.array([[1, 0, 1, 1], [0, 1, 0, 1]])).round(9)
    array([1., 0.])
    """
    _check(target, T, mapping, form, heads, mlp or form)
    I = _indices(target.s, T, indices, seed)
    basis = almost_orthonormal(1 if mapping == "trainable" else T, coherence, I, pattern, seed)
    on_bits = heads == "s" or not target.symmetric
    if on_bits and target.s > LARGEST_TABLE:
        raise InputError("s", f"at most {LARGEST_TABLE} for a network on single bits", target.s)
    most = min(1.0, separation(mapping, heads, target.s))
    γ = most if γ is None else γ
    if not 0 < γ <= most:
        raise InputError("gamma", f"a number in (0, {most:.4g}], what the goal's values allow", γ)
    if mapping == "trainable":
        selector = (trained_head.s_heads if on_bits else trained_head.one_head)(T, I, γ, form)
    elif mapping == "positions":
        make = positions_head.s_heads if on_bits else positions_head.one_head
        selector = make(basis, I, γ, form)
    elif heads == "s":
        selector = bag_head.s_heads(basis, I, γ, form)
    else:
        selector = bag_head.one_head(basis, I, γ, form, on_bits)
    weights = _network(target, selector, mlp or form)
    return Construction(target, tuple(I), selector, weights, mlp or form, basis.coherence)


def separation(mapping: str, heads: str, s: int) -> float:
    """How far apart the goal's values are: bits as ±1, a mean of s signs, or a bag's count."""
    if heads == "s":
        return 2.0
    return 1 / s if mapping == "bag" else 2 / s


def _network(target: Target, selector: Selector, form: str) -> list[dict[str, np.ndarray]]:
    """The ReLU network on the goal's values: one point per count, or per string of bits."""
    bits = all_bits(target.s)
    if selector.d_f == 1:
        bits = np.tril(np.ones((target.s + 1, target.s), dtype=int), -1)  # counts 0, …, s
    δ = selector.γ / (8 if form == "printed" else 4)
    d = selector.mapping.shape[1]
    return bump_weights(selector.goal(bits), target(bits), δ, form, d)


def _check(target: Target, T: int, mapping: str, form: str, heads: str, mlp: str) -> None:
    if not 1 <= T <= LARGEST_T:
        raise InputError("T", f"an integer from 1 to {LARGEST_T}", T)
    if target.s > T:
        raise InputError("s", f"at most T = {T}", target.s)
    for what, value, known in (
        ("mapping", mapping, MAPPINGS),
        ("form", form, FORMS),
        ("form", mlp, FORMS),
        ("heads", heads, ("one", "s")),
    ):
        if value not in known:
            raise UnknownName(what, value, known)
    if heads == "one" and mapping != "bag" and not target.symmetric:
        raise InputError(
            "heads",
            "s, because the table is not symmetric and one head sees only the count",
            "one",
            "give --heads s or --mapping bag",
        )


def _indices(s: int, T: int, positions: Sequence[int] | None, seed: int) -> list[int]:
    if positions is None:
        return sorted(int(i) for i in np.random.default_rng(seed).choice(T, s, replace=False))
    indices = [int(i) for i in positions]
    if len(set(indices)) != s or len(indices) != s or not all(0 <= i < T for i in indices):
        raise InputError("indices", f"{s} different positions below T = {T}", list(indices))
    return indices

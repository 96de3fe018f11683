"""Perturbation: how far heads, blocks and readouts can move, against the lemmas that bound it.

Each problem is a network that satisfies the hypotheses of its statement, with norms and radius
fixed. A search (``audit.perturbation_search``) looks for the weights and rows at which the output
moves most. Rows have norm 1.4 where a paper asks for 1: with the sharp softmax constant the score
terms cost R² = 1.96, which the papers' factor 2 still covers. So their statements stand there, and
a forgotten R² is seen.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dudley.audit.base import ATTACKS, Attack, AttackFinding
from dudley.calculus.compose import Chain
from dudley.core.constraint import L2, L11, Constraint, Spectral
from dudley.networks.activations import Activation
from dudley.networks.blocks import li_block, trauger_block
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.networks.pointwise import Activate, Dense, ProjectRows
from dudley.theorems.trauger2024.block import block_with_two_activations

D = 3
ANY = Spectral(1.0)  # where a statement asks nothing of a matrix
SCORES = {"error.QK", "error.score"}  # what a search over all errors leaves aside
LONG = 1.4  # R² just below the papers' softmax constant 2


def slope(L_σ: float) -> Activation:
    """σ(u) = L_σ·u."""
    return Activation(f"times {L_σ:g}", lambda u: L_σ * u, L_σ)


class _PerturbationAttack(Attack):
    """Abstract: the search is run on one problem after another."""

    @abstractmethod
    def problems(self) -> Iterator[dict]:
        """The fields of each ``PerturbationProblem``, which needs torch."""

    def run(self, rng: np.random.Generator) -> Iterator[AttackFinding]:
        from dudley.audit.perturbation_search import PerturbationProblem, hardest_instance

        for fields in self.problems():
            problem = PerturbationProblem(**fields)
            yield hardest_instance(problem, rng)
            for only in problem.inputs & SCORES if len(problem.inputs) > 1 else ():
                yield hardest_instance(replace(problem, only=only), rng)


def _head(b_v: float, W_QK: Constraint, **more) -> Chain:
    return Chain((Head(D, Spectral(b_v), W_QK, **{"sigma": "identity", **more}),))


@ATTACKS.register("attention moves")
class AttentionMoves(_PerturbationAttack):
    """Lemmas 4.3, A.13, A.14 of edelman2021: one attention layer."""

    targets = ("edelman2021/lemma-4.3", "edelman2021/lemma-A.13", "edelman2021/lemma-A.14")

    def problems(self):
        general, by_weights, by_rows = self.targets
        for R in (0.5, LONG):
            yield {
                "statement": by_weights,
                "chain": _head(1.7, ANY),
                "fixed": {"W_v.op": 1.7, "X.row2inf": R},
                "errors": {(0, "W_QK"): ("error.QK", "keys"), (0, "W_v"): ("error.v", "rows")},
                "form": "best",
                "R": R,
                "free": True,
            }
            yield {
                "statement": by_rows,
                "chain": _head(1.3, Spectral(0.7)),
                "fixed": {"W_v.op": 1.3, "W_QK.op": 0.7, "X.row2inf": R},
                "rows": "error.rows",
                "form": "best",
                "R": R,
            }
        yield {
            "statement": general,
            "chain": _head(1.5, ANY, sigma=slope(2.0), query="cls"),
            "fixed": {
                "attention.lipschitz": 1.0, "head.L_out": 2.0, "head.B_in": 1.5, "X.row2inf": 2.0,
            },
            "errors": {(0, "W_QK"): ("error.score", "score"), (0, "W_v"): ("error.inner", "rows")},
            "R": 2.0,
        }  # fmt: skip


BLOCK = {(0, "W_QK"): "error.QK", (0, "W_v"): "error.v", (3, "W_c"): "error.c"}


@ATTACKS.register("blocks move")
class BlocksMove(_PerturbationAttack):
    """Lemma A.15 of edelman2021; Definition 2.6 and Lemma E.2 of trauger2024."""

    targets = (
        "edelman2021/lemma-A.15",
        "trauger2024/lemma-E.2",
        "trauger2024/definition-2.6",
        "li2026/equation-5",
    )

    def problems(self):
        one_σ, two_σ, trauger_slope, li_slope = self.targets
        for R, L_σ in ((LONG, 1.0), (3.0, 1.0), (0.5, 2.0)):
            norms = {"W_QK.op": 0.4, "W_v.op": 0.3, "W_c.op": 0.8}
            W_QK, W_v, W_c = (Spectral(radius) for radius in norms.values())
            fixed = norms | {"sigma.lipschitz": L_σ, "X.row2inf": R}
            instance = {"fixed": fixed, "R": R}
            if R <= LONG:
                chain = trauger_block(D, W_QK, W_v, W_c, sigma=slope(L_σ))
                errors = {p: (n, "keys" if n == "error.QK" else "rows") for p, n in BLOCK.items()}
                weights = {"errors": errors, "rows": "error.rows", "free": True}
                yield {"statement": one_σ, "chain": chain, **weights, "form": "best", **instance}
            chain = block_with_two_activations(D, W_QK, W_v, W_c, sigma=slope(L_σ))
            errors = {p: (n, "rows") for p, n in BLOCK.items()}
            weights = {"errors": errors, "rows": "error.rows"}
            yield {"statement": two_σ, "chain": chain, **weights, **instance}
            if L_σ > 1:
                yield {"statement": trauger_slope, "chain": chain, "quantity": "slope", **instance}
                chain = li_block(D, W_QK, W_v, W_c, sigma=slope(L_σ))
                yield {"statement": li_slope, "chain": chain, "quantity": "slope", **instance}


@ATTACKS.register("predictions move")
class PredictionsMove(_PerturbationAttack):
    """Equations (15) and (18) of li2026: one head, and layers of heads, with their readout."""

    targets = ("li2026/equation-15", "li2026/equation-18")

    def problems(self):
        norms = {"W_v.l11": 0.4, "W_c.l11": 0.9, "w.l2": 1.5, "sigma.lipschitz": 1.0}
        for R in (3.0, 0.7):
            instance = {"fixed": norms | {"X.row2inf": R}, "R": R}
            yield {"statement": self.targets[0], **self.layers(1, ANY, 1.0, False), **instance}
        for R, L_σ, form in ((3.0, 1.0, "derived"), (0.7, 2.0, "printed")):
            fixed = norms | {"sigma.lipschitz": L_σ, "X.row2inf": R, "W_QK.l11": 0.3, "L": 2}
            net = self.layers(2, L11(0.3), L_σ, True)
            yield {"statement": self.targets[1], **net, "fixed": fixed, "form": form, "R": R}

    def layers(self, L: int, W_QK: Constraint, L_σ: float, projected: bool) -> dict:
        """L heads with their output matrices, each projected as in (5) or not, and the readout."""
        nodes, errors = [], {}
        for _ in range(L):
            i = len(nodes)
            nodes += [Head(D, L11(0.4), W_QK, sigma=slope(L_σ))]
            nodes += [Dense(D, L11(0.9), names=("W_c", "b_c"))]
            nodes += [ProjectRows(), Activate(slope(L_σ)), ProjectRows()] if projected else []
            errors |= {
                (i, "W_QK"): ("error.QK", "rows"),
                (i, "W_v"): ("error.v", "rows"),
                (i + 1, "W_c"): ("error.c", "rows"),
            }
        errors[len(nodes), "w"] = ("error.w", "last")
        return {"chain": Chain((*nodes, Readout(L2(1.5)))), "errors": errors}


@ATTACKS.register("outputs are large")
class OutputsAreLarge(_PerturbationAttack):
    """Definitions 3.1 and 3.2 of edelman2021: how large the outputs can be."""

    targets = ("edelman2021/definition-3.1", "edelman2021/definition-3.2")

    def problems(self):
        general, layer = self.targets
        instance = {"quantity": "radius", "R": 2.0}
        yield {
            "statement": general,
            "chain": _head(1.5, ANY, sigma=slope(2.0), query="cls"),
            "fixed": {"head.L_out": 2.0, "head.B_in": 1.5, "X.row2inf": 2.0},
            **instance,
        }
        norms = {"W_v.op": 1.5, "W_c.op": 0.7, "sigma.lipschitz": 2.0}
        chain = _head(1.5, ANY, sigma=slope(2.0), W_c=Spectral(0.7))
        yield {"statement": layer, "chain": chain, "fixed": norms | {"X.row2inf": 2.0}, **instance}

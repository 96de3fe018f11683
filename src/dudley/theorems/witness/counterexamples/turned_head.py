"""What the error decompositions of li2026 miss: long tokens, and the second σ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.premises import Premise, at_most, attended, norms

NamedMatrices = Mapping[str, np.ndarray]


def moved(W: NamedMatrices, hat: NamedMatrices, X: np.ndarray, σ: float = 1.0) -> dict[str, float]:
    """ε_QK, ε_v and ε_c between two heads of width one on one input, and the change they make.

    σ(u) = σu acts after W_v and after W_c. Widths are one, so errors are products of numbers.
    """
    largest = float(np.abs(X).max())
    hidden = σ * float(np.abs(attended({k: v for k, v in hat.items() if k != "W_c"}, X)).max())
    error = {k: float(np.abs(W[k] - hat[k]).max()) for k in W}
    outputs = [σ**2 * float((attended(V, X) @ V["w"]).item()) for V in (W, hat)]
    return {
        "error.QK": largest * error["W_QK"],
        "error.v": largest * error["W_v"],
        "error.c": hidden * error["W_c"],
        "error.w": float(np.abs(σ * attended(hat, X)).max()) * error["w"],
        "change": abs(outputs[0] - outputs[1]),
    }


def width_one(W_QK: float, W_v: float, W_c: float) -> dict[str, np.ndarray]:
    """Weights of width one, w = 1."""
    matrices = {"W_QK": np.array([[W_QK]]), "W_v": np.array([[W_v]]), "W_c": np.array([[W_c]])}
    return matrices | {"w": np.ones(1)}


def perturbed(
    inputs: Mapping[str, float],
    W: NamedMatrices,
    hat: NamedMatrices,
    X: np.ndarray,
    σ: float,
    change: float,
) -> tuple[Premise, ...]:
    """Norms and errors are those that the inputs state, no Π is active, and outputs differ so."""
    errors = ("error.QK", "error.v", "error.c", "error.w")
    hidden = [{**V, "W_c": np.eye(1)} for V in (W, hat)]
    bounded = {name.partition(".")[0] for name in inputs}
    return (
        *(
            norms(
                "norms of W_v, W_c, W_QK, w and tokens, " + which,
                inputs,
                {k: part for k, part in (dict(V) | {"X": X}).items() if k in bounded},
            )
            for V, which in ((W, "of one head (4.1, 5.1)"), (hat, "of the other head (4.1, 5.1)"))
        ),
        Premise(
            "the errors ε of the matrices are at most those stated ((15), (18), E.2)",
            lambda: all(at_most(moved(W, hat, X, σ)[e], inputs[e]) for e in errors if e in inputs),
        ),
        Premise(
            "no Π is active, and σ is L_σ-Lipschitz with σ(0) = 0",
            lambda: (
                all(σ**2 * np.abs(attended(V, X)).max() <= 1 for V in (*hidden, W, hat))
                and at_most(σ, inputs["sigma.lipschitz"])
            ),
        ),
        Premise(
            "the outputs differ by the lower bound",
            lambda: math.isclose(moved(W, hat, X, σ)["change"], change),
        ),
    )


@WITNESSES.register("turned-head")
@dataclass(frozen=True)
class TurnedHead(Witness):
    """li2026, (15), and (18) with L = 1: a small change of W_QK turns the attention over.

    Two tokens −R and R ([CLS]) of R¹, σ the identity, W_v = 1/R, W_c = w = 1, and W_QK = 0 against
    Ŵ_QK = 1/R². The [CLS] scores are 0, 0 against −1, 1, so its average of tokens is 0 against
    R·tanh 1, and the prediction 0 against tanh 1; no Π is active. The errors are
    ε_QK = R/R² = 1/R and 0 otherwise; both versions print 2B_wL_σB_cB_vε_QK = 2/R². (Read with the
    factor B_X = √2R of the display before (15), it is 2√2/R, still below tanh 1.)
    """

    R: float = 8.0
    refutes = ("li2026/equation-15", "li2026/equation-18")
    story = (
        "With tokens ±R a change of W_QK by 1/R² turns the attention over and moves the "
        "prediction by tanh 1, while the decomposition allows 2/R²."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        instance: dict[str, float] = {
            "W_v.l11": 1 / self.R,
            "W_c.l11": 1.0,
            "w.l2": 1.0,
            "sigma.lipschitz": 1.0,
            "X.row2inf": self.R,
            "error.QK": 1 / self.R,
            "error.v": 0.0,
            "error.c": 0.0,
            "error.w": 0.0,
        }
        return instance | ({"L": 1, "W_QK.l11": 1 / self.R**2} if statement.endswith("18") else {})

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        X = np.array([[[-self.R], [self.R]]])
        W, hat = (width_one(score, 1 / self.R, 1.0) for score in (0.0, 1 / self.R**2))
        return perturbed(self.inputs(statement), W, hat, X, 1.0, self.lower_bound())

    def lower_bound(self) -> float:
        return math.tanh(1.0)


@WITNESSES.register("second-sigma")
@dataclass(frozen=True)
class SecondSigma(Witness):
    """li2026, (18) with L = 1 on a unit token, for the block (5), which applies σ twice.

    One token x = 1 of R¹, W_QK = 0, σ(u) = 3u, W_c = ½, w = 1, and W_v = 0.01 against Ŵ_v = 0.02.
    No Π is active, so the predictions are 3·½·3·W_v and differ by 0.045, while the printed bound is
    B_wL_σB_cε_v = 3·½·0.01.
    """

    refutes = ("li2026/equation-18",)
    story = "For σ(u) = 3u the block as defined multiplies by 9; the decomposition allows for 3."

    def inputs(self, statement: str) -> dict[str, float]:
        return {
            "L": 1,
            "W_QK.l11": 0.0,
            "W_v.l11": 0.02,
            "W_c.l11": 0.5,
            "w.l2": 1.0,
            "sigma.lipschitz": 3.0,
            "X.row2inf": 1.0,
            "error.QK": 0.0,
            "error.v": 0.01,
            "error.c": 0.0,
            "error.w": 0.0,
        }

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        W, hat = (width_one(0.0, value, 0.5) for value in (0.01, 0.02))
        return perturbed(
            self.inputs(statement), W, hat, np.ones((1, 1, 1)), 3.0, self.lower_bound()
        )

    def lower_bound(self) -> float:
        return 9 * 0.5 * 0.01

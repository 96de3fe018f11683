"""Theorem 5: the true loss after training, as Lemma 4 plus the complexity of Lemma 1.

With its own hypothesis d_m ≥ N³ and LeCun initialisation (norms about √d_m), P is at least about
d_s R_X² d_m⁴ log(N d_s), so √(P/N) ≥ √(d_s) R_X N^{5.5}: it grows with N. And A√(N/P) is at most
η_O d_m^{−3/2}√(N/log(N d_s)), so unless η_O is of order d_m^{3/2} the logarithm is so negative that
the whole right-hand side is.

>>> from dudley.theorems.registry import load
>>> it = load()["mwigo2026/theorem-5"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[-199000000000000.0, 1.0, 1.0]
>>> moderate = {**it.example, "n": 10**9, "k": 64, "d": 64, "loss.initial": 1e-3, "X.fro": 1e-3}
>>> moderate |= {f"{W}.fro": 9.0 for W in ("W_Q", "W_K", "W_v")}
>>> [float(f"{it.evaluate_on(moderate, form).value:.2g}") for form in ("derived", "best")]
[0.0026, 4.5e-05]
>>> it.evaluate_on(moderate).details["hypotheses_hold"]
False
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from dudley.calculus.deviate import deviation
from dudley.core.assumption import Assumption, Status
from dudley.core.bound import Bound, Sense, Term
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement, Verdict
from dudley.theorems.bundles import bundled
from dudley.theorems.mwigo2026.convergence import EXAMPLE
from dudley.theorems.mwigo2026.encoder import ROWS, Encoder
from dudley.theorems.mwigo2026.near_initialisation import distance
from dudley.theorems.mwigo2026.preliminaries import SAMPLE
from dudley.theorems.mwigo2026.training import QUOTED, TRAINED, Start
from dudley.theorems.registry import register

NEAR = Assumption(
    "distance",
    "after t steps each matrix is within its stated distance of its initial value; the distances "
    "and the initial weights do not depend on the sample",
    Status.DECLARED,
)


@dataclass(frozen=True)
class Trained:
    """An encoder, its initialisation, and the confidence."""

    n: float
    T: float
    d: float
    k: float
    X_fro: float
    X_row2inf: float
    W_Q_fro: float
    W_K_fro: float
    W_v_fro: float
    w_l2: float
    W_Q_op: float
    W_K_op: float
    W_v_op: float
    W_Q_moved: float
    W_K_moved: float
    W_v_moved: float
    w_moved: float
    features_smin: float
    loss_initial: float
    correlation_c: float
    delta: float

    def _part(self, kind: type):
        return kind(**{f.name: getattr(self, f.name) for f in fields(kind)})

    @property
    def start(self) -> Start:
        return self._part(Start)

    @property
    def encoder(self) -> Encoder:
        return self._part(Encoder)

    @property
    def explosion(self) -> str:
        """What d_m ≥ N³ does to P, which grows like d_m⁴."""
        said = f"P = {self.encoder.P:.3g}"
        if self.k < self.n**3:
            return said
        return said + "; where d_m ≥ N³ and η ≥ √d_m, √(P/N) grows like N^5.5 at least"

    def reported(self, terms: tuple[Term, ...], trivial: float, sense: Sense) -> Bound:
        """The sum of the terms, at most ``trivial``, beside the hypotheses."""
        total = min(math.fsum(term.value for term in terms), trivial)
        start, δ = self.start, 2 * self.delta
        return Bound.of(
            total,
            quantity="",
            sense=sense,
            terms=terms,
            assumptions=start.assumptions(δ),
            trivial=trivial,
            details=start.details(δ),
        )

    def printed(self, c: float) -> Bound:
        start, δ = self.start, self.delta
        R = distance(self.W_Q_moved, self.W_K_moved, self.W_v_moved, self.w_moved)
        if math.log(R / δ) < 0:
            raise InputError("R, from the distances moved", "at least delta, as log(R/δ) needs", R)
        terms = (
            Term("training", start.printed, start.note),
            Term("complexity", c * self.encoder.printed, self.explosion),
            Term("deviation", c * math.sqrt(math.log(R / δ) / self.n)),
        )
        return self.reported(terms, math.inf, Sense.CONSTANT)

    def repaired(self, R: Bound, drift, b: float, γ: float, t: float) -> Bound:
        """Training loss, twice the complexity of a 1-Lipschitz loss, deviation; at most b."""
        start = self.start
        terms = (
            Term("training", start.training_loss(γ, t), start.note),
            Term("complexity", 2 * R.value),
            Term("deviation", float(drift)),
        )
        return self.reported(terms, b, Sense.CONFIDENCE)

    def derived(self, b: float, γ: float, t: float) -> Bound:
        drift = deviation(self.n, self.delta, b, "two-sided")
        return self.repaired(self.encoder.derived(), drift, b, γ, t)

    def best(self, b: float, γ: float, t: float) -> Bound:
        drift = deviation(self.n, self.delta, b, "a-priori")
        return self.repaired(self.encoder.best(), drift, b, γ, t)


trained = bundled(Trained)

THEOREM_5 = register(
    Statement(
        id="mwigo2026/theorem-5",
        kind="theorem",
        says="The true loss of the trained encoder: training loss, complexity, deviation.",
        quantity="risk of the trained encoder",
        inputs=(
            *TRAINED,
            Input("d"),
            ROWS,
            Input("loss.range", "c with 0 ≤ loss ≤ c", 1.0),
            Input("c", default=1.0),
        ),
        printed=Form(
            r"\min\Bigl(\frac{\alpha^2}{8\rho\hat M\sqrt N},\frac{\alpha^3\eta_O}"
            r"{32\rho^4\hat z\sqrt N}\Bigr)+c\Bigl(\sqrt{\tfrac PN}\bigl(1+\log(A\sqrt{\tfrac NP})"
            r"\bigr)+\sqrt{\tfrac{\log(R/\delta)}N}\Bigr)",
            trained(lambda it, c: it.printed(c)),
            Sense.CONSTANT,
        ),
        derived=Form(
            r"\Bigl(1-\frac{\gamma\alpha^2}2\Bigr)^{t/2}\sqrt{\frac{2\Phi(\theta^0)}N}"
            r"+2\mathcal R+3c\sqrt{\tfrac{\log(2/\delta)}{2N}},"
            r"\quad\mathcal R\text{ as in the repaired Lemma 1}",
            trained(
                lambda it, loss_range, step_size, steps: it.derived(loss_range, step_size, steps)
            ),
            Sense.CONFIDENCE,
        ),
        best=Form(
            r"\text{the same with every cover around }\theta^0\text{ and }"
            r"c\sqrt{\tfrac{\log(1/\delta)}{2N}}",
            trained(lambda it, loss_range, step_size, steps: it.best(loss_range, step_size, steps)),
            Sense.CONFIDENCE,
        ),
        verdict=Verdict.FALSE,
        erratum=(
            "In its own regime the right-hand side is negative, and a loss is not: with d_m ≥ N³ "
            "and LeCun initialisation P grows like d_m⁴, so that A√(N/P) falls below 1/e and the "
            "logarithm, which is not cut at 0, decides the sign, whatever the constant. With the "
            "logarithm cut, √(P/N) is of order √d_s·R_X·N^{5.5} at least: the bound is then empty "
            "unless inputs are tiny, and does not tighten with N for every d_m. It rests on Lemmas "
            "2 and 4, which are false; the deviation has lost 3c for losses in [0, c], and the "
            "union over integer radii is not needed for a fixed R. The theorem writes ε for ĉ and "
            "ℓ(θ⁰) for Φ(θ⁰)."
        ),
        assumptions=(*QUOTED, NEAR, SAMPLE),
        example=EXAMPLE | {"d": 4_000_000},
        rates={"printed": -0.5, "derived": -0.5},
    )
)

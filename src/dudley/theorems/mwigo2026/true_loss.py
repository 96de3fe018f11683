"""Theorem 5: the true loss after training, as Lemma 4 plus the complexity of Lemma 1.

With its own hypothesis d_m ≥ N³ and LeCun initialisation (norms about √d_m), P is at least about
d_s R_X² d_m⁴ log(N d_s), so √(P/N) ≥ √(d_s) R_X N^{5.5}: it grows with N. And A√(N/P) is at most
η_O d_m^{−3/2}√(N/log(N d_s)), while α³ ≥ 32ρ²z√(2Φ⁰)/η_O keeps η_O below the order of √d_m: the
logarithm is negative, and cut at 0 it leaves √(P/N) > A, which says nothing of a loss below A. What
is refuted (``witness/counterexamples/loss_at_label.py``) does not lie in this: it is ℓ(y, y).

>>> from dudley.theorems.registry import load
>>> it = load()["mwigo2026/theorem-5"]
>>> [float(f"{it.evaluate_on(it.example, form).value:.3g}") for form in it.forms]
[-199000000000000.0, 1.0, 1.0]
>>> moderate = {**it.example, "n": 10**9, "k": 64, "d": 64, "loss.initial": 1e-3, "X.fro": 1e-3}
>>> moderate |= {f"{W}.fro": 9.0 for W in ("W_Q", "W_K", "W_v")}
>>> [float(f"{it.evaluate_on(moderate, form).value:.2g}") for form in ("derived", "best")]
[0.0024, 4.2e-05]
>>> it.evaluate_on(moderate).details["hypotheses_hold"]
False
"""

from __future__ import annotations

import math

from dudley.calculus.deviate import deviation
from dudley.core.assumption import Assumption, Status
from dudley.core.binding import bundled
from dudley.core.bound import Bound, Sense, Term
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.mwigo2026.convergence import EXAMPLE
from dudley.theorems.mwigo2026.encoder import ROWS, Encoder
from dudley.theorems.mwigo2026.near_initialisation import distance
from dudley.theorems.mwigo2026.preliminaries import SAMPLE
from dudley.theorems.mwigo2026.training import QUOTED, TRAINED, TrainingStart
from dudley.theorems.registry import register

NEAR = Assumption(
    "distance",
    "after t steps each matrix is within its stated distance of its initial value; the distances "
    "and the initial weights do not depend on the sample",
    Status.DECLARED,
)


def explosion(encoder: Encoder) -> str:
    """What d_m ≥ N³ does to P, which grows like d_m⁴."""
    said = f"P = {encoder.P:.3g}"
    if encoder.k < encoder.n**3:
        return said
    return said + "; where d_m ≥ N³ and η ≥ √d_m, √(P/N) grows like N^5.5 at least"


def reported(start: TrainingStart, terms: tuple[Term, ...], trivial: float, sense: Sense) -> Bound:
    """The sum of the terms, at most ``trivial``, beside the hypotheses."""
    δ = 2 * start.delta
    return Bound.of(
        min(math.fsum(term.value for term in terms), trivial),
        quantity="",
        sense=sense,
        terms=terms,
        assumptions=start.assumptions(δ),
        trivial=trivial,
        details=start.details(δ),
    )


def printed(start: TrainingStart, encoder: Encoder, c: float) -> Bound:
    R = distance(start.W_Q_moved, start.W_K_moved, start.W_v_moved, start.w_moved)
    if math.log(R / start.delta) < 0:
        raise InputError("R, from the distances moved", "at least delta, as log(R/δ) needs", R)
    terms = (
        Term("training", start.printed, start.note),
        Term("complexity", c * encoder.printed, explosion(encoder)),
        Term("deviation", c * math.sqrt(math.log(R / start.delta) / start.n)),
    )
    return reported(start, terms, math.inf, Sense.CONSTANT)


def repaired(start: TrainingStart, R: Bound, form: str, b: float, γ: float, t: float) -> Bound:
    """Training loss, twice the complexity of a 1-Lipschitz loss, deviation; at most b."""
    terms = (
        Term("training", start.training_loss(γ, t), start.note),
        Term("complexity", 2 * R.value),
        Term("deviation", float(deviation(start.n, start.delta, b, form))),
    )
    return reported(start, terms, b, Sense.CONFIDENCE)


def derived(
    start: TrainingStart, encoder: Encoder, loss_range: float, step_size: float, steps: float
) -> Bound:
    return repaired(start, encoder.derived(), "two-sided", loss_range, step_size, steps)


def best(
    start: TrainingStart, encoder: Encoder, loss_range: float, step_size: float, steps: float
) -> Bound:
    return repaired(start, encoder.best(), "a-priori", loss_range, step_size, steps)


trained = bundled(TrainingStart, Encoder)

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
            trained(printed),
            Sense.CONSTANT,
        ),
        derived=Form(
            r"\ell(y,y)+\Bigl(1-\frac{\gamma\alpha^2}2\Bigr)^{t/2}\sqrt{\frac{2\Phi(\theta^0)}N}"
            r"+2\mathcal R+3c\sqrt{\tfrac{\log(2/\delta)}{2N}},"
            r"\quad\mathcal R\text{ as in the repaired Lemma 1}",
            trained(derived),
            Sense.CONFIDENCE,
        ),
        best=Form(
            r"\text{the same with every cover around }\theta^0\text{ and }"
            r"c\sqrt{\tfrac{\log(1/\delta)}{2N}}",
            trained(best),
            Sense.CONFIDENCE,
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "Repaired, it adds ℓ(y, y) and the constants of the two lemmas it rests on: "
            "ℓ(y, y) + (1 − γα²/2)^{t/2}√(2Φ(θ⁰)/N), twice the complexity of the repaired Lemma 1, "
            "and 3c√(log(2/δ)/2N) for losses in [0, c]. From Lemma 4 it inherits that ℓ(y, y) is "
            "taken to be 0, which no hypothesis says: for cross-entropy, the loss of the "
            "experiments, on short inputs with label 0 every hypothesis holds, the true loss stays "
            "near log 2, and the right-hand side tends to 0 with N, whatever the constant and "
            "whether or not the logarithm is cut at 0. From Lemma 2 it inherits a P without η_O. "
            "Under the hypotheses, with LeCun initialisation and high probability, η_O is at most "
            "of order √d_m and P at least of order d_m⁴, so this slip cannot show: "
            "√(P/N) is then above A, the largest |f|, and the theorem says nothing of losses "
            "bounded by A. In that regime the logarithm must be cut at 0, as without the cut the "
            "right-hand side may be negative; "
            "and √(P/N), of order √d_s·R_X·N^{5.5} at least for d_m ≥ N³, does not tighten with N. "
            "The union over integer radii is not needed for a fixed R. The theorem writes ε for ĉ "
            "and ℓ(θ⁰) for Φ(θ⁰)."
        ),
        assumptions=(*QUOTED, NEAR, SAMPLE),
        example=EXAMPLE | {"d": 4_000_000},
        rates={"printed": -0.5, "derived": -0.5},
    )
)

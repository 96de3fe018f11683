"""Lemma 4: the training loss of gradient descent, from the fit at initialisation.

The quoted convergence theorem gives Φ(θᵗ) ≤ (1 − γα²/2)ᵗΦ(θ⁰), and for a 1-Lipschitz loss the
training loss is at most ℓ(y, y) + √(2Φ(θᵗ)/N). That is the derived form. Replacing √(2Φ⁰)
by what the hypotheses allow it to be gives min(α²/(8ρM√N), α³η_O/(32ρ²z√N)), which is larger.

>>> from dudley.theorems.registry import load
>>> it = load()["mwigo2026/lemma-4"]
>>> bounds = {form: it.evaluate_on(it.example, form) for form in it.forms}
>>> {form: float(f"{bound.value:.3g}") for form, bound in bounds.items()}
{'printed': 2.8e-11, 'derived': 0.000354}
>>> bounds["derived"].details["hypotheses_hold"]
True
>>> wide = it.evaluate_on(it.example | {"n": 1000}, "derived")
>>> [line for line in str(wide).splitlines() if "width" in line][-1].strip()
"· width: d_m = 4e+06 < N³, without Ω̃'s constant and logs, = 1e+09: DOES NOT HOLD [checked]"
"""

from __future__ import annotations

from dudley.core.binding import bundled
from dudley.core.bound import Bound, Sense, Term
from dudley.core.statement import Form, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.mwigo2026.training import QUOTED, TRAINED, TrainingStart
from dudley.theorems.registry import register

EXAMPLE = {
    "n": 2,
    "T": 1,
    "k": 4_000_000,
    "X.fro": 1.0,
    "W_Q.fro": 2001.0,
    "W_K.fro": 2001.0,
    "W_v.fro": 2001.0,
    "w.l2": 1.2,
    "W_Q.op": 3.0,
    "W_K.op": 3.0,
    "W_v.op": 2.2,
    "W_Q.moved": 1.0,
    "W_K.moved": 1.0,
    "W_v.moved": 0.2,
    "w.moved": 0.2,
    "features.smin": 0.58,
    "loss.initial": 1.25e-7,
    "correlation.c": 1.0,
    "delta": 0.05,
    "step.size": 1e-6,
    "steps": 1,
}


def reported(start: TrainingStart, value: float) -> Bound:
    return Bound.of(
        value,
        quantity="",
        sense=Sense.CONFIDENCE,
        terms=(Term("training", value, start.note),),
        assumptions=start.assumptions(start.delta),
        details=start.details(start.delta),
    )


started = bundled(TrainingStart)

LEMMA_4 = register(
    Statement(
        id="mwigo2026/lemma-4",
        kind="lemma",
        says="Gradient descent from a good start keeps the training loss small.",
        quantity="training loss of the encoder after t steps",
        inputs=TRAINED,
        printed=Form(
            r"\min\Bigl(\frac{\alpha^2}{8\rho\hat M\sqrt N},"
            r"\frac{\alpha^3\eta_O}{32\rho^4\hat z\sqrt N}\Bigr)",
            started(lambda start: reported(start, start.printed)),
            Sense.CONFIDENCE,
        ),
        derived=Form(
            r"\ell(y,y)+\Bigl(1-\frac{\gamma\alpha^2}2\Bigr)^{t/2}"
            r"\sqrt{\frac{2\Phi(\theta^0)}N}",
            started(
                lambda start, step_size, steps: reported(
                    start, start.training_loss(step_size, steps)
                )
            ),
            Sense.CONFIDENCE,
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS),
        erratum=(
            "M and z stand in denominators, so replacing ξ by η, that is M and z by the larger M̂ "
            "and ẑ, makes the bound smaller, not larger; √(2Φ/N) gives ρ² where ρ⁴ is printed. For "
            "two orthogonal one-token inputs with labels 0, LeCun initialisation and d = d_m → ∞, "
            "all hypotheses hold with probability tending to 1, while the training loss after one "
            "small step is of order d_m^{−1/2} and the bound of order 1/d_m; the stated "
            "probability does not tend to 0. A loss with ℓ(y, y) > 0, which the lemma admits "
            "(cross-entropy, or a constant), refutes it as well. The convergence theorem is about "
            "gradient descent on Φ, not on ℓ. With M, z and ρ² the bound follows, but it is the "
            "initial loss in other words, and the exponential factor is lost. For N → ∞ the "
            "stated probability tends to at most 0."
        ),
        assumptions=QUOTED,
        example=EXAMPLE,
    )
)

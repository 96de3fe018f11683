r"""Augment: a network is charged for the slopes of its norm layers on rows of ordinary size alone.

A norm layer divides a row by √(σ² + ε), σ its standard deviation (RMSNorm: its root mean square),
so its slope is 1/√ε: a million, if some input makes a row nearly constant. Let *a* > 0 be a
declared level (``least_std``), s = κa with κ = CAP, and let the *capped* layer divide by
√(max(σ, s)² + ε). Write f for the network, f_s for the one with capped layers and equal weights,
and let the loss ℓ lie in [0, b].

**The capped layer has slope 1/√(s² + ε).** With c = Px (P takes off the mean, or is the identity),
σ = ‖c‖/√d. Where σ < s the map is c/√(s² + ε), linear. Where σ > s it is c/√(σ² + ε), whose
derivative has the singular values 1/√(σ² + ε) across c and ε/(σ² + ε)^{3/2} along c, both at most
1/√(s² + ε). The map is continuous and ‖P‖ ≤ 1, so the bound on the pieces is one for the map.

**The alarm** A(x) ∈ [0, 1] is the largest value, over norm layers and the rows that they read *in
f_s*, of the ramp that is 1 for σ ≤ s, 0 for σ ≥ a and linear between. As σ = ‖Px‖/√d is
1/√d-Lipschitz in the row, the ramp has slope 1/((a − s)√d). Let ℓ̃ = max(ℓ(f_s), b·A).

 1. ℓ(f(x)) ≤ ℓ̃(x) for every x. If every σ on the way of f_s is at least s, capped layers have
    done what plain ones do; so, layer by layer, the rows of f are those of f_s, and f(x) = f_s(x).
    Otherwise A(x) = 1, and ℓ̃(x) = b.
 2. ℓ̃(x) = ℓ(f(x)) where every σ on the way of *f* is at least a: by the same induction f_s has the
    same rows, and A(x) = 0. Elsewhere ℓ̃(x) ≤ b. So the mean of ℓ̃ on the sample is at most the
    mean loss of f in which an example with some σ < a counts b.
 3. ℓ̃ is the largest of finitely many functions: ℓ(f_s), and a ramp for each layer and row. If the
    blocks are off by ε_i, telescoping (``compose``) moves function j by Σ_i slope_j w_ij ε_i or
    less, with w_ij the weight of block i on the way to what j reads, which holds constants of the
    capped network alone. Since |max_j u_j − max_j v_j| ≤ max_j |u_j − v_j|, the loss class has
    the cover of a network in which block i has the weight

        β_i = max_j slope_j w_ij = max(L_ℓ·weight_i, b·alarm_i).

    Covered rows are clipped before a ramp reads them; clipping does not expand, so nothing changes.

By 3 the complexity of ℓ̃ over the class bounds risk(ℓ̃) − training(ℓ̃), uniformly; 1 bounds the risk
of f by that of ℓ̃ and 2 the training mean of ℓ̃. Nothing is assumed of unseen inputs. Radii,
Lipschitz constants, the entropy and the complexity of the network itself are those of f_s.

In a composition alarms go backwards as loss does: an alarm of slope α that reads the output of a
node of slope L has slope Lα in its input, and the larger of two counts. A node that wraps others
must say so in ``Facts.alarm``; one that does not is refused where a norm layer with a level is
inside.

Wei & Ma (2019), *Data-dependent sample complexity of deep neural networks via Lipschitz
augmentation*, multiply indicators of this kind to the loss; capping makes each factor global.

>>> float(alarm_slope(0.5, 64))
1.0
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dudley.calculus.facts import Facts, Signal, Use
from dudley.calculus.node import Node, entering
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import ZERO, Magnitude, largest

CAP = 0.75  # a row is divided by this share of its level or more; the rest is the alarm's ramp

ALARM = Lemma(
    "Loss class with alarms",
    "A norm layer of level a divides by no less than s = ¾a, which makes its slope at most "
    "‖g‖_∞/√(s²+ε); an example in which a row has less than a counts in full, by a ramp. So plain "
    "and capped networks have the same loss elsewhere, and the ramps are covered with the loss.",
    r"\ell(f)\le\tilde\ell=\max\bigl(\ell(f_s),\,b\max_{l,t}A_{l,t}\bigr),\quad"
    r"|\Delta A_{l,t}|\le\frac{4\|\Delta x_{l,t}\|}{a_l\sqrt d},\quad"
    r"\beta_i=\max\bigl(L_\ell w_i,\,b\,w^A_i\bigr)",
    "after Wei and Ma 2019, with capped layers",
)


def capped(level: float) -> float:
    """The standard deviation s below which rows of a layer with this level count as having it."""
    return CAP * float(level)


def alarm_slope(level: float, d: int) -> Magnitude:
    """1/((a − s)√d), the slope of the ramp in rows of width d; none without a level."""
    return 1 / (Magnitude.of(float(level)) * ((1 - CAP) * d**0.5)) if level else ZERO


def is_silent(alarm: Magnitude) -> bool:
    """Is there no alarm at all?"""
    return bool(np.all(np.isneginf(alarm.log)))


def behind(slope: Magnitude, alarm: Magnitude) -> Magnitude:
    """An alarm as a function of what a map of this slope reads; none stays none."""
    return ZERO if is_silent(alarm) else slope * alarm


def facts_with_alarm(node: Node, signal: Signal) -> Facts:
    """A node's facts, its alarm said: a node without one inside has none."""
    facts = node.facts(signal)
    if facts.alarm is not None:
        return facts
    if _has_alarm(node, signal):
        what = f"{type(node).__name__} around a norm layer with a level"
        raise InputError(what, "Facts.alarm, the slope of the alarms inside it", "none")
    return replace(facts, alarm=ZERO)


def _has_alarm(node: Node, signal: Signal) -> bool:
    """Is there an alarm in a node that does not say so itself?"""
    for part, into in entering(node, signal):
        alarm = part.node.facts(into).alarm
        if _has_alarm(part.node, into) if alarm is None else not is_silent(alarm):
            return True
    return False


def augmented(uses: Iterable[Use], slope: float, height: float) -> tuple[Use, ...]:
    """The uses with the weights β_i that they have in ℓ̃, for a loss of this slope and range."""
    return tuple(
        replace(use, weight=largest(use.weight * slope, use.alarm * height)) for use in uses
    )

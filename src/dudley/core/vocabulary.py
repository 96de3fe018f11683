"""The names of a situation: one vocabulary for commands, files and Python.

Sizes, norms and accuracies are given as ``name=value``; ``MATRIX.NORM`` names the norm of a
weight matrix with its orientation. A name outside the vocabulary is refused with the nearest one.
"""

from __future__ import annotations

import math
import re

from dudley.core.errors import InputError, UnknownName
from dudley.core.norms import NORMS, aliases, canonical, norm_named

SIZES = {
    "n": "number of examples",
    "T": "tokens per example",
    "d": "embedding width",
    "k": "hidden width",
    "H": "heads",
    "L": "layers",
    "V": "vocabulary size or number of classes",
    "r_QK": "rank of W_QK",
    "r_v": "rank of W_v",
    "r_c": "rank of W_c",
    "s": "relevant positions of a sparse function",
}
INPUTS = {
    "X.row2inf": "largest ℓ2 norm of a token",
    "X.row1inf": "largest ℓ1 norm of a token",
    "X.op": "spectral norm of the token matrix",
    "X.fro": "Frobenius norm of the token matrix",
    "P.row2inf": "largest ℓ2 norm of a position",
    "query.norm2": "ℓ2 norm of a fixed query",
}
MAPS = {
    "sigma.lipschitz": "Lipschitz constant of the activation",
    "sigma.at0": "value of the activation at 0",
    "score.scale": "factor on the scores",
    "attention.lipschitz": "Lipschitz constant of the normaliser, ℓ∞ to ℓ1",
    "attention.mass": "largest ℓ1 norm of the attention weights",
    "ln.least_std": "least standard deviation of a row; examples with less count in full",
    "loss.lipschitz": "Lipschitz constant of the loss",
    "loss.range": "the loss lies in [0, range]",
    "margin": "margin of the ramp loss",
    "kappa": "Lipschitz constant of the excess loss",
    "target.bound": "bound on the target function",
}
ACCURACY = {
    "delta": "one minus the confidence",
    "epsilon": "resolution at which a cover is counted",
    "resolution": "resolution of the cover inside a bound on the excess risk",
    "train_error": "share of training margins below the margin, or mean training loss",
    "beta": "offset",
    "tail.nu": "scale of a sub-Gaussian tail",
    "tail.beta": "exponent of a polynomial tail",
    "tail.C": "constant of a polynomial tail",
    "truncation": "level at which inputs are truncated",
    "psi.power": "power of the generalised log-truncation, in (1, 2]; 2 is Catoni's",
    "psi.scale": "α of the robust loss ψ(αℓ)/α",
}
TRAINING = {
    "features.smin": "smallest singular value of the features at initialisation, n×k",
    "loss.at_label": "the loss at the label itself, ℓ(y, y), is at most this",
    "loss.initial": "½‖f − y‖² at initialisation, summed over the sample",
    "step.size": "step size of gradient descent",
    "steps": "steps of gradient descent",
    "correlation.c": "c with P(|⟨XᵀX, X′ᵀX′⟩| ≥ t) ≤ exp(−t^c)",
}
GIVEN = {
    "c": "the constant that the paper does not name",
    "class.C": "C in log N(ε) ≤ C/ε²",
    "class.radius": "A with |f| ≤ A",
    "class.rademacher": "empirical Rademacher complexity",
    "class.offset": "offset Rademacher complexity R_off(G, 1/M) of the excess losses",
    "class.approximation": "inf over the class of the excess risk",
    "noise.free": "1 if the target minimises the loss at almost every example, 0 if not known",
    "bernstein.V": "V with E g² ≤ V·E g for every excess loss g, the target in the class",
}
PARTS = {
    "c.exponent": "the constant that the paper hides in an exponent",
    "head.L_out": "Lipschitz constant of the outer map φ_out, with φ_out(0) = 0",
    "head.B_in": "B with ‖φ_in(x)‖ ≤ B‖x‖",
    "score.C": "C in log N(ε) ≤ C/ε² for the scores",
    "inner.C": "C in log N(ε) ≤ C/ε² for the inner map",
    "score.rank": "r in log N(ε) ≤ rC log(rB²/ε²) for the scores",
    "inner.rank": "r in log N(ε) ≤ rC log(rB²/ε²) for the inner map",
    "subspace.dim": "dimension of a fixed subspace that holds every output",
    "score.weight": "change of the output per unit error of a score",
    "inner.weight": "change of the output per unit error of the inner map",
    "error.score": "largest change of a score",
    "error.inner": "largest ℓ2 change of a row of the inner map",
    "error.rows": "largest ℓ2 change of an input row",
    "error.QK": "largest ‖ΔW_QK zᵀ‖₂ over the rows z",
    "error.v": "largest ‖zΔW_v‖₂ over the rows z",
    "error.c": "largest ‖hΔW_c‖₂ over the covered inputs h of W_c",
    "error.w": "largest |y·Δw| over the covered inputs y of w",
    "error.output": "ℓ2 change of the row that is read out",
    "error.logits": "largest change of a logit",
    "loss.bound": "the loss lies in [−bound, bound]",
    "class.C_input": "C in log N(ε) ≤ C/ε² on inputs of norm ≤ X.row2inf",
    "class.C_QK": "C in log N(ε) ≤ C/ε² for the maps x ↦ xW_QK on unit inputs",
    "class.C_v": "C in log N(ε) ≤ C/ε² for the maps x ↦ xW_v on unit inputs",
    "class.C_c": "C in log N(ε) ≤ C/ε² for the maps x ↦ xW_c on unit inputs",
    "class.C_w": "C in log N(ε) ≤ C/ε² for the functionals x ↦ x·w on unit inputs",
    "class.log_cover": "log covering number at one resolution",
    "combination.mass": "γ, the sum of the coefficients α_i ≥ 0",
    "combination.norm2": "norm of f = Σ α_i V_i",
    "atoms.norm2": "largest norm of an atom V_i",
    "terms": "number of terms of the average",
    "output.q": "q of the ℓq norm that measures outputs",
}
SPARSE = {
    "gamma": "distance between values that must be told apart",
    "coherence": "largest |v_i·v_j| of almost orthonormal vectors",
    "score.gap": "gap between the scores of relevant and other tokens",
    "tolerance": "sup-norm change of its input that a network must forgive",
    "points.linf": "largest absolute coordinate of the points a network tells apart",
}
VOCABULARY = SIZES | INPUTS | MAPS | ACCURACY | TRAINING | GIVEN | PARTS | SPARSE
SIGNED = ("class.offset",)  # a penalised supremum may be negative
VECTORS = {"l1": "ℓ1 norm of {}", "l2": "ℓ2 norm of {}"}
BESIDES_NORMS = {
    "rank": "rank of {}",
    "moved": "Frobenius distance of {} from its initial value",
}
_MATRIX = re.compile(r"(W_\w+|w|b_\w+|P|W)\.(\w+)")


def known(name: str) -> bool:
    """Is this a name of the vocabulary?

    >>> known("W_QK.l11"), known("W_QK.l12"), known("n")
    (True, False, True)
    """
    match = _MATRIX.fullmatch(name)
    if match:
        return canonical(match[2]) in NORMS or match[2] in BESIDES_NORMS
    return name in VOCABULARY


def parse_assignments(words: list[str]) -> dict[str, float]:
    """``name=value`` words as a dictionary of finite numbers.

    >>> parse_assignments(["n=1e5", "W_QK.l11=20"])
    {'n': 100000.0, 'W_QK.l11': 20.0}
    >>> parse_assignments(["W_QK.l21=20"])
    Traceback (most recent call last):
    dudley.core.errors.UnknownName: unknown name 'W_QK.l21'; did you mean W_QK.l2 or ...
    """
    values: dict[str, float] = {}
    for name, value in split_assignments(words).items():
        expect_known(name)
        values[name] = check_value(name, value)
    return values


def expect_known(name: str) -> None:
    """Refuse a name outside the vocabulary, with the nearest ones."""
    if not known(name):
        head = name.partition(".")[0]
        norms = [f"{head}.{norm}" for norm in [*NORMS, *aliases(), *BESIDES_NORMS]]
        raise UnknownName("name", name, list(dict.fromkeys([*VOCABULARY, *filter(known, norms)])))


def split_assignments(words: list[str]) -> dict[str, float]:
    """``name=value`` words by name, unchecked: a text that is no number stays a text.

    >>> split_assignments(["n=1e5", "k=two"])
    {'n': 100000.0, 'k': 'two'}
    """
    values: dict[str, float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise InputError("argument", "name=value, such as n=1e5", word)
        if name in values:
            raise InputError(name, "one value", "two")
        try:
            values[name] = float(text)
        except ValueError:
            values[name] = text  # pyright: ignore[reportArgumentType]
    return values


def describe(name: str) -> str:
    """What a name of the vocabulary means.

    >>> describe("w.l2"), describe("W_v.rank"), describe("T")
    ('ℓ2 norm of w', 'rank of W_v', 'tokens per example')
    """
    match = _MATRIX.fullmatch(name)
    if match is None:
        return VOCABULARY.get(name, name)
    text = (VECTORS | BESIDES_NORMS).get(match[2])
    return text.format(match[1]) if text else f"{norm_named(match[2]).meaning} of {match[1]}"


def check_value(name: str, value: float) -> float:
    """A finite number ≥ 0 that suits the name: sizes are integers, delta is in (0, 1)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(name, "a number", repr(value))
    if not math.isfinite(value) or (value < 0 and name not in SIGNED):
        raise InputError(name, "a finite number ≥ 0", value)
    if name in SIZES and (value < 1 or value != int(value)):
        raise InputError(name, "an integer ≥ 1", value)
    if name == "delta" and not 0 < value < 1:
        raise InputError(name, "a number strictly between 0 and 1", value)
    if name == "noise.free" and value not in (0, 1):
        raise InputError(name, "0 or 1", value)
    if name in ("epsilon", "resolution", "margin", "ln.least_std") and value == 0:
        raise InputError(name, "a number > 0", value)
    return float(value)

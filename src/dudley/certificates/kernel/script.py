r"""The file that Coq checks: one claim with its numbers, and one program for the kernel to run.

Only whole numbers and names of theorems stand in it: no text of a certificate can get there.

>>> from fractions import Fraction
>>> from dudley.certificates.kernel.claim import KernelClaim
>>> print(script(KernelClaim("holdout", 1000, 3, Fraction(9, 1000), Fraction(1, 20))))
From Coq Require Import NArith List.
From dudley Require Import Certificates.
Import ListNotations.
Local Open Scope N_scope.
<BLANKLINE>
Theorem certificate : holdout_claim 1000 3 (9, 1000) (1, 20).
Proof.
  apply holdout_certificate with (fuel := 93) (S := 2 ^ 64).
  vm_cast_no_check (eq_refl true).
Qed.
<BLANKLINE>
Print Assumptions certificate.
<BLANKLINE>
"""

from __future__ import annotations

import math
from fractions import Fraction

from dudley.certificates.kernel.claim import KernelClaim
from dudley.certificates.kernel.losses import BITS, WEIGHT, Pairs
from dudley.core.errors import InputError

SCALE = 64  # bits of the term at k
GRID = 10**15  # of pick-to-learn's curve, whose values are fractions with this denominator
PART = 100  # pairs of a list within a list
STEPS = 4_000_000  # more than a kernel adds up in minutes
THEOREMS = {
    "holdout": "holdout_certificate",
    "listed": "listed_certificate",
    "coded": "coded_certificate",
    "cover": "cover_certificate",
    "picks": "picks_certificate",
    "losses": "losses_certificate",
}


def steps(claim: KernelClaim) -> int:
    """How many terms above k are added: up to t = 9σ + 60 beyond the mean.

    Less than e^-36 is left then, for P[Bin(n, p) ≥ np + t] ≤ exp(−t²/(2σ² + 2t/3)) (Bernstein).
    """
    mean = claim.n * claim.bound
    beyond = 9 * math.sqrt(float(mean * (1 - claim.bound))) + 60
    return min(claim.n - claim.k, max(0, math.ceil(float(mean) - claim.k + beyond)))


def statement(claim: KernelClaim) -> str:
    """The proposition in Coq."""
    bound = _on_grid(claim.bound) if claim.form == "picks" else _pair(claim.bound)
    if claim.losses is not None:
        book = f"(Book {BITS} {WEIGHT} {_pairs(claim.losses.bets)})"
        arguments = [book, str(claim.n), str(BITS), _pairs(claim.losses.counts), bound]
        arguments.append(_pair(claim.delta))
    else:
        arguments = [str(claim.n), str(claim.k), bound, _pair(claim.delta)]
    if claim.form in ("coded", "cover"):
        arguments.append(str(claim.extra))
    if claim.form != "holdout":
        arguments.append(f"[{'; '.join(_pair(price.weight) for price in claim.weights)}]")
    return f"{claim.form}_claim {' '.join(arguments)}"


def script(claim: KernelClaim) -> str:
    """The text of the file."""
    if max(steps(claim), claim.k) > STEPS:
        raise InputError("--coq", f"up to {STEPS:,} terms of a tail", f"{claim.n:,} examples")
    theorem, library = THEOREMS[claim.form], "Certificates"
    if claim.losses is not None:
        library += " Losses"
    else:
        theorem += f" with (fuel := {steps(claim)}) (S := 2 ^ {SCALE})"
    return f"""\
From Coq Require Import NArith List.
From dudley Require Import {library}.
Import ListNotations.
Local Open Scope N_scope.

Theorem certificate : {statement(claim)}.
Proof.
  apply {theorem}.
  vm_cast_no_check (eq_refl true).
Qed.

Print Assumptions certificate.
"""


def _pairs(pairs: Pairs) -> str:
    """A list of pairs of whole numbers, in parts that Coq's parser can take."""
    words = [f"({a}, {b})" for a, b in pairs]
    parts = ("; ".join(words[i : i + PART]) for i in range(0, len(words), PART))
    return f"(List.concat [{'; '.join(f'[{part}]' for part in parts)}])"


def _pair(x: Fraction) -> str:
    """A fraction as two whole numbers."""
    return f"({x.numerator}, {x.denominator})"


def _on_grid(x: Fraction) -> str:
    """A fraction with the denominator that was fixed before any data."""
    if (x * GRID).denominator != 1:
        raise InputError("--coq", "a bound of at most 15 decimals", float(x))
    return f"({int(x * GRID)}, {GRID})"

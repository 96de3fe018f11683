"""Losses for a proof kernel: whole numbers that claim no less, and the kernel's yes and no."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dudley as du
from certificates.test_kernel_coq import expect_tight, kernel  # noqa: F401
from dudley.certificates.certificate import Certificate
from dudley.certificates.kernel.claim import KernelClaim, claim_of
from dudley.certificates.kernel.coq import Coq
from dudley.certificates.kernel.losses import BITS, WEIGHT, KernelLosses, losses_of
from dudley.certificates.kernel.script import script
from dudley.core.errors import InputError

TABLE = "loss,unit\n" + "".join(f"{(i * i) % 11 / 20},{i // 3}\n" for i in range(600))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("losses") / "table.csv"
    path.write_text(TABLE)
    return path


def claims(path: Path) -> dict[str, KernelClaim]:
    """Losses alone, by units, and of one of two models with a lower end."""
    made: dict[str, Certificate] = {
        "rows": du.outcomes(path),
        "units": du.outcomes(path, unit="unit"),
        "one of two": du.outcomes(path, among=2, two_sided=True),
    }
    files = {name: json.loads(certificate.text()) for name, certificate in made.items()}
    return {name: claim_of(file, losses_of(file, path)) for name, file in files.items()}


def worth(claim: KernelClaim) -> Fraction:
    """What the book is worth at the bound, of exact fractions (the sum is of the losses' list)."""
    assert claim.losses is not None
    total = Fraction(0)
    for bet, weight in claim.losses.bets:
        θ, product = Fraction(bet, 1 << BITS), Fraction(weight, WEIGHT)
        for z, count in claim.losses.counts:
            product *= ((1 - θ * Fraction(z, 1 << BITS)) / (1 - θ * claim.bound)) ** count
        total += product
    return total


def test_what_the_kernel_is_given_claims_no_less(path: Path):
    for name, claim in claims(path).items():
        listed = claim.losses
        assert listed is not None and claim.form == "losses" and claim.k == 0
        assert (
            sum(count for _, count in listed.counts) == claim.n == (200 if name == "units" else 600)
        )
        assert sum(weight for _, weight in listed.bets) <= WEIGHT
        assert all(0 < bet < 1 << BITS for bet, _ in listed.bets)
        enough, short = (
            worth(replace(claim, bound=bound)) * claim.product >= 1
            for bound in (claim.bound, claim.bound * Fraction(999, 1000))
        )
        assert enough and not short, name
        text = script(claim)
        assert (
            "losses_claim (Book 44 9007199254740992" in text and "Import Certificates Los" in text
        )
    priced = claims(path)["one of two"]
    assert priced.delta == Fraction(1, 40) and [p.weight for p in priced.weights] == [
        Fraction(1, 2)
    ]


def test_losses_that_are_too_many_or_absent_are_refused(path: Path):
    with pytest.raises(InputError, match="at most 4,096 losses that differ"):
        KernelLosses.of(np.linspace(0, 1, 5000), -math.log(0.05))
    with pytest.raises(InputError, match="the losses, which the data have"):
        claim_of(json.loads(du.outcomes(path).text()))


@pytest.mark.slow
def test_the_kernel_accepts_losses_and_no_unit_less(kernel: Coq, path: Path):  # noqa: F811
    for name, claim in claims(path).items():
        expect_tight(claim, kernel, name)

"""The kernel itself: it accepts every kind, and refuses one unit less in the fourth digit."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from certificates.kernel_cases import SHIPPED, of_kinds, shipped
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.kernel.check import accepts
from dudley.certificates.kernel.claim import KernelClaim, KernelPrice, claim_of
from dudley.certificates.kernel.coq import Coq, coq
from dudley.certificates.kernel.library import compiled
from dudley.certificates.kernel.numbers import bound_above
from dudley.certificates.methods.pick_to_learn.bound import risk_upper
from dudley.core.errors import InputError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kernel(require, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Coq]:
    """Coq, with the proofs compiled in a cache folder of the test's own."""
    require("coq", shutil.which("coqc") is not None, "no coqc on PATH")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        compiled(program := coq())
        yield program


def unit_less(claim: KernelClaim) -> KernelClaim:
    """One unit less in the fourth digit of the bound."""
    exact = Decimal(claim.bound.numerator) / claim.bound.denominator
    unit = Fraction(10) ** (exact.adjusted() - 3)
    return replace(claim, bound=claim.bound - unit)


def expect_tight(claim: KernelClaim, kernel: Coq, name: str) -> None:
    assert accepts(claim, kernel), name
    assert not accepts(unit_less(claim), kernel), name


def test_shipped_certificates(kernel: Coq):
    for name in SHIPPED:
        expect_tight(claim_of(shipped(name)), kernel, name)


def test_every_kind(kernel: Coq):
    for name, certificate in of_kinds().items():
        expect_tight(claim_of(certificate), kernel, name)


def test_a_hundred_thousand_examples(kernel: Coq, capsys: pytest.CaptureFixture):
    """Seconds are printed, not asserted; docs/proof.md has those that were measured."""
    n, delta, twentieth = 10**5, Fraction(1, 20), 2.995732273553991
    nats = twentieth + 1000 * 0.6931471805599453
    price = (KernelPrice("of the list", Fraction(1, 2**1000)),)
    claims = {
        "no error": KernelClaim("holdout", n, 0, _up(binomial_upper(0, n, twentieth)), delta),
        "a fifth, 1000 bits": KernelClaim(
            "listed", n, n // 5, _up(binomial_upper(n // 5, n, nats)), delta, price
        ),
        "half": KernelClaim("holdout", n, n // 2, _up(binomial_upper(n // 2, n, twentieth)), delta),
        "39 picks": KernelClaim("picks", n, 39, _up(risk_upper(39, n, twentieth)), delta),
        "a tenth picked": KernelClaim(
            "picks", n, n // 10, _up(risk_upper(n // 10, n, twentieth)), delta
        ),
    }
    for name, claim in claims.items():
        since = time.monotonic()
        assert accepts(claim, kernel), name
        with capsys.disabled():
            print(f"\n  {name}: {time.monotonic() - since:.1f} s", end="")


def test_false_claims_are_refused(kernel: Coq):
    """Another confidence, a weight of more than it costs, one more error."""
    claim = claim_of(shipped("marked-token"))
    for changed in (
        replace(claim, delta=claim.delta / 2),
        replace(claim, extra=23),
        replace(claim, weights=(KernelPrice("radius", Fraction(1, 10)),)),
        replace(claim, k=1),
        replace(claim, n=1999),
    ):
        assert not accepts(changed, kernel)


def test_a_script_with_an_axiom_is_refused(kernel: Coq):
    text = "Axiom a : False.\nTheorem t : 1 = 2.\nProof. destruct a. Qed.\nPrint Assumptions t.\n"
    with pytest.raises(InputError, match="without axioms"):
        kernel.accepts(text, compiled(kernel))


def test_the_compiled_proofs_are_used_again(kernel: Coq, monkeypatch: pytest.MonkeyPatch):
    place = compiled(kernel)
    monkeypatch.setattr(Coq, "compile", lambda *_: pytest.fail("compiled again"))
    assert compiled(kernel) == place
    assert (place / "Certificates.vo").is_file()
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_proof_that_fails_leaves_nothing(kernel: Coq, monkeypatch, tmp_path: Path):
    folder = tmp_path / "proof"
    folder.mkdir()
    text = "Theorem certificate : False.\nProof. exact I. Qed.\n"
    (folder / "Losses.v").write_text(text, encoding="utf-8")
    monkeypatch.setattr("dudley.certificates.kernel.library.sources", lambda: folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(InputError, match=r"proof Losses\.v"):
        compiled(kernel)
    assert list((tmp_path / "cache" / "dudley").iterdir()) == []


def _up(value: float) -> Fraction:
    return bound_above(value)

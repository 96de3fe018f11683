"""What is handed to a proof kernel: exact numbers, one claim, and nothing that a file could say."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from certificates.kernel_cases import SHIPPED, of_kinds, shipped
from dudley.calculus.union import Grid
from dudley.certificates import digits
from dudley.certificates.kernel import coq, library
from dudley.certificates.kernel.claim import KernelClaim, claim_of
from dudley.certificates.kernel.coq import Coq
from dudley.certificates.kernel.library import needed, sources
from dudley.certificates.kernel.numbers import bound_above, one_of, size_above, weight_below
from dudley.certificates.kernel.script import THEOREMS, script, statement, steps
from dudley.core.errors import InputError
from each import each


@pytest.fixture(scope="module")
def made() -> dict[str, dict]:
    return of_kinds() | {name: shipped(name) for name in SHIPPED}


def test_prices_are_the_exact_fractions():
    for j in range(-300, 300, 7):
        whole = 3 * (abs(j) + 1) * (abs(j) + 2) // 2
        assert one_of(digits.up(Grid().nats(j))) == whole
    for count in (1, 2, 3, 176, 1 << 20):
        assert one_of(digits.up(math.log(count))) == count


def test_what_is_rounded_goes_to_the_side_that_claims_less():
    for nats in (1e-9, 0.3, 17.4464625501, 690.3, 5000.0):
        assert size_above(nats) >= 1 / weight_below(nats) * (1 - Fraction(1, 10**9))
        if nats < 700:
            assert weight_below(nats) <= Fraction(math.exp(-nats)) * (1 + Fraction(1, 10**12))
            assert size_above(nats) >= Fraction(math.exp(nats)) * (1 - Fraction(1, 10**12))
    for value in (1.1e-7, 0.000233, 0.0131936, 0.01319356001, 0.5, 0.99999):
        bound, exact = bound_above(value), Fraction(Decimal(repr(value)))
        assert exact < bound <= exact * (1 + Fraction(11, 10**6))
        assert len(str(Decimal(bound.numerator) / bound.denominator).replace(".", "")) < 20


def test_the_claim_is_at_delta_less_all_prices(made: dict[str, dict]):
    """δ times the weights is e^-(what was paid), and for a cover e^-(the cover), never above."""
    for name, certificate in made.items():
        claim = claim_of(certificate)
        nats = certificate["nats"] - math.log(certificate["delta"])
        if claim.form == "cover":
            nats += certificate["facts"]["log_cover"]
        log = math.log(claim.product.numerator) - math.log(claim.product.denominator)
        assert log == pytest.approx(-nats, rel=1e-8), name
        assert log <= -nats + 1e-8, name


def test_each_kind_has_its_theorem(made: dict[str, dict]):
    forms = {name: claim_of(certificate).form for name, certificate in made.items()}
    assert forms == {
        "hold-out": "holdout",
        "hold-out, looks": "listed",
        "outcomes": "holdout",
        "outcomes, parts": "listed",
        "norm-cover": "cover",
        "pick-to-learn": "picks",
        "pick-to-learn, stops": "picks",
        "sparse-and": "coded",
        "marked-token": "coded",
        "label-words": "listed",
    }
    text = b"".join(needed(sources()).values()).decode()
    for form, theorem in THEOREMS.items():
        assert f"Theorem {theorem}" in text and f"Definition {form}_claim" in text


def test_shares_and_weights(made: dict[str, dict]):
    """Other claims have a share of δ, and entries of lists have weights."""
    looks = claim_of(made["hold-out, looks"])
    assert (looks.share, looks.delta) == (Fraction(1, 2), Fraction(1, 40))
    assert [(p.name, p.weight) for p in looks.weights] == [("looks", Fraction(1, 7))]
    stops = claim_of(made["pick-to-learn, stops"])
    assert (stops.delta, stops.weights[0].weight) == (Fraction(1, 40), Fraction(1, 3))
    radius = claim_of(made["marked-token"])
    assert (radius.extra, radius.weights[0].weight) == (22, Fraction(1, 9))


def test_the_script_of_an_example():
    page = Path(__file__).resolve().parents[2] / "docs" / "proof.md"
    text = script(claim_of(shipped("marked-token")))
    assert f"```coq\n{text}```\n" in page.read_text(encoding="utf-8")
    assert text == (
        "From Coq Require Import NArith List.\n"
        "From dudley Require Import Certificates.\n"
        "Import ListNotations.\n"
        "Local Open Scope N_scope.\n"
        "\n"
        "Theorem certificate : coded_claim 2000 0 (101691, 10000000) (1, 20) 22 [(1, 9)].\n"
        "Proof.\n"
        "  apply coded_certificate with (fuel := 121) (S := 2 ^ 64).\n"
        "  vm_cast_no_check (eq_refl true).\n"
        "Qed.\n"
        "\n"
        "Print Assumptions certificate.\n"
    )


def test_the_grid_of_picks_does_not_depend_on_the_bound(made: dict[str, dict]):
    claim = claim_of(made["pick-to-learn"])
    assert f", {10**15})" in statement(claim)
    assert f"({int(claim.bound * 10**15)}, " in statement(claim)


def test_no_text_of_a_file_gets_into_the_script(made: dict[str, dict]):
    cheat = "1). Axiom cheat : False. (*"

    def poisoned(value, path=()):
        if isinstance(value, dict):
            return {k: poisoned(v, (*path, k)) for k, v in value.items()}
        if isinstance(value, list):
            return [poisoned(v, path) for v in value]
        # These few decide which claim is made; they are compared with words, and never written.
        known = path in (("method",), ("prices", "name"), ("declared", "loss"))
        known |= path == ("declared", "interval")
        return cheat if isinstance(value, str) and not known else value

    for name, certificate in made.items():
        text = script(claim_of(certificate))
        assert text.isascii() and len(text) < 100_000
        assert script(claim_of(poisoned(certificate))) == text, name


@each(
    ("place", "value"),
    [
        (("facts", "n"), "2000) : True. Axiom a : False. (*"),
        (("facts", "errors"), "0"),
        (("facts", "errors"), 0.0),
        (("facts", "errors"), True),
        (("facts", "errors"), -1),
        (("facts", "errors"), 2000),
        (("facts", "n"), 1 << 60),
        (("facts", "bits"), "34"),
        (("value",), 1.0),
    ],
)
def test_counts_that_are_none_are_refused(place: tuple[str, ...], value: object):
    certificate = copy.deepcopy(shipped("sparse-and"))
    part = certificate
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    with pytest.raises(InputError, match="--coq"):
        claim_of(certificate)


@each(
    ("kind", "changes"),
    [
        ("hold-out", {"method": "pac-bayes"}),
        ("hold-out", {"declared": {"loss": "ramp", "interval": ["betting"]}}),
        ("hold-out", {"declared": {"loss": "error", "interval": ["betting"]}}),
        ("hold-out", {"declared": {"loss": "error", "interval": ["clopper-pearson", "betting"]}}),
        ("hold-out", {"declared": {"loss": "error", "interval": ["hypergeometric"], "pool": 900}}),
        ("pick-to-learn", {"declared": {"expected": 4}}),
        ("pick-to-learn", {"declared": {"most": 4}}),
        ("pick-to-learn", {"declared": {"pool": 400}}),
        ("norm-cover", {"facts": {"n": 9, "errors_at_margin": 1, "log_cover": None}}),
    ],
)
def test_what_has_no_theorem_is_refused_by_name(made: dict, kind: str, changes: dict):
    with pytest.raises(InputError, match=r"hold-out and selection .* pick-to-learn"):
        claim_of(made[kind] | changes)


def test_a_tail_that_is_too_long_is_refused():
    claim = KernelClaim("holdout", 10**15, 10**9, Fraction(1, 100), Fraction(1, 20))
    with pytest.raises(InputError, match="terms of a tail"):
        script(claim)


def test_enough_terms_are_added():
    """Beyond the last of them less than e^-36 is left."""
    from scipy.stats import binom

    for n, k, p in ((2000, 0, 0.0132), (10**5, 20_000, 0.21), (300, 1, 0.035), (50, 3, 0.9)):
        claim = KernelClaim("holdout", n, k, Fraction(p), Fraction(1, 20))
        assert k + steps(claim) <= n
        assert binom.sf(k + steps(claim), n, p) < math.exp(-36)


def test_sources_come_after_what_they_need():
    names = list(needed(sources()))
    assert names[-2:] == ["Certificates", "Losses"] and "Betting" not in names
    assert names.index("Draws") < names.index("Binomial") < names.index("Checks")


# -- a program in the place of Coq --------------------------------------------------------------

CLOSED = "echo Closed under the global context"
FALSE = """echo 'Error: The term "eq_refl" has type "true =
 true" while it is expected to have type' >&2; exit 1"""


def in_place_of_coq(folder: Path, body: str) -> Coq:
    path = folder / "coqc"
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return Coq(str(path), limit=5)


def test_the_kernels_yes_and_no(tmp_path: Path):
    assert in_place_of_coq(tmp_path, CLOSED).accepts("", tmp_path) is True
    assert in_place_of_coq(tmp_path, FALSE).accepts("", tmp_path) is False


@each(
    ("body", "words"),
    [
        ("echo Axioms:; echo cheat : False", "without axioms"),
        ("true", "without axioms"),
        (f"{CLOSED}; {CLOSED}; echo more", "without axioms"),
        ("echo 'Error: Cannot find a physical path' >&2; exit 1", "Cannot find a physical path"),
        ("exit 137", "an answer, got nothing"),
        ("sleep 30", "within 0.2 s"),
    ],
)
def test_no_other_answer_is_a_yes_or_a_no(body: str, words: str, tmp_path: Path):
    program = replace(in_place_of_coq(tmp_path, body), limit=0.2 if "sleep" in body else 5)
    with pytest.raises(InputError, match=words):
        program.accepts("", tmp_path)


def test_without_coq_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install coq libcoq-mathcomp-algebra"):
        coq.coq()


def test_the_report_rounds_no_number_down(made: dict[str, dict]):
    from dudley.certificates.kernel.report import KernelReport, about

    for certificate in made.values():
        claim = claim_of(certificate)
        assert Fraction(Decimal(about(claim.product))) >= claim.product
        report = KernelReport(claim, True, "8.16.1", (), (), ())
        words = " ".join(report.checked)
        assert f"{float(claim.bound):.6g}" in words
        json.dumps(report.to_json(), allow_nan=False)
        assert replace(report, accepted=False).to_json()["kernel_checked"] == []


def test_an_installed_package_has_the_sources_beside_its_modules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    package = tmp_path / "site-packages" / "dudley"
    monkeypatch.setattr(library, "PACKAGE", package)
    with pytest.raises(InputError, match=r"a folder with Losses\.v"):
        sources()
    (package / "_proof").mkdir(parents=True)
    (package / "_proof" / "Losses.v").write_text("", encoding="utf-8")
    assert sources() == package / "_proof"


def test_a_price_of_an_unknown_kind_is_rounded_down(made: dict[str, dict]):
    certificate = copy.deepcopy(made["hold-out"])
    certificate["prices"] = [{"name": "something new", "nats": math.log(2.5), "note": ""}]
    (price,) = claim_of(certificate).weights
    assert Fraction(2, 5) * (1 - Fraction(1, 10**12)) <= price.weight <= Fraction(2, 5)


def test_a_cache_that_cannot_be_written_is_refused(monkeypatch, tmp_path: Path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match="XDG_CACHE_HOME"):
        library.compiled(in_place_of_coq(tmp_path, "echo 8.16.1"))

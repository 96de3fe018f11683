"""A page says a number in its own voice only where the number was computed again."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dudley.certificates.possible import expect_possible
from dudley.core.errors import InputError
from dudley.networks.files import EXAMPLES
from dudley.show.as_html import html
from dudley.show.as_latex import latex
from dudley.show.as_markdown import markdown
from dudley.show.pages import certificate
from dudley.show.pages.read import of_json
from dudley.show.pages.stamp import Stamp, stamped
from each import each

FOLDER = EXAMPLES / "sparse-and"
FILES = FOLDER / "model.safetensors", FOLDER / "train.npz"
FORMATS = {"html": html, "Markdown": markdown, "LaTeX": latex}


def example_record() -> dict[str, Any]:
    return json.loads((FOLDER / "certificate.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", FORMATS)
def test_a_forged_certificate_is_called_not_verified_in_its_first_lines(form: str):
    made = of_json(example_record() | {"value": 1e-5})
    text = FORMATS[form](made)
    assert made.title == "Not verified: the file claims at most 0.001 % errors"
    body = text[text.index("<h1>") :] if form == "html" else text
    assert "Not verified" in body[:400] and "computed again" in body[:800]
    for number in re.finditer(r"at most 0\.001", text):
        assert text[: number.start()].endswith("the file claims "), "said as if it were true"


@pytest.mark.parametrize("form", FORMATS)
def test_a_verified_page_says_what_was_computed_again_from_which_files_and_when(form: str):
    stamp = stamped(example_record(), *FILES)
    text = FORMATS[form](certificate.document([example_record()], stamp))
    assert stamp.holds and stamp.recomputed > 20
    assert "Verified: at most 1.32" in text and "the file claims" not in text
    assert f"{stamp.recomputed} fields were computed again" in text and stamp.at[:10] in text
    assert "model.safetensors and train.npz" in text


@pytest.mark.parametrize("form", FORMATS)
def test_a_refuted_page_says_so_and_what_differs(form: str):
    forged = example_record() | {"value": 1e-5}
    made = certificate.document([forged], stamped(forged, *FILES))
    assert made.title == "Does not hold" and made.lead == ()
    text = FORMATS[form](made)
    assert "Does not hold" in text
    assert "value: the file says 1e-05, computed 0.0131" in text
    assert "Verified" not in text


def test_certificates_side_by_side_are_claims_too():
    made = of_json(
        {"kind": "certificates", "items": [example_record(), example_record() | {"value": 0.5}]}
    )
    assert made.title.startswith("Not verified: the file claims")
    assert "the file claims at most" in latex(made), "the table has no number in the page's voice"


def test_what_is_vacuous_is_not_said_to_say_something():
    page = markdown(of_json(example_record() | {"value": 0.9, "vacuous": False}))
    assert "**informative**: no, vacuous" in page


def test_other_files_are_said_to_be_read_and_not_computed():
    audit = {"statement": "a", "form": "best", "outcome": "stands"}
    text = markdown(of_json({"kind": "audit", "items": [audit]}))
    assert "what the file claims" in text


IMPOSSIBLE = {
    "a negative value": {"value": -1},
    "a risk above 1": {"value": 1.5},
    "an infinite value": {"value": float("inf")},
    "delta 0": {"delta": 0.0},
    "delta 1": {"delta": 1.0},
    "a negative delta": {"delta": -0.05},
    "negative nats": {"nats": -3.0},
    "a negative price": {"prices": [{"name": "code", "nats": -1.0, "note": ""}]},
    "a price without a name": {"prices": [{"nats": 1.0, "note": ""}]},
    "a price that is none": {"prices": [3]},
    "no examples": {"data": {"n": 0}},
    "a negative n": {"data": {"n": -5}},
    "half an example": {"data": {"n": 0.5}},
    "n true": {"data": {"n": True}},
    "no digest": {"model": {"sha256": "x"}},
    "negative weights": {"model": {"weights": -66}},
    "more errors than examples": {"facts": {"errors": 2001}},
    "negative errors": {"facts": {"errors": -1}},
    "a rate above 1": {"facts": {"train_error": 1.01}},
    "negative bits": {"facts": {"bits": -34}},
    "guessing errs more often than there are examples": {"baseline": {"errors": 2001}},
    "guessing errs with probability 2": {"baseline": {"error_at_least": 2.0}},
    "guessing is a word": {"baseline": {"error_at_least": "x"}},
    "the worst is a word": {"baseline": {"worst": "x"}},
    "a declaration that is no text": {"declarations": [{}]},
    "an advice that is no text": {"advice": [None]},
}


def changed(change: dict[str, Any]) -> dict[str, Any]:
    """The certificate with some fields, or fields of its parts, replaced."""
    record = example_record()
    for name, value in change.items():
        record[name] = record[name] | value if isinstance(value, dict) else value
    return record


@each("case", IMPOSSIBLE)
def test_an_impossible_number_is_refused(case: str):
    with pytest.raises(InputError, match="of the certificate"):
        of_json(changed(IMPOSSIBLE[case]))


def test_the_shipped_certificate_is_possible():
    assert expect_possible(example_record()) == example_record()


def test_a_loss_in_bits_may_be_above_one_but_not_above_its_limit():
    bits = example_record() | {"quantity": "expected bits per symbol", "value": 3.2}
    assert "at most 3.2" in of_json(bits).title
    with pytest.raises(InputError, match="≤ 3"):
        of_json(bits | {"facts": {"limit": 3.0}})


def test_a_stamp_says_nothing_without_a_verification():
    assert Stamp().holds is None and Stamp().says("5") == "the file claims 5"

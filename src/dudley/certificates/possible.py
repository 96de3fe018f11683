"""What the numbers of a certificate can be: a page shows no others, verified or not.

Whoever holds the model and the data computes the numbers again (`verify`). Whoever holds the file
alone can still see that no certificate has a risk of −1, a δ of 2, or an error count above n.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from dudley.core.errors import InputError

SHARES = ("probability", "share", "mean ")  # how a quantity begins that is at most 1
COUNTS = (
    "n", "errors", "ties", "errors_at_margin", "bits", "weights", "pairs", "erring_pairs", "pool",
    "pool_errors_at_most", "seen_by_prior", "evaluated", "repeated", "classes",
    "initial", "N", "rounds", "picks", "failures", "k", "drawn_failures",
    "candidates", "counted", "start_failures", "share_failures", "mean_failures", "draws",
    "examples", "disagreements", "errors_of_the_sample",
)  # fmt: skip
PARTS = {  # a count, and the count that it is a part of
    "errors": "n",
    "ties": "n",
    "errors_at_margin": "n",
    "evaluated": "n",
    "erring_pairs": "pairs",
    "pool_errors_at_most": "pool",
    "initial": "n",
    "N": "n",
    "k": "N",
    "picks": "k",
    "failures": "k",
    "drawn_failures": "n",
    "counted": "n",
    "start_failures": "counted",
    "mean_failures": "counted",
    "share_failures": "initial",
    "disagreements": "unlabelled",
    "errors_of_the_sample": "n",
}
RATES = (
    "train_error",
    "mean_error_at_most",
    "undrawn_error_at_most",
    "kl_form",
    "error_of_the_rest",
    "mean_failure",
    "mean_failure_at_most",
    "picked_error_at_most",
    "disagreement_at_most",
)


def expect_possible(certificate: dict[str, Any]) -> dict[str, Any]:
    """The certificate itself, if each of its numbers could be true.

    >>> expect_possible({"value": -1})
    Traceback (most recent call last):
    dudley.core.errors.InputError: value of the certificate: expected a finite number ≥ 0, got -1
    """
    _number("value", certificate["value"], most=_largest(certificate))
    delta = certificate["delta"]
    if not (_is_number(delta) and 0 < delta < 1):
        raise _impossible("delta", "a number strictly between 0 and 1", delta)
    _number("nats", certificate["nats"])
    for i, price in enumerate(certificate["prices"]):
        _expect(isinstance(price, dict), f"prices[{i}]", "an object", price)
        _number(f"nats of prices[{i}]", price.get("nats"))
        for name in ("name", "note"):
            _text(f"{name} of prices[{i}]", price.get(name))
    data, baseline = certificate["data"], certificate["baseline"]
    _count("data.n", data.get("n"), least=1)
    for name in {"weights", "candidates"} & set(certificate["model"]):
        _count(f"model.{name}", certificate["model"][name])
    for name in ("model", "data"):
        digest = certificate[name].get("sha256")
        hexadecimal = isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)
        _expect(bool(hexadecimal), f"{name}.sha256", "64 hexadecimal digits", digest)
    _number("baseline.error_at_least", baseline.get("error_at_least"), _largest(certificate))
    _number("baseline.worst", baseline.get("worst", 0))
    for where, fields in (("data", data), ("baseline", {"n": data["n"]} | baseline)):
        _counts(where, fields)
    _counts("facts", {"n": data["n"]} | certificate["facts"])
    for name in ("advice", "declarations"):
        for i, line in enumerate(certificate[name]):
            _text(f"{name}[{i}]", line)
    return certificate


def _largest(certificate: Mapping[str, Any]) -> float:
    """What the quantity is at most, whatever the model."""
    if certificate.get("quantity", "").startswith(SHARES):
        return 1.0
    limit = certificate.get("facts", {}).get("limit")
    return limit if _is_number(limit) and limit > 0 else math.inf


def _counts(where: str, fields: Mapping[str, Any]) -> None:
    """Counts are whole, and a part is no larger than the whole; rates are at most 1."""
    for name in COUNTS:
        if fields.get(name) is not None:
            _count(f"{where}.{name}", fields[name])
    for part, whole in PARTS.items():
        if fields.get(part) is not None and fields.get(whole) is not None:
            fits = fields[part] <= fields[whole]
            _expect(fits, f"{where}.{part}", f"at most {whole} = {fields[whole]}", fields[part])
    for name in RATES:
        if fields.get(name) is not None:
            _number(f"{where}.{name}", fields[name], most=1.0)


def _count(name: str, value: Any, least: int = 0) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
    _expect(whole, name, f"a whole number ≥ {least}", value)


def _number(name: str, value: Any, most: float = math.inf) -> None:
    limit = "" if most == math.inf else f" and ≤ {most:g}"
    _expect(_is_number(value) and 0 <= value <= most, name, f"a finite number ≥ 0{limit}", value)


def _text(name: str, value: Any) -> None:
    _expect(isinstance(value, str), name, "a text", value)


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _expect(holds: bool, name: str, expected: str, value: Any) -> None:
    if not holds:
        raise _impossible(name, expected, value)


def _impossible(name: str, expected: str, value: Any) -> InputError:
    return InputError(f"{name} of the certificate", expected, value)

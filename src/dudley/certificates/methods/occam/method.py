"""Occam: a model that a short code word describes cannot be far worse than on its training data.

Let every model have a code word of a prefix-free code fixed before the data, ℓ(h) bits long. A
*fixed* h with risk R has k errors among n independent examples such that P[Bin(n, R) ≤ k] < δ′ with
probability at most δ′. Take δ′ = δ·2^{−ℓ(h)}: by Kraft Σ_h 2^{−ℓ(h)} ≤ 1, so with probability 1 − δ
for every model at once, whatever training did,

    R(h) ≤ max{p : P[Bin(n, p) ≤ k] ≥ δ·2^{−ℓ(h)}},      for k = 0:  1 − (δ·2^{−ℓ})^{1/n}.

Blumer, Ehrenfeucht, Haussler, Warmuth 1987; with the exact binomial tail Langford 2005, section 4.
ℓ is the length of the file that `codes` decodes to the certified weights, bit for bit; what the
decoder knows beside it is declared (the network, the encoding, a seed, lists of D and L). A network
that was chosen after the data from ``networks``, a list of hashes, pays ln(length of the list). The
radius at which rows are clipped is declared, or paid for (`clipping`).

Rounding. The certified function *is* the float program: it errs on an example or it does not, so
its rounding errors need no account. Another machine may add in another order, and where the exact
margin is 0 or next to it, decide otherwise: margins up to 2⁻³⁰ of the largest are counted as errors
(k can only grow, and the bound with it). ``nearest_margin`` is the least |margin| in units of the
largest: while it is far from 2⁻³⁰ two machines count alike.

>>> from dudley.certificates.base import METHODS
>>> tables = {"schema": "dudley.net/1", "input": {"T": 4, "V": 7},
...     "layer": [{"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1,
...                "sigma": "identity"}]}
>>> W_v = np.array([[-1.0], [0], [0], [1], [0], [0], [0]])
>>> model = Hypothesis(tables, {"name": "bits", "T": 3}, {"0.v": np.zeros((7, 1)), "0.W_v": W_v})
>>> X = np.random.default_rng(0).integers(0, 2, (1000, 3))
>>> certificate = METHODS["occam"](model, Dataset(X, X[:, 0]))
>>> certificate.facts.bits, certificate.facts.errors, round(certificate.value, 4)
(14, 0, 0.0126)
"""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.base import Method, method
from dudley.certificates.certificate import (
    ASSUMED,
    Certificate,
    baseline,
    data_facts,
    equal_rows,
)
from dudley.certificates.clipping import clipping_prices
from dudley.certificates.codes.base import CODES, Frame, cheapest, frame_of, read, same
from dudley.certificates.data import Dataset, sha256_of
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.occam.declared import OccamChoices, OccamDeclared, OccamFacts
from dudley.certificates.price import Bill, bits, one_of
from dudley.core.errors import InputError

RADIUS = 2.0**-30  # of the largest margin: what is nearer to 0 counts as an error
OWN = (
    "the network and the encoding (or the list of networks) were fixed before the data, and no "
    "weight that the decoder starts from has seen them",
    "training errors are those of the float64 program; margins up to 2^-30 of the largest count",
)


@method
class Occam(Method[OccamDeclared, OccamChoices]):
    """The binomial tail at δ·2^{−bits}."""

    name: ClassVar[str] = "occam"
    declares = OccamDeclared
    chooses = OccamChoices

    def choose(self, model: Hypothesis, data: Dataset, declared: OccamDeclared) -> OccamChoices:
        """The shortest code word of the weights."""
        word = cheapest(dict(model.weights), checked_frame(model, declared))
        if word is None:
            raise InputError(
                "weights",
                "multiples of a short step, or a point of a declared subspace",
                "others",
                "dudley.certificates.fit.quantised.compress makes such a copy",
            )
        return OccamChoices(word)

    def certify(
        self, model: Hypothesis, data: Dataset, declared: OccamDeclared, choices: OccamChoices
    ) -> Certificate[OccamDeclared, OccamChoices, OccamFacts]:
        """The certificate."""
        frame, word = checked_frame(model, declared), choices.code
        name, description = read(word, frame)
        if not same(CODES[name].weights(description, frame), dict(model.weights)):
            raise InputError("code", "one that decodes to the model's weights", "other weights")
        errors, nearest = count_errors(model, data)
        prices = [bits("code", word.length, f"{word.length} bits, {name}")]
        prices += clipping_prices(model.encoding, declared.radius)
        if declared.networks:
            prices.append(one_of("network", len(declared.networks)))
        if declared.among > 1:
            prices.append(one_of("method", declared.among))
        bill = Bill(declared.delta, tuple(prices))
        facts = OccamFacts(
            n=data.n,
            errors=errors,
            train_error=errors / data.n,
            bits=word.length,
            code=name,
            weights=frame.count,
            nonzeros={k: int(np.count_nonzero(W)) for k, W in model.weights.items()},
            nearest_margin=nearest,
        )
        return Certificate(
            method=self.name,
            value=binomial_upper(errors, data.n, bill.log_confidence),
            bill=bill,
            declared=declared,
            choices=choices,
            facts=facts,
            model=model.facts(),
            data=data_facts(data),
            baseline=baseline(data, declared.delta),
            declarations=ASSUMED + OWN + equal_rows(data),
            advice=advice(errors, data.n, word.length, bill),
        )


def checked_frame(model: Hypothesis, declared: OccamDeclared) -> Frame:
    """The frame, once what is declared makes sense."""
    if not 0 <= declared.seed < 1 << 32:
        raise InputError("seed", "a whole number below 2^32", declared.seed)
    if not all(1 <= D <= 1 << 14 for D in declared.dimensions):
        raise InputError("dimensions", "a list of whole numbers ≥ 1", list(declared.dimensions))
    if not all(L >= 3 and L % 2 for L in declared.levels):
        raise InputError("levels", "a list of odd numbers ≥ 3", list(declared.levels))
    listed = declared.networks
    if len(set(listed)) != len(listed):
        raise InputError("networks", "a list of different hashes", list(listed))
    if listed and network_sha256(model) not in listed:
        raise InputError("network", "one of the declared networks", network_sha256(model))
    return frame_of(model, declared)


def network_sha256(model: Hypothesis) -> str:
    """The hash of the network and the encoding, without weights: what ``networks`` lists."""
    text = json.dumps([model.tables, model.encoding_table], sort_keys=True)
    return sha256_of({"network": np.frombuffer(text.encode(), np.uint8)})


def count_errors(model: Hypothesis, data: Dataset) -> tuple[int, float]:
    """Errors, and the least |margin| in units of the largest (three digits)."""
    margins = model.margins(data)
    largest = float(np.abs(margins).max())
    if not 0 < largest < np.inf:  # nothing but ties, or a number that is none
        return data.n, 0.0
    nearest = float(np.abs(margins).min()) / largest
    return int(data.n - (margins > RADIUS * largest).sum()), float(f"{nearest:.2e}")


def advice(errors: int, n: int, length: int, bill: Bill) -> tuple[str, ...]:
    """What would lower the number, each computed."""
    c, half = bill.log_confidence, bits("", length / 2).nats
    gains = {
        f"half the bits ({length // 2}), as many errors": binomial_upper(errors, n, c - half),
        f"twice the data ({2 * n}), the same share of errors": binomial_upper(2 * errors, 2 * n, c),
    }
    if errors:
        gains["no errors, as many bits"] = binomial_upper(0, n, c)
    now = binomial_upper(errors, n, c)
    lines = [f"{what}: {value:.3g}" for what, value in sorted(gains.items(), key=lambda x: x[1])]
    why = f"{errors} errors of {n}, {length} bits: {now:.3g}"
    return (why, *lines)

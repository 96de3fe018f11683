"""Occam around a start: a short word that turns a start into the model cannot have overfitted much.

Let θ₀ be a function of a share of the sample alone (or of nothing), and let a prefix-free code that
was fixed before the rest of the sample give the model h = θ₀ + Δ a word of ℓ(h) bits. Given the
share, the n − n₀ other examples are independent draws (`around.shares`), and *every* h of the code
is then fixed before them. So as in `methods.occam.method`, with probability at least 1 − δ for all
h at once,

    P[margin of h ≤ τ] ≤ max{p : P[Bin(n − n₀, p) ≤ k] ≥ δ·2^{−ℓ(h)}},

k = the number of the n − n₀ examples whose margin is at most τ. The sum over h is at most δ by
Kraft's inequality, given the share, and so is its mean over shares. ∎ An error is a margin ≤ 0, so
the number bounds the error of h too; τ > 0 is declared, so that another machine whose logits differ
by less than τ/2 finds no error that was not counted. A verifier accepts counts within τ/2 of its
own: E of `certificates.agreement` stands for "margin ≤ τ" above, for every word at once.

Counting all n examples, or n − n₀ with a start that has seen more than the share, is not covered:
then h was not fixed before what is counted.

*A finite pool.* If the n examples were drawn without replacement from M items, then given the share
the others are a random subset of the M − n₀ items that are left, the failures among them are
hypergeometric (`certificates.pool`), and the number is (the most failures in these M − n₀ items +
the failures of h on the share, which are counted)/M: the share of the pool on which h fails.

The word stands in the certificate. The start does not: it comes from who declared it, its hash is
compared, and the model decoded from both is what is counted.

>>> import numpy as np
>>> from dudley.certificates.learners.module_predictor import ModulePredictor
>>> from dudley.core.backend import torch
>>> linear = torch.nn.Linear(2, 2, bias=False)
>>> _ = linear.weight.data.copy_(torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
>>> X = np.random.default_rng(0).standard_normal((1000, 2), dtype=np.float32)
>>> start = ModuleStart(ModulePredictor(linear.eval()))
>>> model = CodedAround(WordSpace(start), WordSpace(start).write("start"))
>>> certificate = OccamAround()(model, Dataset(X, (X[:, 0] > 0) * 1), start=start.sha256)
>>> certificate.facts.bits, certificate.facts.failures, round(certificate.value, 5)
(2, 0, 0.00437)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.agreement import OwnCount
from dudley.certificates.around.coded import CodedAround
from dudley.certificates.around.declared import expect_start, of_start
from dudley.certificates.around.start import ModuleStart, read_start
from dudley.certificates.around.words import WordSpace
from dudley.certificates.base import Method, expect_draws, method
from dudley.certificates.certificate import (
    RISK,
    Certificate,
    assumed,
    baseline,
    data_facts,
    equal_rows,
)
from dudley.certificates.data import Dataset
from dudley.certificates.methods.occam.method import advice
from dudley.certificates.methods.occam_around.declared import (
    OccamAroundChoices,
    OccamAroundDeclared,
    OccamAroundFacts,
)
from dudley.certificates.pool import hypergeometric_upper, share_up
from dudley.certificates.predictor import Predictor
from dudley.certificates.price import Bill, bits, one_of
from dudley.certificates.shares import split_share
from dudley.core.errors import InputError

BATCH = "an output depends on its own example, not on the batch in which it is computed"


@method
class OccamAround(Method[OccamAroundDeclared, OccamAroundChoices]):
    """The binomial tail at δ·2^{−bits}, on the examples that the start has not seen."""

    name: ClassVar[str] = "occam-around"
    certifies = CodedAround
    declares = OccamAroundDeclared
    chooses = OccamAroundChoices

    def read_model(self, path: str | Path) -> ModuleStart:
        """The start, if a file can say how it computes; the word stands in the certificate."""
        return read_start(path, "du.verify_around(certificate, start, data)")

    def decoded(
        self,
        model: CodedAround | ModuleStart,
        declared: OccamAroundDeclared,
        choices: OccamAroundChoices,
    ) -> CodedAround:
        if not isinstance(model, ModuleStart):
            return model
        return CodedAround(space_of(model, declared), choices.code)

    def expect(self, model: CodedAround) -> None:
        """Refuse what is not told by a word around a start."""
        if not isinstance(model, CodedAround):
            expected, fix = "the model of a word around a start", "du.certify_around makes one"
            raise InputError(f"model for {self.name}", expected, type(model).__name__, fix)

    def expect_independent(
        self, model: Predictor, data: Dataset, declared: OccamAroundDeclared
    ) -> None:
        """Draws without replacement may hold copies that their pool holds."""
        if declared.pool is not None and declared.pool < data.n:
            raise InputError("pool", f"at least the {data.n:,} examples drawn", declared.pool)
        expect_draws(model, data, declared, declared.pool)

    def choose(
        self, model: CodedAround, data: Dataset, declared: OccamAroundDeclared
    ) -> OccamAroundChoices:
        """The word of the model."""
        return OccamAroundChoices(model.word)

    def certify(
        self,
        model: CodedAround,
        data: Dataset,
        declared: OccamAroundDeclared,
        choices: OccamAroundChoices,
    ) -> Certificate[OccamAroundDeclared, OccamAroundChoices, OccamAroundFacts]:
        """The certificate, with this machine's own counts."""
        return self.recount(model, data, declared, choices, {})[0]

    def recount(
        self,
        model: CodedAround,
        data: Dataset,
        declared: OccamAroundDeclared,
        choices: OccamAroundChoices,
        facts: Mapping[str, Any],
    ) -> tuple[
        Certificate[OccamAroundDeclared, OccamAroundChoices, OccamAroundFacts], tuple[str, ...]
    ]:
        """The certificate with the counts of some facts where they are accepted."""
        start = model.space.start
        expect_start(declared, start.sha256)
        space, word = space_of(start, declared), choices.code
        kind, part, _ = space.read(word)
        decoded = CodedAround(space, word)
        if decoded.sha256 != model.sha256:
            raise InputError("code", "one that decodes to the model", "another model's word")
        share, rest = split_share(data, declared.initial, declared.seed)
        counts = _counts(decoded, share, rest, declared)
        counted = {count.name: count.accepted(facts.get(count.name)) for count in counts}
        remarks = tuple(filter(None, (count.remark(counted[count.name]) for count in counts)))
        failing = counted["failures"]
        prices = [bits("code", word.length, f"{word.length} bits, {kind}")]
        if declared.among > 1:
            prices.append(one_of("method", declared.among))
        bill = Bill(declared.delta, tuple(prices))
        value, of_share = binomial_upper(failing, rest.n, bill.log_confidence), None
        if declared.pool is not None:
            of_share = counted.get("share_failures", 0)
            rest_of_pool = declared.pool - declared.initial
            most = hypergeometric_upper(failing, rest.n, rest_of_pool, bill.log_confidence)
            value = share_up(most + of_share, declared.pool)
        record = OccamAroundFacts(
            n=data.n,
            initial=declared.initial,
            counted=rest.n,
            failures=failing,
            errors=counted["errors"],
            bits=word.length,
            code=kind,
            part=part,
            start_sha256=start.sha256,
            start_failures=counted["start_failures"],
            share_failures=of_share,
        )
        certificate = Certificate(
            method=self.name,
            value=value,
            bill=bill,
            declared=declared,
            choices=choices,
            facts=record,
            model=decoded.facts(),
            data=data_facts(data),
            baseline=baseline(data, declared.delta, declared.pool),
            declarations=(
                *assumed(data, declared.pool),
                *of_start(declared, data.n),
                BATCH,
                *equal_rows(data),
            ),
            quantity=RISK
            if declared.pool is None
            else f"share of the {declared.pool} items of the pool on which the model errs",
            advice=advice(failing, rest.n, word.length, bill),
        )
        return certificate, remarks


def _counts(
    model: CodedAround, share: Dataset | None, rest: Dataset, declared: OccamAroundDeclared
) -> list[OwnCount]:
    """What a machine counts: of the model on the rest and the share, of the start on the rest."""
    τ, margins = declared.tolerance, model.margins(rest)
    at_start = model.space.start.predictor.margins(rest)
    counts = [
        OwnCount.of("failures", margins, τ, τ),
        OwnCount.of("errors", margins, 0.0, τ),
        OwnCount.of("start_failures", at_start, τ, τ),
    ]
    if share is not None and declared.pool is not None:
        counts.append(OwnCount.of("share_failures", model.margins(share), τ, τ))
    return counts


def space_of(start: ModuleStart, declared: OccamAroundDeclared) -> WordSpace:
    """The words that were declared."""
    return WordSpace(start, declared.parts, declared.seed, declared.dimensions, declared.levels)

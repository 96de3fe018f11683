"""Every witness lists the hypotheses of what it refutes, and its instance satisfies them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.counterexamples.label_noise import LabelNoise
from dudley.theorems.witness.counterexamples.low_rank import LabelNoiseLowRank
from dudley.theorems.witness.counterexamples.many_heads import SignHeads
from dudley.theorems.witness.counterexamples.unseen_heads import QueryHeads
from dudley.theorems.witness.premises import Premise, norm_bounds
from each import each
from planting import goes_red

CASES = [(name, id) for name, witness in WITNESSES.items() for id in witness.refutes]
UNDECIDED = {  # what no finite program decides, by witness: how many, and why is in the words
    "trained-encoder": 2,  # spectral norms of matrices of k² entries; an unnamed constant
    "loss-at-the-label": 1,  # spectral norms of matrices of k² entries
}


def check_hypotheses(witness: Witness, id: str, undecided: int = 0) -> None:
    """There are some, none is false, and of as many as stated no program decides."""
    premises = witness.hypotheses(id)
    outcomes = [premise.holds() for premise in premises]
    assert len(outcomes) > undecided, "no hypothesis is checked"
    broken = [p.words for p, holds in zip(premises, outcomes, strict=True) if holds is False]
    assert not broken, f"{id}: does not hold: {'; '.join(broken)}"
    assert outcomes.count(None) == undecided
    assert all(premise.words for premise in premises)
    assert len({premise.words for premise in premises}) == len(premises)


@each("name, id", CASES)
def test_a_witness_satisfies_every_hypothesis(name, id):
    check_hypotheses(WITNESSES[name](), id, UNDECIDED.get(name, 0))


@each("name, id", CASES)
def test_every_bound_on_a_norm_is_compared_with_the_instance(name, id):
    """A statement's norms are its hypotheses: none is left out."""
    witness = WITNESSES[name]()
    compared = {bound for premise in witness.hypotheses(id) for bound in premise.bounds}
    assert norm_bounds(witness.inputs(id)) <= compared


def test_no_witness_can_omit_them():
    class Silent(Witness):
        refutes, story = (), ""

        def inputs(self, statement):
            return {}

        def lower_bound(self):
            return 0.0

    with pytest.raises(TypeError, match="hypotheses"):
        Silent()  # pyright: ignore[reportAbstractUsage]


# -- the checks can fail --------------------------------------------------------------------------


def with_inputs(witness: type[Witness], **changes: float) -> Witness:
    """The witness with other inputs than its instance satisfies."""

    class Changed(witness):
        def inputs(self, statement: str) -> dict[str, float]:
            names = {name.replace("__", "."): value for name, value in changes.items()}
            return super().inputs(statement) | names

    return Changed()  # pyright: ignore[reportAbstractUsage]


@each(
    "name, id, changes",
    [
        ("label-noise", "li2026/theorem-4.4", {"kappa": 0.5}),
        ("label-noise", "li2026/theorem-4.4", {"target__bound": 0.9}),
        ("label-noise", "li2026/corollary-4.5", {"class__log_cover": 1.0}),
        ("label-noise-low-rank", "li2026/theorem-5.8", {"r_v": 1}),
        ("label-noise-low-rank", "li2026/theorem-5.8", {"c": 2.0}),
        ("label-noise-low-rank", "li2026/theorem-B.4", {"W_c__op": 0.9}),
        ("noisy-heavy", "li2026/theorem-6.11", {"tail__beta": 2.0}),
        ("noisy-heavy", "li2026/theorem-6.11", {"tail__C": 0.5}),
        ("noisy-sub-gaussian", "li2026/theorem-6.4", {"tail__nu": 0.5}),
        ("fair-coin", "edelman2021/theorem-A.4", {"delta": 1.0}),
        ("fair-coin", "edelman2021/theorem-A.4", {"loss__range": 0.5}),
        ("negative-log-gap", "edelman2021/lemma-2.2", {"class__C": 100.0}),
        ("uneven-positions", "edelman2021/lemma-B.2", {"coherence": 0.4}),
        ("transposed-norms", "trauger2024/theorem-4.1", {"n": 100}),
        ("two-members", "trauger2024/theorem-4.2", {"W_v__op": 0.001}),
        ("sigma-twice", "trauger2024/lemma-E.2", {"error__v": 0.001}),
        ("trained-encoder", "mwigo2026/lemma-4", {"features__smin": 0.1}),
        ("loss-at-the-label", "mwigo2026/theorem-5", {"k": 60}),
        ("loss-at-the-label", "mwigo2026/theorem-5", {"delta": 0.9}),
    ],
)
def test_a_hypothesis_that_the_instance_breaks_is_seen(name, id, changes):
    broken = with_inputs(WITNESSES[name], **changes)
    goes_red(check_hypotheses, broken, id, UNDECIDED.get(name, 0))


def test_weights_that_are_too_large_are_seen(plant):
    for kind in (SignHeads, QueryHeads):
        weights = kind.weights

        def longer(self, signs, weights=weights):
            W = weights(self, signs)
            return W | {"W_QK": 1.01 * W["W_QK"], "w": 1.01 * W["w"]}

        plant(kind, "weights", longer)
    for name in ("many-heads", "rectified-heads", "unseen-heads", "query-heads"):
        goes_red(check_hypotheses, WITNESSES[name](), WITNESSES[name].refutes[0])


def test_ranks_of_one_would_break_assumption_5_7():
    """What the coin of rank one suffered from: for r = 1 no constant serves near ε = B_xB_W."""
    for c in (12.0, 1e6):
        broken = with_inputs(LabelNoiseLowRank, r_v=1, r_c=1, r_QK=1, c=c)
        premises = broken.hypotheses("li2026/theorem-5.8")
        assert [p.holds() for p in premises if "(5.7" in p.words] == [False]


def test_a_coin_that_may_tie_is_seen():
    goes_red(check_hypotheses, replace(LabelNoise(), n=1000), "li2026/theorem-4.4")


def test_a_witness_without_hypotheses_is_seen():
    class Mute(LabelNoise):
        def hypotheses(self, statement: str) -> tuple[Premise, ...]:
            return ()

    class Words(LabelNoise):
        def hypotheses(self, statement: str) -> tuple[Premise, ...]:
            return (Premise("trust me", None),)

    for kind in (Mute, Words):
        goes_red(check_hypotheses, kind(), "li2026/theorem-4.4")
    goes_red(check_hypotheses, Words(), "li2026/theorem-4.4", 1)


def test_a_premise_answers_with_a_plain_truth_value():
    assert Premise("one", lambda: np.bool_(True)).holds() is True

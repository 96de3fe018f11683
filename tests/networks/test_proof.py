"""Proof: every lemma that the bound uses, with its formula and its source."""

from __future__ import annotations

import re

import pytest

import dudley as du
from dudley.calculus.compose import Node
from dudley.classes.covers.base import COVERS
from dudley.networks import explain, files, proof

EXAMPLES = ["single-head", "trauger2024-head", "vit-b"]


def cap(name: str, n: float | None = 1e13) -> du.Capacity:
    description = files.load(name)
    return du.capacity(description.network, description.inputs, n, description.loss)


def nodes_of(node: Node) -> list[Node]:
    return [node, *(inner for part in node.parts() for inner in nodes_of(part.node))]


def balanced(latex: str) -> bool:
    """Do braces, and \\left–\\right, \\bigl–\\bigr pairs, close?"""
    depth = 0
    for mark in re.findall(r"(?<!\\)[{}]", latex):
        depth += 1 if mark == "{" else -1
        if depth < 0:
            return False
    pairs = ((r"\\left\b", r"\\right\b"), (r"\\[bB]igg?l\b", r"\\[bB]igg?r\b"))
    return depth == 0 and all(
        len(re.findall(a, latex)) == len(re.findall(b, latex)) for a, b in pairs
    )


def test_the_check_of_braces_can_fail():
    assert balanced(r"\sum_{i}\bigl(x\bigr)")
    assert not balanced(r"\sum_{i") and not balanced(r"}{") and not balanced(r"\bigl(x)")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_node_and_every_winning_cover_is_cited(name: str):
    c = cap(name)
    steps = proof.steps(c)
    assert {node.lemma for node in nodes_of(c.network)} <= set(steps)
    titles = [step.title for step in steps]
    winners = {row.cover for row in explain.shares(c)[0]} & set(COVERS)
    assert winners and {f"Cover: {w}" for w in winners} == {t for t in titles if t[:7] == "Cover: "}
    chained = ["Loss class", "Chaining"]
    if name == "single-head":  # it ends in a readout
        chained = ["Contraction", "Peeling and chaining"]
    assert titles[-4:] == ["Allocation", *chained, "Deviation"]
    assert len(titles) == len(set(titles))
    for winner in winners:
        step = next(step for step in steps if step.title == f"Cover: {winner}")
        assert (step.latex, step.citation) == (COVERS[winner].latex, COVERS[winner].citation)
        assert step.citation and step.statement


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_text_holds_every_step_and_its_formula(name: str):
    c = cap(name)
    text = c.proof(0.05)
    steps = proof.steps(c)
    assert re.findall(r"^(\d+)\. ", text, re.MULTILINE) == [str(i + 1) for i in range(len(steps))]
    formulas = re.findall(r"\$\$(.+?)\$\$", text)
    assert formulas == [step.latex for step in steps]
    assert all(map(balanced, formulas))
    assert text.count("[") >= sum(bool(step.citation) for step in steps)
    assert "Together, at n = 1e+13:" in text
    assert all(line.strip() in text for line in str(c.gap(0.05)).splitlines())


def test_without_n_the_proof_ends_with_the_lemmas():
    assert "Together" not in cap("single-head", None).proof()


def test_the_confidence_is_the_one_asked_for():
    assert cap("single-head").proof(0.05) != cap("single-head").proof(0.5)


def test_all_formulas_of_the_registries_are_balanced():
    from dudley.networks.registry import NODES

    lemmas = [unit.lemma for _, unit in NODES.items() if hasattr(unit, "lemma")]
    lemmas += [proof.ALLOCATION, proof.CHAINING, proof.LOSS, proof.DEVIATION]
    lemmas += [proof.CONTRACTION, proof.PEELING]
    assert all(balanced(lemma.latex) for lemma in lemmas)
    assert all(balanced(cover.latex) for _, cover in COVERS.items())

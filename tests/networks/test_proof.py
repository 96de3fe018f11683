"""Proof: every lemma that the bound uses, with its formula and its source."""

from __future__ import annotations

import re

import pytest

import dudley as du
from dudley.calculus.compose import Node
from dudley.classes.covers.base import COVERS
from dudley.core.lemma import Lemma
from dudley.networks import files
from dudley.networks.proof import lemmas
from dudley.show.formulas import is_mathematics

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
def test_every_node_and_every_cover_is_cited(name: str):
    c = cap(name)
    steps = c.prove(0.05).steps
    assert {node.lemma for node in nodes_of(c.network)} <= {step.lemma for step in steps}
    titles = [step.lemma.title for step in steps]
    (split,) = (step for step in steps if step.lemma == lemmas.ALLOCATION)
    used = {row[4] for table in split.tables for row in table.rows} & set(COVERS)
    assert used and {f"Cover: {w}" for w in used} == {t for t in titles if t[:7] == "Cover: "}
    chained = ["Loss class", "Chaining"]
    if name == "single-head":  # it ends in a readout
        chained = ["Contraction", "Peeling and chaining"]
    assert titles[-4:] == ["Allocation", *chained, "Deviation"]
    assert len(titles) == len(set(titles))
    for cover in used:
        (lemma,) = (step.lemma for step in steps if step.lemma.title == f"Cover: {cover}")
        assert (lemma.latex, lemma.citation) == (COVERS[cover].latex, COVERS[cover].citation)
        assert lemma.citation and lemma.statement


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_text_holds_every_step_and_its_formula(name: str):
    c = cap(name)
    text, steps = c.proof(0.05), c.prove(0.05).steps
    assert re.findall(r"^(\d+)\. ", text, re.MULTILINE) == [str(i + 1) for i in range(len(steps))]
    bare = re.sub(r"\s", "", text)
    for step in steps:
        lemma = step.lemma
        assert balanced(lemma.latex)
        for part in (lemma.title, lemma.statement, lemma.latex, lemma.citation, *step.here):
            assert re.sub(r"\s", "", part) in bare
    assert "Together, at n = 1e+13" in text
    assert all(line.strip() in text for line in str(c.gap(0.05)).splitlines())


def test_without_n_the_proof_ends_with_the_lemmas():
    assert "Together" not in cap("single-head", None).proof()


def test_the_confidence_is_the_one_asked_for():
    assert cap("single-head").proof(0.05) != cap("single-head").proof(0.5)


def test_all_formulas_of_the_registries_are_balanced():
    from dudley.networks.registry import NODES

    every = [unit.lemma for _, unit in NODES.items() if hasattr(unit, "lemma")]
    every += [lemma for lemma in vars(lemmas).values() if isinstance(lemma, Lemma)]
    assert len(every) >= 20 and all(balanced(lemma.latex) for lemma in every)
    assert all(is_mathematics(lemma.latex) for lemma in every)
    assert all(balanced(cover.latex) for _, cover in COVERS.items())

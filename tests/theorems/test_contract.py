"""What holds of every statement on inputs drawn at random, and that none of a paper is absent."""

from __future__ import annotations

import math
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

from dudley.core.errors import DudleyError, InputError
from dudley.core.statement import MissingInputs, Statement
from dudley.core.vocabulary import SIZES
from dudley.theorems import registry
from each import each

STATEMENTS = dict(registry.load().items())
SLOW = {
    "edelman2021/theorem-A.17", "edelman2021/theorem-4.6", "edelman2021/theorem-4.2",
    "edelman2021/corollary-4.4", "edelman2021/lemma-A.11", "edelman2021/lemma-A.12",
    "trauger2024/corollary-F.0.2",
}  # fmt: skip
# What the two papers number, written down from their tables of contents.
NUMBERED = {
    "edelman2021": "2.1 2.2 3.1 3.2 4.2 4.3 4.4 4.5 4.6 4.7 "
    + " ".join(f"A.{i}" for i in range(1, 18))
    + " "
    + " ".join(f"B.{i}" for i in range(1, 9)),
    "trauger2024": "2.3 2.4 2.5 2.6 3.1 3.2 3.3 3.4 3.5 3.6 4.1 4.1.1 4.2 4.2.1 5.1 "
    "A C.1 D.0.1 D.0.2 E.1 E.2 E.3 F.0.1 F.0.2 G",
    "li2026": "3.1 4 5 4.4 4.5 4.7 4.8 4.11 4.13 5.1 5.2 5.3 B.1 B.2 B.3 14 15 18 "
    "5.5 5.6 20 5.7 5.8 5.9 B.4 19 B.5 B.6 "
    "6.1 6.2 9 10 6.4 6.5 6.6 6.7 6.8 12 6.9 6.10 6.11 6.12 C.2",
    "mwigo2026": "3.2 3.3 4.1 1 2 3 4 5 6",
}


def draw(s: Statement, rng: np.random.Generator) -> dict[str, float]:
    """The example with every input moved by a random factor."""
    inputs: dict[str, float] = {}
    for name, value in s.example.items():
        factor = math.exp(rng.normal(0, 1.2))
        if name in SIZES:
            inputs[name] = max(1, int(value * factor))
        elif name in ("delta", "combination.mass"):
            inputs[name] = float(rng.uniform(0.01, 0.99))
        elif name == "terms":
            inputs[name] = int(rng.integers(1, 40))
        elif name == "noise.free":
            inputs[name] = int(rng.integers(0, 2))
        else:
            inputs[name] = float(value) * factor
    return inputs


@pytest.mark.parametrize("draws", [4, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("id", STATEMENTS)
def test_best_is_never_above_derived_and_nothing_is_silently_negative(id: str, draws: int):
    s, rng = STATEMENTS[id], np.random.default_rng(zlib.crc32(id.encode()))
    wanted, done = 3 if id in SLOW else draws, 0
    for _ in range(20 * wanted):
        inputs = draw(s, rng)
        try:
            bounds = {name: s.evaluate_on(inputs, name) for name in s.forms}
        except InputError:
            continue  # outside the hypotheses
        for name, bound in bounds.items():
            assert not math.isnan(bound.value) and not math.isnan(bound.log_value)
            assert bound.value >= 0 or (name == "printed" and bound.negative is not None)
            if bound.negative is not None:
                assert "negative" in str(bound) and bound.to_json()["negative"]
        if "best" in bounds:
            assert bounds["best"].log_value <= bounds["derived"].log_value + 1e-9, inputs
        done += 1
        if done == wanted:
            return
    pytest.fail(f"only {done} of the inputs drawn for {id} satisfy its hypotheses")


@pytest.mark.slow
@pytest.mark.parametrize("id", STATEMENTS)
def test_extreme_inputs_give_a_number_or_one_refusal(id: str):
    s = STATEMENTS[id]
    for i in s.inputs:
        for value in (1, 2**40) if i.name in SIZES else (0.0, 1e-200, 1e200):
            if i.name in ("L", "H", "s") and value > 1:
                value = 200
            for name in ("printed",) if id in SLOW else s.forms:
                try:
                    bound = s.evaluate_on({**s.example, i.name: value}, name)
                except DudleyError as refusal:
                    assert "\n" not in str(refusal)
                    continue
                assert not math.isnan(bound.value)
                assert bound.log_value < math.inf, f"{name}: {i.name} = {value}"


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_number_of_a_paper_has_its_statement(paper: str):
    numbers = [
        name.rpartition("-")[2]
        for id, s in STATEMENTS.items()
        if s.paper == paper
        for name in (id, *s.also)
    ]
    repeated = {"4.2"} if paper == "trauger2024" else set()  # section 4.2 and Theorem 4.2
    assert set(numbers) == set(NUMBERED[paper].split())
    assert {n for n in numbers if numbers.count(n) > 1} == repeated


@each("id", STATEMENTS)
def test_formulas_are_well_formed(id: str):
    for name, form in STATEMENTS[id].forms.items():
        depth = 0
        for sign in re.findall(r"(?<!\\)[{}]", form.latex):
            depth += 1 if sign == "{" else -1
            assert depth >= 0, f"{name}: a brace closes before it opens"
        assert depth == 0
        opened, closed = (len(re.findall(rf"\\[bB]ig{side}\b", form.latex)) for side in "lr")
        assert opened == closed, f"{name}: \\bigl and \\bigr"
        plain = re.sub(r"\\(?:text|mathrm)\{[^}]*\}|\\[a-zA-Z]+", " ", form.latex)
        assert not re.search(r"[a-z]{3}", plain), f"{name}: a word set as variables in {plain}"


def test_one_input_under_two_names_is_refused():
    inputs = {"d": 4, "k": 4, "W.l11": 1.0, "X.row2inf": 1.0, "B_x": 2.0, "epsilon": 0.5}
    with pytest.raises(MissingInputs, match=r"X\.row2inf: expected one value"):
        STATEMENTS["trauger2024/lemma-3.6"].evaluate_on(inputs)


def test_every_folder_with_a_paper_is_shipped():
    here = Path(registry.__file__).parent
    assert {path.parent.name for path in here.glob("*/paper.py")} == set(registry.SHIPPED)

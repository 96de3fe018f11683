"""Words around a start: prefix-free, decoded bit for bit, refused where they are none."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from certificates.arounds import linear_start
from dudley.certificates.around.hashed import HashedPoint, hashes
from dudley.certificates.around.start import ModuleStart, scale_of
from dudley.certificates.around.words import SparsePart, WordSpace
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.codes.kinds.low_rank import Product
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.core.backend import torch
from dudley.core.errors import DudleyError, InputError

START = linear_start([[1.0, -0.5], [0.25, 2.0]], [0.5, -1.0])
SPACE = WordSpace(START, ("*", "bias"), 3, (1, 2), (3, 5))


def accepted(space: WordSpace, length: int) -> list[str]:
    """Every string of so many bits that is a word."""
    words = []
    for value in range(1 << length):
        word = CodeWord(value, length)
        try:
            space.read(word)
        except DudleyError:
            continue
        words.append(str(word))
    return words


def test_all_strings_of_up_to_twelve_bits_keep_Kraft():
    """Exhaustively: no word begins another, so the weights of all words sum to at most one."""
    words = sorted(word for length in range(13) for word in accepted(SPACE, length))
    assert len(words) > 20
    for first, second in itertools.pairwise(words):
        assert not second.startswith(first), (first, second)
    assert sum(Fraction(1, 1 << len(word)) for word in words) <= 1


def described() -> list[tuple[str, str, object]]:
    rng = np.random.default_rng(0)
    points = [
        ("hashed", part, HashedPoint(D, L, step, rng.integers(-(L // 2), L // 2 + 1, D)))
        for part in SPACE.parts for D in (1, 2) for L in (3, 5) for step in (0.375, 2.0**-9)
    ]  # fmt: skip
    bias = (SparsePart("plain", 0.5, np.array([[0, -3]])),)
    both = (SparsePart("plain", 0.125, np.array([[0, 1], [-2, 0]])), *bias)
    factors = [Product(0.75, np.array([[1], [-2]]), np.array([[3, 1]]))]
    return [
        ("start", "", None), *points, ("sparse", "bias", bias), ("sparse", "*", both),
        ("low-rank", "*", factors),
    ]  # fmt: skip


def test_what_is_written_is_read_and_decodes_to_the_same_bits():
    for kind, part, description in described():
        word = SPACE.write(kind, part, description)
        again = SPACE.read(CodeWord.from_json(word.to_json()))
        assert again[:2] == (kind, part)
        first, second = SPACE.moved(kind, part, description), SPACE.decode(word)
        assert set(first) == set(second)
        assert all(first[name].tobytes() == second[name].tobytes() for name in first)


def test_the_model_of_a_word_is_what_the_formula_says():
    kind, part, point = described()[1]
    assert isinstance(point, HashedPoint)
    moved = SPACE.decode(SPACE.write(kind, part, point))
    for name, θ in moved.items():
        θ0 = START.arrays((name,))[name]
        place, sign = hashes(3, name, θ0.size, point.D)
        by_hand = [
            w + scale_of(θ0) * point.step * s * point.levels[h]
            for w, s, h in zip(θ0.ravel(), sign, place, strict=True)
        ]
        assert θ.ravel().tolist() == by_hand
    model = START.model(moved)
    assert model.module.bias.tolist() == moved["bias"].astype(np.float32).tolist()


def test_a_word_that_moves_nothing_is_the_start():
    model = START.model(SPACE.decode(SPACE.write("start")))
    assert model.sha256 == START.sha256


def test_strings_and_sizes_that_are_no_words_are_refused():
    word = SPACE.write("start")
    with pytest.raises(InputError, match="one that the encoder writes"):
        SPACE.read(CodeWord(word.value << 1, word.length + 1))
    with pytest.raises(InputError, match="declared dimensions"):
        WordSpace(START).read(SPACE.write("hashed", "*", described()[1][2]))
    wide = ModuleStart(ModulePredictor(torch.nn.Linear(1024, 512).eval()))
    with pytest.raises(InputError, match="at most 262,144 weights"):
        WordSpace(wide).frame("sparse", "*")
    assert WordSpace(wide, ("bias",)).frame("sparse", "bias").count == 512
    for parts in ((), ("*", "*"), ("head.*",), (" ",)):
        with pytest.raises(InputError):
            WordSpace(START, parts)


def test_tied_parameters_move_once():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3, bias=False)
            self.last.weight = self.first.weight

        def forward(self, X):
            return self.last(self.first(X))

    start = ModuleStart(ModulePredictor(Tied().eval()))
    assert start.names("*") == ("first.weight", "first.bias")
    model = start.model({"first.weight": np.eye(3)})
    assert torch.equal(model.module.last.weight, torch.eye(3))
    assert set(start.difference(model, "*")) == {"first.weight", "first.bias"}


def test_a_model_that_differs_elsewhere_is_refused():
    other = START.model({"weight": np.zeros((2, 2))})
    assert (START.difference(other, "*")["weight"] == 0).all()
    with pytest.raises(InputError, match="let its part move"):
        START.difference(other, "bias")


def test_the_start_is_a_copy():
    before = START.sha256
    START.model({"weight": np.zeros((2, 2))})
    assert START.predictor.sha256 == before

"""Codes: what is encoded is decoded, words are prefix-free, lengths are what counting says."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dudley.certificates.codes.atoms import (
    DELTA,
    GAMMA,
    STEP,
    Levels,
    OneOf,
    Subset,
    decode,
    dyadic,
    encode,
)
from dudley.certificates.codes.base import (
    CODES,
    Frame,
    cheapest,
    decode as decoded,
    on_grid,
    read,
    same,
    write,
)
from dudley.certificates.codes.interval import CodeWord, Reader, Writer
from dudley.certificates.codes.kinds import (
    low_rank,
    plain,  # noqa: F401
    sparse,
    subspace,
)
from dudley.certificates.codes.stock import Stock
from dudley.core.errors import DudleyError, InputError

assert len(CODES) == 4


def prefix_free(words: list[CodeWord]) -> bool:
    strings = sorted(map(str, words))
    return len(set(strings)) == len(strings) and not any(
        b.startswith(a) for a, b in itertools.pairwise(strings)
    )


def kraft(words: list[CodeWord]) -> float:
    return math.fsum(2.0**-word.length for word in words)


SMALL = {
    "uniform": (OneOf(11), range(11)),
    "gamma": (GAMMA, range(1, 200)),
    "delta": (DELTA, range(1, 200)),
    "subset": (Subset(7, 3), list(itertools.combinations(range(7), 3))),
    "empty subset": (Subset(5, 0), [()]),
    "levels": (Levels(4, 3), list(itertools.product(range(3), repeat=4))),
    "no levels": (Levels(0, 3), [()]),
    "steps": (STEP, [m * 2.0**e for m in (1, 3, 5, 7, 9) for e in range(-6, 7)]),
}


@pytest.mark.parametrize("name", SMALL)
def test_every_word_of_a_small_code(name):
    atom, things = SMALL[name]
    words = [encode(atom, x) for x in things]
    assert prefix_free(words)
    assert kraft(words) <= 1
    for x, word in zip(things, words, strict=True):
        back = decode(atom, word)
        assert tuple(back) == x if isinstance(x, tuple) else back == x


def test_a_code_that_is_not_prefix_free_is_seen():
    assert not prefix_free([CodeWord(1, 1), CodeWord(2, 2)])
    assert kraft([CodeWord(0, 1), CodeWord(1, 1), CodeWord(2, 2)]) > 1


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 100, 2**20 + 1])
def test_elias_lengths(n):
    digits = n.bit_length() - 1
    assert encode(GAMMA, n).length == 2 * digits + 1
    assert str(encode(GAMMA, n)) == "0" * digits + format(n, "b")
    assert encode(DELTA, n).length == digits + 2 * int(math.log2(digits + 1)) + 1


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 10**6)), max_size=30))
def test_any_choices_come_back_and_cost_one_rounding(choices):
    choices = [(total, index % total) for total, index in choices]
    out = Writer()
    for total, index in choices:
        out.uniform(index, total)
    word = out.bits()
    source = Reader(word)
    assert [source.uniform(total) for total, _ in choices] == [index for _, index in choices]
    exact = math.log2(math.prod(total for total, _ in choices))
    assert exact - 1e-9 <= word.length <= math.ceil(exact - 1e-9) + 1


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_levels_cost_what_counting_says(length, seed):
    letters = np.random.default_rng(seed).integers(0, 5, length)
    counts = np.bincount(letters, minlength=5)
    ways = math.comb(length + 4, 4) * math.factorial(length)
    exact = math.log2(ways // math.prod(math.factorial(int(c)) for c in counts))
    word = encode(Levels(length, 5), letters)
    assert exact - 1e-9 <= word.length <= exact + 2
    assert np.array_equal(decode(Levels(length, 5), word), letters)


def test_large_subsets_cost_what_counting_says():
    chosen = tuple(sorted(np.random.default_rng(0).permutation(300)[:100].tolist()))
    word = encode(Subset(300, 100), chosen)
    assert math.log2(math.comb(300, 100)) <= word.length <= math.log2(math.comb(300, 100)) + 2
    assert decode(Subset(300, 100), word) == chosen


@given(st.integers(0, 2**70), st.integers(0, 80))
def test_bits_as_json(value, length):
    bits = CodeWord(value % (1 << length), length)
    assert CodeWord.from_json(bits.to_json()) == bits


def test_tampered_json_is_refused():
    record = CodeWord(5, 5).to_json()
    for wrong in (
        record | {"bits": 4},
        record | {"bits": 6},
        record | {"bits": 13},
        record | {"bits": 5.0},
        record | {"bits": True},
        record | {"base64": record["base64"][:-1]},
        record | {"base64": "KA=\n="},
        record | {"base64": 3},
        {"bits": 5},
        None,
    ):
        if wrong == record | {"bits": 6}:  # the padding is zeros: another word, refused by decoding
            assert CodeWord.from_json(wrong) == CodeWord(10, 6)
        else:
            with pytest.raises(InputError):
                CodeWord.from_json(wrong)


def test_steps_are_dyadic():
    assert dyadic(0.75) == (3, -2)
    with pytest.raises(InputError):
        encode(STEP, 0.1)
    with pytest.raises(InputError):
        dyadic(0.0)


# -- whole models -----------------------------------------------------------------------------

FRAME = Frame((("a", (5, 2)), ("b", (2, 3))), T=2, seed=3, dimensions=(2, 4), levels=(3, 5))


def models(generator):
    """On-grid weights of many kinds for FRAME."""

    def levels(q, shape, share):
        return generator.integers(-q, q + 1, shape) * (generator.random(shape) < share)

    half = levels(3, (2, 2), 0.6)
    odd = np.concatenate([-half, half, levels(3, (1, 2), 0.5)])
    even = np.concatenate([half, half, levels(3, (1, 2), 0.5)])
    for a in (odd, even, levels(2, (5, 2), 0.3), np.zeros((5, 2), int), levels(9, (5, 2), 1)):
        b = np.outer(levels(3, 2, 1), levels(3, 3, 1))
        yield {"a": 0.75 * a + 0.0, "b": 2.0 * b + 0.0}


@pytest.mark.parametrize("name", ["sparse", "low-rank", "plain"])
def test_codes_of_models_come_back(name):
    for seed in range(6):
        for weights in models(np.random.default_rng(seed)):
            (description,) = CODES[name].describe(weights, FRAME)
            word = write(name, description, FRAME)
            kind, back = read(word, FRAME)
            assert kind == name
            assert same(CODES[name].weights(back, FRAME), weights)
            best = cheapest(weights, FRAME)
            assert best is not None and best.length <= word.length
            assert same(decoded(best, FRAME), weights)


@pytest.mark.parametrize("rank", [0, 1])
def test_points_of_a_subspace_come_back(rank):
    generator = np.random.default_rng(rank)
    for step in (1.0, 0.375, 2.5):
        point = subspace.SubspacePoint(4, 5, rank, step, generator.integers(-2, 3, 4))
        weights = subspace.Subspace().weights(point, FRAME)
        kind, back = read(write("subspace", point, FRAME), FRAME)
        assert kind == "subspace" and same(CODES[kind].weights(back, FRAME), weights)
        if rank == 0:
            code = cheapest(weights, FRAME)
            assert code is not None and same(decoded(code, FRAME), weights)


def test_a_subspace_is_that_of_its_seed_and_of_nothing_else():
    point = subspace.SubspacePoint(4, 5, 0, 1.0, np.array([1, -2, 0, 1]))
    weights = subspace.Subspace().weights(point, FRAME)
    other = subspace.Subspace().weights(point, Frame(FRAME.shapes, 2, 4, (2, 4), (3, 5)))
    assert not same(weights, other)
    subspace.maps.cache_clear()
    assert same(weights, subspace.Subspace().weights(point, FRAME))
    assert weights["a"][0, 0].hex() == "-0x1.9dac700000000p-1"


def test_whole_model_code_is_prefix_free():
    """All sparse and plain models of one 3 × 1 matrix with levels in −1, 0, 1 and steps 1, 2."""
    frame, words = Frame((("w", (3, 1)),), T=1), []
    for step, levels in itertools.product((1.0, 2.0), itertools.product((-1, 0, 1), repeat=3)):
        N = np.array(levels)[:, None]
        if step == 2 and not N.any():
            continue
        words.append(write("plain", [(step, N)], frame))
        for fold in sparse.FOLDS:
            part = sparse.SparsePart(fold, step, N if fold == "plain" else N[1:])
            if N.any() and (fold == "plain" or not N[0].any()) and part.levels.any():
                words.append(write("sparse", (part,), frame))
    words.append(write("sparse", (sparse.SparsePart("plain", 1.0, np.zeros((3, 1), int)),), frame))
    assert len(words) > 70
    assert prefix_free(words) and kraft(words) <= 1


@settings(max_examples=300)
@given(st.integers(0, 2**60), st.integers(0, 60))
def test_any_bits_decode_to_their_own_word_or_are_refused(value, length):
    bits = CodeWord(value % (1 << length), length)
    try:
        name, description = read(bits, FRAME)
    except DudleyError:
        return
    assert write(name, description, FRAME) == bits


def test_weights_off_every_short_grid_have_no_code():
    generator = np.random.default_rng(0)
    weights = {"a": generator.normal(size=(5, 2)), "b": generator.normal(size=(2, 3))}
    assert on_grid(weights["a"]) is None
    assert cheapest(weights, FRAME) is None
    assert on_grid(np.array([[-0.0, 1.0]])) is None


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_integer_factors(m, n, r, seed):
    generator = np.random.default_rng(seed)
    N = generator.integers(-4, 5, (m, r)) @ generator.integers(-4, 5, (r, n))
    factors = low_rank.factors(N)
    assert factors is not None
    A, B = factors
    assert np.array_equal(A @ B, N) and A.shape[1] == np.linalg.matrix_rank(N)


class PlainWriter:
    """The definition: each choice narrows the interval at once."""

    def __init__(self):
        self.low, self.width, self.whole = 0, 1, 1

    def put(self, start: int, stop: int, total: int) -> None:
        self.low = self.low * total + start * self.width
        self.width, self.whole = self.width * (stop - start), self.whole * total

    def bits(self) -> CodeWord:
        length = 0
        while True:
            first = -(-(self.low << length) // self.whole)
            if (first + 1) * self.whole <= (self.low + self.width) << length:
                return CodeWord(first, length)
            length += 1


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 900])
def test_choices_composed_in_runs_give_the_word_of_the_definition(count):
    rng = np.random.default_rng(count)
    totals = rng.integers(1, 5000, count)
    starts = (totals * rng.random(count)).astype(int)
    stops = starts + 1 + ((totals - starts - 1) * rng.random(count) ** 4).astype(int)
    choices = [tuple(map(int, row)) for row in zip(starts, stops, totals, strict=True)]
    fast, slow = Writer(), PlainWriter()
    for choice in choices:
        fast.put(*choice)
        slow.put(*choice)
    assert len(fast._runs) <= count.bit_length()  # or each choice would be a product with them all
    assert fast.bits() == slow.bits()
    source = Reader(fast.bits())
    for start, stop, total in choices:
        assert start <= source.spot(total) < stop
        source.take(start, stop, total)


def test_a_place_at_the_end_of_a_part_is_decided_by_the_exact_number():
    """The word 1000…0 stands exactly at one half: leading digits alone do not say in which part."""
    for more, part in ((0, 1), (-1, 0), (1, 1)):
        source = Reader(CodeWord((1 << 4999) + more, 5000))
        assert source.spot(2) == part
        source.take(part, part + 1, 2)
        assert source.spot(3) == {0: 2, 1: 0}[part]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=70), st.data())
@settings(max_examples=60, deadline=None)
def test_the_stock_of_letters_counts_like_a_list(counts, data):
    left, plain_counts = Stock(counts), list(counts)
    while sum(plain_counts):
        spot = data.draw(st.integers(0, sum(plain_counts) - 1))
        letter = next(i for i in range(len(counts)) if sum(plain_counts[: i + 1]) > spot)
        assert left.at(spot) == (letter, sum(plain_counts[:letter]))
        assert [left.below(i) for i in range(len(counts))] == [
            sum(plain_counts[:i]) for i in range(len(counts))
        ]
        left.remove(letter)
        plain_counts[letter] -= 1

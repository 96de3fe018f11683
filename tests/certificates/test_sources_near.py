"""Near-copies: the quick way against all pairs, and the rule at its edges."""

import itertools

import numpy as np
import pytest

from dudley.certificates.sources.near import WIDTH, copies, words


def sets_of(texts):
    rows = [words(text) for text in texts]
    padded = [row + [""] * (WIDTH - len(row)) for row in rows]
    return [{tuple(row[i : i + WIDTH]) for i in range(len(row) - WIDTH + 1)} for row in padded]


def by_all_pairs(texts):
    """The first text of each component, by comparing all pairs of sets."""
    sets, first = sets_of(texts), list(range(len(texts)))
    for a, b in itertools.combinations(range(len(texts)), 2):
        if 5 * len(sets[a] & sets[b]) >= 4 * len(sets[a] | sets[b]):
            low, high = sorted((first[a], first[b]))
            first = [low if f == high else f for f in first]
    return first


@pytest.mark.parametrize("seed", range(8))
def test_the_result_is_that_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(60):
        if texts and rng.random() < 0.6:  # an earlier one with a few words changed
            row = texts[rng.integers(len(texts))].split()
            for _ in range(rng.integers(0, 3)):
                place = rng.integers(len(row))
                row[place : place + rng.integers(0, 2)] = [str(rng.integers(9))]
        else:
            row = [str(word) for word in rng.integers(0, 4 if seed % 2 else 40, rng.integers(60))]
        texts.append(" ".join(row) or "0")
    first = copies(texts)[1].tolist()
    assert first == by_all_pairs(texts)
    assert len(set(first)) < len(texts)


def text_of(numbers):
    return " ".join(f"w{i}" for i in numbers)


def test_four_fifths_is_near_and_less_is_not():
    # Sets of 8 and 10 shingles, 8 in common: 8/10. Sets of 8 and 11: 8/11.
    assert copies([text_of(range(12)), text_of(range(14))])[1].tolist() == [0, 0]
    assert copies([text_of(range(12)), text_of(range(15))])[1].tolist() == [0, 1]


def test_chains_join():
    texts = [text_of(range(a, a + 40)) for a in (0, 3, 6)]
    ends = copies([texts[0], texts[2]])[1].tolist()
    assert ends == [0, 1] and copies(texts)[1].tolist() == [0, 0, 0]


def test_equal_words_are_exact_copies_whatever_stands_between_them():
    texts = ["One <br /><br />two, THREE.", "x", "one two three", "one two"]
    exact, near = copies(texts)
    assert exact.tolist() == [0, 1, 0, 3] and near.tolist() == exact.tolist()


def test_texts_without_words_are_copies_of_each_other():
    assert copies(["", "...", "a"])[1].tolist() == [0, 0, 2]


def test_repeated_shingles_count_once():
    assert copies(["a a a a a a a a", "a a a a a"])[1].tolist() == [0, 0]

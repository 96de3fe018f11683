"""How many of each letter are left, in steps that grow with the logarithm of the letters.

Entry i of the tree (from 1) holds the sum over the ``i & −i`` letters that end with letter i − 1.
A sum over the first letters, a search among such sums and a removal each touch one entry for every
binary digit of the number of letters (Fenwick 1994).

>>> left = Stock((2, 0, 3))
>>> left.below(2), left.at(1), left.at(2)
(2, (0, 0), (2, 2))
>>> left.remove(0)
>>> left.below(2), left.at(1)
(1, (2, 1))
"""

from __future__ import annotations

from collections.abc import Sequence


class Stock:
    """Counts of letters 0, 1, … that letters are taken from."""

    def __init__(self, counts: Sequence[int]):
        self.counts = list(counts)
        self._tree = [0, *counts]
        for i in range(1, len(self._tree)):
            above = i + (i & -i)
            if above < len(self._tree):
                self._tree[above] += self._tree[i]

    def below(self, letter: int) -> int:
        """How many come before this letter."""
        total = 0
        while letter:
            total += self._tree[letter]
            letter &= letter - 1
        return total

    def at(self, spot: int) -> tuple[int, int]:
        """The letter at this place of the sorted stock, and how many come before the letter."""
        letter, start, step = 0, 0, 1 << (len(self._tree) - 1).bit_length()
        while step := step >> 1:
            beyond = letter + step
            if beyond < len(self._tree) and start + self._tree[beyond] <= spot:
                letter, start = beyond, start + self._tree[beyond]
        return letter, start

    def remove(self, letter: int) -> None:
        """One of this letter is gone."""
        self.counts[letter] -= 1
        i = letter + 1
        while i < len(self._tree):
            self._tree[i] -= 1
            i += i & -i

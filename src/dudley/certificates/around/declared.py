"""What both methods around a start declare: the start, the share, and the tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.certificates.base import MethodDeclared
from dudley.certificates.order import seed_declared
from dudley.core.errors import InputError

LARGEST_SEED = 1 << 32


@dataclass(frozen=True)
class AroundDeclared(MethodDeclared):
    """What was fixed before the data, for a difference to a start.

    ``start`` is the hash of the start where it has seen none of the sample. With ``initial`` = n₀
    it is what ordinary training on n₀ examples gave, those that the ``seed`` draws: then ``start``
    stays empty, and the bound counts the other n − n₀. ``parts`` are texts of patterns of names;
    one of them is chosen, and its parameters move. An example fails where its margin is at most
    ``tolerance``.
    """

    start: str = ""
    seed: int = 0
    initial: int = 0
    parts: tuple[str, ...] = ("*",)
    tolerance: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        if not 0 <= self.seed < LARGEST_SEED:
            raise InputError("seed", "a whole number below 2^32", self.seed)
        if self.initial < 0:
            raise InputError("initial", "a number of examples ≥ 0", self.initial)
        if not 0 <= self.tolerance < math.inf:
            raise InputError("tolerance", "a number ≥ 0", self.tolerance)
        if self.initial and self.start:
            fix = "its hash is known only once it has been trained"
            raise InputError("start", "nothing declared of one that a share trained", "a hash", fix)
        if not self.parts or len(set(self.parts)) < len(self.parts):
            raise InputError("parts", "different texts of patterns", list(self.parts))


def expect_start(declared: AroundDeclared, sha256: str) -> None:
    """Refuse a start that is not the declared one."""
    if not declared.initial and declared.start != sha256:
        got = f"{sha256[:12]}…, declared is {declared.start[:12] or 'nothing'}"
        fix = "a start that a share of the sample trained is declared by initial = its size"
        raise InputError("start", "the declared one", got, fix)


def of_start(declared: AroundDeclared, n: int) -> tuple[str, ...]:
    """What is declared of the start in words."""
    if not declared.initial:
        return ("the start was fixed before the data, and nothing it was made from has seen them",)
    return (
        f"the start was trained on the first {declared.initial} of {n} examples in the order of "
        f"seed {declared.seed}, and has seen no others; those are not counted",
        seed_declared(declared.seed),
        "the seed gave the training nothing but random numbers",
    )

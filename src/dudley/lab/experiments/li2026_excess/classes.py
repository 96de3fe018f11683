"""Classes so small that the excess risk of a minimiser is known exactly, and what is said of it.

| problem | class | noise | excess risk |
|---|---|---|---|
| noisy constants | constants in [−1, 1] | labels ±1, bias 0.375/√n | about 0.34/√n |
| clear constants | the same | labels ±1, bias 0.1 | exponentially small |
| one-hot | x·w, ‖w‖₂ ≤ 1, on 2n one-hot inputs | none | about 0.55/√n |
| narrow one-hot | the same on 64 one-hot inputs | none | exponentially small |
| noisy one-hot | the same on √n inputs, labels ±1/√d | bias 0.375·√(d/n) | about 0.34/√n |
| two points | two predictors of risk ½ | none | ½ = inf_F exc |

Loss |y − f|. Each also draws samples, finds a minimiser and takes its risk: a check on the
formulas. Bounds are those of li2026 on the same numbers.

>>> import numpy as np
>>> coin = PROBLEMS["noisy constants"]
>>> drawn = coin.drawn(101, 4000, np.random.default_rng(0))
>>> round(coin.excess(101), 4), bool(abs(drawn.mean() - coin.excess(101)) < 0.003)
(0.0337, True)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.stats import binom

from dudley.core.registry import Registry
from dudley.theorems.registry import load
from dudley.theorems.witness import exact_risk
from dudley.theorems.witness.counterexamples.label_noise import LabelNoise
from dudley.theorems.witness.counterexamples.one_hot import OneHot
from dudley.theorems.witness.counterexamples.two_points import TwoPoints

FORMS = ("printed", "derived", "best")
WIDTH, BIAS, CLEAR = 64, 0.375, 0.1
SUMMED = 200_000  # n up to which offset complexities are summed exactly


class ExcessProblem(ABC):
    """Abstract: a learning problem for every n."""

    name: ClassVar[str]
    rate: ClassVar[float | None]  # the exponent that is known by proof; None: not a power

    def d(self, n: int) -> int:
        return 1

    @abstractmethod
    def excess(self, n: int) -> float:
        """E exc of a minimiser from n examples."""

    @abstractmethod
    def drawn(self, n: int, draws: int, generator: np.random.Generator) -> np.ndarray:
        """exc of a minimiser from drawn samples."""

    @abstractmethod
    def questions(self, n: int) -> Mapping[str, Mapping[str, float]]:
        """Statements that speak of the problem, with their inputs."""

    def slow(self, n: int) -> dict[str, Mapping[str, float]]:
        """The statement whose derived form gives the slow rate for the class itself."""
        return {}


PROBLEMS: Registry[ExcessProblem] = Registry("problem")


def problem(cls: type[ExcessProblem]) -> type[ExcessProblem]:
    PROBLEMS.register(cls.name)(cls())
    return cls


class Coin(ExcessProblem):
    """Abstract: constants and a coin of bias h, so that f* = 1 and the minimiser is the majority.

    E g² = (1 − c)² and E g = 2h(1 − c): Bernstein's condition holds with V = 1/h.
    """

    @abstractmethod
    def h(self, n: int) -> float:
        """The bias at n."""

    def excess(self, n):
        return exact_risk.constants(n, self.h(n)).value

    def drawn(self, n, draws, generator):
        ones = generator.binomial(n, 0.5 + self.h(n), draws)
        return 4 * self.h(n) * (2 * ones <= n)


@problem
class NoisyConstants(Coin):
    name, rate = "noisy constants", -0.5

    def h(self, n):
        return LabelNoise(n).h

    def questions(self, n):
        coin = LabelNoise(n)
        inputs = {"li2026/corollary-4.5": coin.inputs("li2026/corollary-4.5")}
        if n <= SUMMED:  # E|mean of n signs| ≤ 1/√n
            slow = {"class.rademacher": 1 / math.sqrt(n)}
            inputs["li2026/theorem-4.4"] = coin.inputs("li2026/theorem-4.4") | slow
        return inputs


@problem
class ClearConstants(Coin):
    name, rate = "clear constants", None

    def h(self, n):
        return CLEAR

    def questions(self, n):
        inputs = LabelNoise(n).inputs("li2026/corollary-4.5")
        return {"li2026/corollary-4.5": inputs | {"bernstein.V": 1 / CLEAR}}


@problem
class WideOneHot(ExcessProblem):
    """x uniform on {e_1, …, e_2n}, Y = 0; the worst minimiser spreads w over what is unseen."""

    name, rate = "one-hot", -0.5

    def d(self, n):
        return 2 * n

    def excess(self, n):
        return exact_risk.one_hot(n, self.d(n)).value

    def drawn(self, n, draws, generator):
        d = self.d(n)
        seen = [len(np.unique(generator.integers(d, size=n))) for _ in range(draws)]
        return np.sqrt(d - np.array(seen)) / d

    def questions(self, n):
        return one_hot_questions(n, self.d(n), 0.0, True)

    def slow(self, n):
        return slow_rate(n, 0.0)


@problem
class NarrowOneHot(WideOneHot):
    name, rate = "narrow one-hot", None

    def d(self, n):
        return WIDTH

    def excess(self, n):
        return float(exact_risk.unseen(n, WIDTH) @ np.sqrt(np.arange(WIDTH + 1))) / WIDTH


@problem
class NoisyOneHot(ExcessProblem):
    """x uniform on {e_1, …, e_d}, d = ⌈√n⌉, Y = ±b with b = 1/√d and P(Y = b) = ½ + h.

    f* = b everywhere is optimal given X, and x·w with w = (b, …, b), ‖w‖₂ = 1, is in the class. The
    training loss falls apart by coordinates, and w_j = ±b, the majority of the labels seen there,
    minimises it inside ‖w‖₂ ≤ 1; where they tie, or none was seen, −b does too. So
    E exc = 4hb·P(majority not +), summed over the number of examples that fall on a coordinate.
    """

    name, rate = "noisy one-hot", -0.5

    def d(self, n):
        return math.ceil(math.sqrt(n))

    def h(self, n: int) -> float:
        return min(0.5, BIAS * math.sqrt(self.d(n) / n))

    def cost(self, n: int) -> float:
        """4hb: what a wrong majority costs at its input."""
        return 4 * self.h(n) / math.sqrt(self.d(n))

    def excess(self, n):
        mean = n / self.d(n)
        reach = int(mean + 12 * math.sqrt(mean) + 40)
        k = np.arange(min(n, reach) + 1)
        wrong = binom.cdf(k // 2, k, 0.5 + self.h(n))
        return float(self.cost(n) * (binom.pmf(k, n, 1 / self.d(n)) @ wrong))

    def drawn(self, n, draws, generator):
        d = self.d(n)
        seen = generator.multinomial(n, np.full(d, 1 / d), size=draws)
        plus = generator.binomial(seen, 0.5 + self.h(n))
        return self.cost(n) * (2 * plus <= seen).mean(1)

    def questions(self, n):
        return one_hot_questions(n, self.d(n), 1 / math.sqrt(self.d(n)), False)

    def slow(self, n):
        return slow_rate(n, 1 / math.sqrt(self.d(n)))


@problem
class Pair(ExcessProblem):
    """Two predictors, each right on one of two points: any minimiser has risk ½ = inf_F exc."""

    name, rate = "two points", 0.0

    def d(self, n):
        return 2

    def excess(self, n):
        return 0.5

    def drawn(self, n, draws, generator):
        return np.full(draws, 0.5)

    def questions(self, n):
        return {"li2026/theorem-4.4": TwoPoints(n).inputs("li2026/theorem-4.4")}


def one_hot_questions(n: int, d: int, B: float, noise_free: bool) -> dict[str, dict[str, float]]:
    """x·w from W_v = W_c = I (‖I‖_{1,1} = d), and from matrices of rank 1 and norm 1."""
    learning = {"n": n, "kappa": 1.0, "target.bound": B, "noise.free": float(noise_free)}
    norms = OneHot(n).weights() | {"W_v.l11": float(d), "W_c.l11": float(d)}
    sizes = {"d": d, "k": d, "L": 1, "X.row2inf": 1.0}
    ranks = {"r_QK": 1, "r_v": 1, "r_c": 1, "W_QK.op": 0.0, "W_v.op": 1.0, "W_c.op": 1.0}
    ranks |= {"w.l2": 1.0, "sigma.lipschitz": 1.0, "X.op": 1.0}
    return {
        "li2026/theorem-5.3": learning | norms | sizes,
        "li2026/theorem-5.8": learning | ranks | sizes,
    }


def slow_rate(n: int, B: float) -> dict[str, Mapping[str, float]]:
    """Theorem 4.4 for x·w, ‖w‖₂ ≤ 1, whose Rademacher complexity is at most 1/√n; |w·x| ≤ 1."""
    inputs = {"n": n, "kappa": 1.0, "target.bound": B, "sigma.lipschitz": 1.0, "X.op": 1.0}
    inputs |= {"w.l2": 1.0, "W_v.op": 1.0, "W_c.op": 1.0}
    return {"li2026/theorem-4.4": inputs | {"class.offset": 1.0, "class.rademacher": n**-0.5}}


def bounds_of(
    name: str, n: int, questions: Mapping[str, Mapping[str, float]], forms: Sequence[str] = FORMS
) -> list[dict[str, Any]]:
    """Every form of the statements at n: value, whether up to a constant, the trivial bound."""
    rows = []
    for id, values in questions.items():
        statement = load()[id]
        for form in forms:
            if form in statement.forms:
                bound = statement.evaluate_on(values, form)
                facts: dict[str, Any] = {"name": name, "n": n, "statement": id, "form": form}
                facts |= {"value": float(bound.value), "trivial": float(bound.trivial)}
                rows.append(facts | {"up_to_a_constant": "constant" in bound.sense.value})
    return rows


def measured_classes(config: Mapping[str, Any]) -> tuple[list[dict], list[dict]]:
    """Excess risks, exact and drawn, and the bounds: rows of two tables."""
    risks, bounds = [], []
    for name, sizes in config["sizes"].items():
        it, number = PROBLEMS[name], list(PROBLEMS).index(name)  # whatever the config's order
        for n in sizes:
            generator = np.random.default_rng([config["seed"], number, n])
            draws = int(min(config["draws"], config["drawn_examples"] // n))
            drawn = it.drawn(n, draws, generator) if draws > 1 else np.full(2, np.nan)
            risks.append(
                {
                    "problem": name, "n": n, "d": it.d(n), "exact": it.excess(n), "draws": draws,
                    "mean": float(drawn.mean()),
                    "error": float(drawn.std(ddof=1) / math.sqrt(len(drawn))),
                }
            )  # fmt: skip
            bounds += bounds_of(name, n, it.questions(n))
            bounds += bounds_of(name, n, it.slow(n), ("derived",))
    return risks, bounds

"""A small language with a hidden rule: every token is a function of earlier ones, and noise.

    x_t = π_c(x_{t−lag})  with probability 1 − noise,  uniform on the V tokens otherwise,

where the ``context`` tokens before t, c = (x_{t−1}, …, x_{t−context}), choose one of V^context
permutations π_c of the tokens, drawn for every trial; the first ``lag`` tokens are uniform.
As the π_c are permutations, every token is uniform whatever came before lag: a model that looks
at frequencies, or at fewer tokens, is at chance. ``context = lag − 1`` is a Markov chain of that
order; ``context = 0`` a (permuted) copy of what stood lag places before.

>>> from dudley.core.philox import key, keys_tensor
>>> keys = keys_tensor([key("language", 0)])
>>> copy = Language(V=5, lag=4)
>>> copy.sequences(keys, copy.rule(keys), Stream.TOKENS, step=0, rows=2, T=8)
tensor([[[2, 3, 4, 4, 1, 3, 0, 0],
         [2, 0, 0, 2, 1, 4, 4, 1]]])
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.core.philox import StepNumber, Stream, permutations, words

LARGEST_RULE = 1 << 20


@dataclass(frozen=True)
class Language:
    """Tokens 0, …, V−1."""

    V: int
    lag: int
    context: int = 0
    noise: float = 0.0

    def __post_init__(self):
        size_of("V of a language", self.V)
        size_of("lag of a language", self.lag)
        if not 0 <= self.context < self.lag:
            raise InputError("context", f"from 0 to lag − 1 = {self.lag - 1} tokens", self.context)
        if self.V ** (self.context + 1) > LARGEST_RULE:
            got = f"{self.V}^{self.context + 1}"
            raise InputError("V^(context + 1)", f"at most {LARGEST_RULE} entries", got)
        if not 0 <= self.noise <= 1:
            raise InputError("noise of a language", "a probability", self.noise)

    def rule(self, keys: torch.Tensor) -> torch.Tensor:
        """The hidden permutations, (E, V^context, V): drawn by the trials' keys."""
        return permutations(keys, Stream.INDICES, 0, self.V, rows=self.V**self.context)

    def sequences(
        self,
        keys: torch.Tensor,
        rule: torch.Tensor,
        stream: int,
        step: StepNumber,
        rows: int,
        T: int,
    ) -> torch.Tensor:
        """Independent sequences, (E, rows, T) int64."""
        drawn = words(keys, stream, step, rows * T).reshape(-1, rows, T)
        coins = words(keys, stream, step, rows * T, plane=1).reshape(-1, rows, T)
        x = (drawn * self.V) >> 32  # uniform up to V/2^32
        free = coins < round(self.noise * 2**32)
        for t in range(self.lag, T):
            ruled = self._image(rule, x, t, t + 1)[..., 0]
            x[..., t] = torch.where(free[..., t], x[..., t], ruled)
        return x

    def hits(self, rule: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """How many tokens of each sequence (E, N, T) follow the rule, (E, N).

        The probability of a sequence increases with it (noise < 1), and depends on nothing else.
        """
        T = x.shape[-1]
        return (self._image(rule, x, self.lag, T) == x[..., self.lag :]).sum(-1)

    def best_guess(self, rule: torch.Tensor, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        """The likeliest token at place t (E, N) given all the others of x: Bayes' classifier."""
        scores = []
        for token in range(self.V):
            filled = x.scatter(-1, t[..., None], torch.full_like(t, token)[..., None])
            scores.append(self.hits(rule, filled))
        return torch.stack(scores, -1).argmax(-1)

    def _image(self, rule, x, start: int, stop: int) -> torch.Tensor:
        """π_c(x_{t−lag}) for start ≤ t < stop, (E, N, stop − start)."""
        entry = torch.zeros_like(x[..., start:stop])
        for back in range(1, self.context + 1):
            entry = entry * self.V + x[..., start - back : stop - back]
        entry = entry * self.V + x[..., start - self.lag : stop - self.lag]
        return rule.flatten(1).gather(1, entry.flatten(1)).reshape(entry.shape)

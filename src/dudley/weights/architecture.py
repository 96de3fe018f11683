"""What a network is besides its weights: sizes, order of norms, activation, positions.

Read from ``config.json``; whatever is unknown stays None, and is asked for where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from dudley.core.constraint import size_of
from dudley.core.errors import InputError, UnknownName
from dudley.weights.output import CLASSES, Output

# Names of activations in configs, and in ``networks.activations``.
ACTIVATIONS = {
    "gelu": "gelu", "gelu_python": "gelu", "relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid",
    "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "gelu_fast": "gelu-tanh",
    "gelu_python_tanh": "gelu-tanh", "quick_gelu": "quick-gelu", "silu": "swish", "swish": "swish",
    "linear": "identity",
}  # fmt: skip


@dataclass(frozen=True)
class Architecture:
    """The description of a family's network; ``heads`` is what the split into heads needs.

    ``order``: ``post`` (BERT), ``pre`` (GPT-2, ViT, Llama), ``sandwich`` (Gemma 2: a norm before
    and one behind each part), ``parallel`` (GPT-NeoX: both parts read the same rows). ``inputs``:
    ``tokens`` of a vocabulary, ``patches`` of an image, or ``rows`` that come from elsewhere.
    ``head`` is the kind of output that the config names, or the name of a class that has another;
    ``outputs`` are those that the
    family may have. ``window``: a token looks at that many at most. ``turns``: the rotary angles
    of each layer, () where nothing is turned (None: the usual ones in every layer).
    ``first_position``: rows of P before it belong to no token. ``shared``: one block is used L
    times. ``first_norm``: the first block has its first norm. ``…_scale`` multiplies embedded
    tokens, what a part adds to its input, or the rows that the logits read; ``score_cap`` and
    ``logit_cap`` are soft caps. ``odd`` says why the network is not the one that this program can
    bound, if it is not.
    """

    d: int | None = None
    L: int | None = None
    H: int | None = None
    groups: int | None = None
    k: int | None = None
    T: int | None = None
    order: str | None = None
    rms: bool = False
    eps: float | None = None
    sigma: str | None = None
    gated: bool = False
    causal: bool = False
    rope: bool = False
    qk_norm: bool = False
    bias: bool | None = None  # of queries, keys and values, where the config says it
    scales: tuple[float, ...] | None = None  # factor on the scores, by layer; None: 1/√k
    turns: tuple[tuple[float, ...], ...] | None = None
    first_position: int = 0
    shared: bool = False
    first_norm: bool = True
    embed_scale: float = 1.0
    residual_scale: float = 1.0
    logit_scale: float = 1.0
    score_cap: float | None = None
    logit_cap: float | None = None
    window: int | None = None
    tied: bool = False
    head: str | None = None  # None: the stored tensors say it
    outputs: tuple[Output, ...] = ()
    inputs: str = "tokens"
    odd: str = ""

    def heads(self, d: int | None = None) -> tuple[int, int, int] | None:
        """Heads, groups of keys and values, width of a head; None where unknown."""
        if self.H is None:
            return None
        width = self.k
        if width is None:
            d = self.d if self.d is not None else d
            if d is None or d % self.H:
                raise InputError("heads", f"a divisor of the width {d}", self.H)
            width = d // self.H
        groups = self.H if self.groups is None else self.groups
        if self.H % groups:
            raise InputError("num_key_value_heads", f"a divisor of {self.H}", groups)
        return self.H, groups, width

    def depth(self, stored: int) -> int:
        """How many blocks the network has, of which so many are stored."""
        return self.L if self.shared and self.L is not None else stored

    def with_given(self, **values) -> Architecture:
        """The same, with what the caller knows better."""
        known = {field.name for field in fields(self)}
        for name in values:
            if name not in known:
                raise UnknownName("property of a network", name, known)
        return replace(self, **{k: v for k, v in values.items() if v is not None})


class Config:
    """A config's values by name, each checked when it is asked for."""

    def __init__(self, values: dict, source: str = "config.json"):
        self.values, self.source = values, source

    def _get(self, names: tuple[str, ...]):
        return next((self.values[n] for n in names if self.values.get(n) is not None), None)

    def size(self, *names: str) -> int | None:
        """An integer ≥ 1 under the first of these names that is there."""
        value = self._get(names)
        return None if value is None else size_of(f"{self.source}: {names[0]}", value)

    def number(self, *names: str) -> float | None:
        value = self._get(names)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InputError(f"{self.source}: {names[0]}", "a number", repr(value))
        try:
            return None if value is None else float(value)
        except OverflowError:
            raise InputError(f"{self.source}: {names[0]}", "a number", value) from None

    def flag(self, name: str, default: bool) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise InputError(f"{self.source}: {name}", "true or false", repr(value))
        return value

    def head(self) -> str | None:
        """The kind of output by the name of the class, or that name itself; None if there is none.

        >>> Config({"architectures": ["BertForSequenceClassification"]}).head()
        'classes'
        """
        names = self.values.get("architectures") or []
        if not isinstance(names, list) or len(names) > 1 or not all(type(n) is str for n in names):
            raise InputError(f"{self.source}: architectures", "the name of one class", repr(names))
        if not names:
            return None
        return next((k for end, k in CLASSES.items() if names[0].endswith(end)), repr(names[0]))

    def window(self, default: bool) -> int | None:
        """How many tokens a token may look at, where that is limited."""
        on = self.flag("use_sliding_window", default)
        return self.size("sliding_window") if on else None

    def sigma(self, *names: str) -> str | None:
        """An activation, by this program's name."""
        value = self._get(names)
        if value is None:
            return None
        if not isinstance(value, str) or value not in ACTIVATIONS:
            raise UnknownName(f"activation in {self.source}", str(value), ACTIVATIONS)
        return ACTIVATIONS[value]


def reader(make: Callable[[Config], Architecture]) -> Callable[[dict], Architecture]:
    """Wrap a family's reader so that it takes a plain dictionary."""
    return lambda values: make(Config(values))

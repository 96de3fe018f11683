"""What a file of weights does not say, and who runs it must.

A state dict of torch's layers names neither the heads nor the order of the norms, and the tensors
around an encoder have the names that a script gave them. A folder of Hugging Face says nearly all
of it in its ``config.json``.

>>> Unstored(roles=("tokens=embedding", "out=readout")).by_tensor(["tokens.weight", "out.weight"])
{'tokens.weight': 'W_E', 'out.weight': 'W_cls'}
>>> Unstored(roles=("out=logits",)).by_tensor([])
Traceback (most recent call last):
dudley.core.errors.UnknownName: unknown role of out 'logits'; ...
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dudley.core.boundary.text import line
from dudley.core.errors import InputError, UnknownName
from dudley.weights.architecture import ACTIVATIONS, Architecture
from dudley.weights.layout import Slot

ROWS = ("first", "last", "mean")
# Role of a module ↦ roles of its weight and its bias.
MODULES = {
    "embedding": ("W_E", None),
    "projection": ("W_patch", "b_patch"),
    "positions": ("P", None),
    "norm": ("ln_f.gain", "ln_f.bias"),
    "readout": ("W_cls", "b_cls"),
}
STORED = {"W_E": "in-out", "P": "in-out", "W_patch": "patches", "W_cls": "out-in"}
DEFAULTS = "torch's defaults are --norm-last --epsilon 1e-5 --activation relu"


@dataclass(frozen=True)
class Unstored:
    """Options of ``certify model``; None where they were not given.

    ``row`` is the row that the readout reads; ``roles`` are texts NAME=ROLE; ``pad`` is the code of
    the padding, −1 for none; ``scale`` multiplies the embedding; ``inputs`` is an encoding.
    """

    layout: str | Path | None = None
    heads: int | None = None
    norm_first: bool | None = None
    epsilon: float | None = None
    activation: str | None = None
    row: str | None = None
    roles: tuple[str, ...] = ()
    pad: int | None = None
    scale: float = 1.0
    inputs: dict[str, Any] | None = None

    def __post_init__(self):
        if self.row not in (None, *ROWS):
            raise InputError("--row", " or ".join(ROWS), self.row)
        if self.activation not in (None, *ACTIVATIONS):
            raise UnknownName("activation", str(self.activation), ACTIVATIONS)

    def by_tensor(self, names: Iterable[str]) -> dict[str, str]:
        """Tensor ↦ role, of what ``roles`` says."""
        there, kinds = list(names), dict[str, str]()
        for text in self.roles:
            name, equals, role = text.partition("=")
            if not (name and equals):
                raise InputError("--role", "NAME=ROLE", text)
            if role not in MODULES:
                raise UnknownName(f"role of {line(name)}", role, MODULES, all_named=True)
            weight, bias = MODULES[role]
            weights = [n for n in (name, f"{name}.weight") if n in there]
            if not weights:
                raise InputError("--role", "a tensor or a module of the file", line(name))
            kinds[weights[0]] = weight
            if bias is not None and f"{name.removesuffix('.weight')}.bias" in there:
                kinds[f"{name.removesuffix('.weight')}.bias"] = bias
        return kinds

    def slots(self, names: Iterable[str]) -> tuple[Slot, ...]:
        """The roles as slots of a layout."""
        kinds = self.by_tensor(names).items()
        return tuple(
            Slot(_literal(name), (role,), STORED.get(role, "column" if "gain" in role else "row"))
            for name, role in kinds
        )

    def completed(self, architecture: Architecture, source: str, mlp: bool) -> Architecture:
        """The architecture with what was given; one refusal names all that is missing."""
        order = None if self.norm_first is None else ("pre" if self.norm_first else "post")
        values: dict[str, Any] = {"H": self.heads, "order": order, "eps": self.epsilon}
        values["sigma"] = None if self.activation is None else ACTIVATIONS[self.activation]
        options = {"H": "--heads H", "order": "--norm-first or --norm-last"}
        options |= {"eps": "--epsilon ε", "sigma": "--activation NAME"}
        for name, value in values.items():
            stored = getattr(architecture, name)
            if value is not None and stored not in (None, value):
                expected = f"{stored}, as the config says"
                raise InputError(f"{source}: {options[name].split()[0]}", expected, value)
        whole = architecture.with_given(**values)
        needed = ("H", "order", "eps", "sigma") if mlp else ("H",)
        missing = [options[name] for name in needed if getattr(whole, name) is None]
        if missing:
            what = f"{source}: what its weights do not say"
            raise InputError(what, ", ".join(missing), "none of them", DEFAULTS if mlp else "")
        return whole


def _literal(name: str) -> str:
    """A tensor's name as a pattern; a name with braces would be read as another."""
    if "{" in name:
        raise InputError("--role", "a name without braces", line(name))
    return name

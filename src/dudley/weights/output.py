"""What a stored network ends in: logits of classes, logits of a vocabulary, or rows.

A family says which outputs it may have and how each is computed; the class that the config names,
or else the tensors that are stored, say which one it is. A head that is stored is never replaced:
where its kind is not known, or a part of it is missing, the network gets no bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dudley.core.errors import InputError

if TYPE_CHECKING:
    from dudley.weights.measurement import Measurement

# Endings of Hugging Face's classes; an ending that comes first hides the later ones.
CLASSES = {
    "ForSequenceClassification": "classes",
    "ForImageClassification": "classes",
    "ForMaskedLM": "language",
    "ForCausalLM": "language",
    "LMHeadModel": "language",
    "DoubleHeadsModel": "two heads",
    "Model": "rows",
}
KINDS = ("classes", "language", "rows")
STORED = (
    "W_pool", "b_pool", "W_pre", "b_pre", "ln_pre.gain", "ln_pre.bias",
    "W_cls", "b_cls", "W_out", "b_out",
)  # fmt: skip


@dataclass(frozen=True)
class Output:
    """One kind of output of a family.

    ``row``: which one it reads (``first``, ``last``, ``mean``, or ``any``: that of a masked
    token). ``dense``: ``pool`` or ``pre``, where a dense layer W_pool or W_pre with activation
    ``sigma`` stands before the logits; ``norm``: a norm layer ln_pre follows it. ``only``: the
    last norm is for the row that is read alone.
    """

    kind: str
    row: str = "last"
    dense: str | None = None
    sigma: str | None = None
    norm: bool = False
    only: bool = False  # what the last norm does to other rows is no output

    def roles(self) -> tuple[str, ...]:
        """The roles of tensors that belong to it."""
        last = {"classes": "cls", "language": "out"}.get(self.kind)
        names = [name for name in (self.dense, last) if name is not None]
        tensors = [f"{letter}_{name}" for name in names for letter in "Wb"]
        return (*tensors, *(("ln_pre.gain", "ln_pre.bias") if self.norm else ()))


def output_of(m: Measurement) -> Output:
    """The output that the measured network has."""
    kind = m.architecture.head or _stored_kind(m)
    outputs = {output.kind: output for output in m.architecture.outputs}
    output = outputs.get(kind, Output("rows") if kind == "rows" else None)
    if kind not in KINDS or output is None:
        expected = f"a head that is known here ({', '.join(outputs) or 'none'})"
        raise InputError(f"{m.source}: head", expected, kind)
    _expect_whole(m, output)
    other = unused_roles(m, output)
    if other and (m.architecture.head is None or {"W_cls", "W_out"} & set(other)):
        expected = f"the tensors of one ({output.kind}), or a config that names the class"
        raise InputError(f"{m.source}: head", expected, f"{m.row(other[0]).source} too")
    return output


def unused_roles(m: Measurement, output: Output) -> list[str]:
    """Roles of stored heads that are no part of this output."""
    return [r for r in STORED if m.find(r) is not None and r not in output.roles()]


def _stored_kind(m: Measurement) -> str:
    """The kind that the stored tensors tell."""
    language = {output.kind: output for output in m.architecture.outputs}.get("language")
    kinds = ["classes"] if m.find("W_cls") else []
    if m.find("W_out") or m.find("b_out"):
        kinds.append("language")
    elif language is not None and not kinds and m.architecture.tied and m.find("W_E"):
        whole = language.dense is None or m.find(f"W_{language.dense}") is not None
        kinds += ["language"] if whole else []
    if len(kinds) > 1:
        got = "logits of classes and of a vocabulary"
        raise InputError(f"{m.source}: head", "one, or a config that names the class", got)
    return kinds[0] if kinds else "rows"


def _expect_whole(m: Measurement, output: Output) -> None:
    """Refuse a head with a part missing, and a network without head where one is stored."""
    where = f"{m.source}: head"
    if output.kind == "rows":
        last = [role for role in ("W_pre", "W_cls", "W_out") if m.find(role) is not None]
        if last:
            got = f"{m.row(last[0]).source} is stored"
            raise InputError(where, "none, as the config names a class without", got)
        return
    needed = [] if output.dense is None else [f"W_{output.dense}"]
    needed += ["ln_pre.gain"] if output.norm else []
    if output.kind == "classes":
        needed.append("W_cls")
    elif not (m.architecture.tied and m.find("W_E")):
        needed.append("W_out")
    for role in needed:
        if m.find(role) is None:
            raise InputError(where, f"a tensor for {role} ({output.kind})", "none")
    if output.kind == "language" and m.architecture.tied and m.find("W_out") is not None:
        got = f"other values in {m.row('W_out').source}"
        raise InputError(where, "the vocabulary's table, to which it is tied", got)

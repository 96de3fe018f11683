"""``dudley derive``: the calculus on a network file, or on a measured checkpoint."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import typer

from dudley.calculus.union import Grid, pay
from dudley.cli.output import Json, print_json
from dudley.cli.progress import watched
from dudley.core.assumption import Assumption
from dudley.core.bound import Bound
from dudley.core.errors import InputError, UnknownName
from dudley.core.vocabulary import parse_assignments
from dudley.networks import explain, files, proof
from dudley.networks.capacity import Capacity, capacity

OWN = {"n": None, "delta": 0.05, "epsilon": None}  # names that are not the network's


def derive(
    network: Annotated[
        str | None, typer.Argument(help="A network file, or an example's name.")
    ] = None,
    values: Annotated[
        list[str] | None, typer.Argument(help="name=value: n, delta, epsilon, or a norm or size.")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="A trained model instead: measured, its norms paid for.")
    ] = None,
    init: Annotated[
        str | None, typer.Option(help="Where its training began: covers are centred there.")
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="What it changes, where it is a LoRA adapter.")
    ] = None,
    layout: Annotated[
        str | None, typer.Option(help="Its model type, or a mapping file (TOML).")
    ] = None,
    device: Annotated[str, typer.Option(help="Where it is measured: cpu | cuda")] = "cpu",
    show_explain: Annotated[
        bool, typer.Option("--explain", help="The network as a tree: what costs what.")
    ] = False,
    show_proof: Annotated[
        bool, typer.Option("--proof", help="The bound lemma by lemma, with LaTeX.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bound the generalisation gap of a network or of a checkpoint.

    Entropy and Rademacher complexity come with it; no constant is hidden.

    With --checkpoint: T=…, n=…, delta=…, X.row2inf=… (rows that enter the first block; tokens are
    embedded otherwise), w.l2=… (a readout, where no head is stored), margin=…, H=… (heads, where no
    config says it).

    Example: dudley derive single-head n=1e5 delta=0.05 --explain
    """
    words = list(values or [])
    if checkpoint is not None and network is not None:
        words.insert(0, network)  # the first name=value
        network = None
    given = parse_assignments(words)
    own = {name: given.pop(name, default) for name, default in OWN.items()}
    unusable = [name for name in given if name.startswith(("tail.", "truncation", "beta", "kappa"))]
    if unusable:
        raise UnknownName("name for derive", unusable[0], [*OWN, "margin", "T", "W_QK.l11"])
    union, assumptions = None, ()
    if checkpoint is not None:
        described = _measured(checkpoint, given, init=init, base=base, layout=layout, device=device)
        union, assumptions = Grid(), described.assumptions
    elif network is None:
        raise InputError("network", "a network file, an example's name, or --checkpoint", "none")
    elif (init, base, layout, device) != (None, None, None, "cpu"):
        raise InputError("--init, --base, --layout, --device", "--checkpoint with them", "none")
    elif Path(network).is_dir() or network.endswith(".safetensors"):
        fix = f"a trained model is named by --checkpoint {network}"
        raise InputError("network", "a network file or an example's name", network, fix)
    else:
        described = files.load(network, given)
    name = checkpoint or network or ""
    cap = capacity(described.network, described.inputs, own["n"], described.loss)
    delta = float(own["delta"] or OWN["delta"])
    answer = Answer(cap, delta, own["epsilon"], union, assumptions)
    with watched() as watch:
        watch.say("deriving the bound")
        item = _item(name, answer, show_explain, show_proof) if as_json else {}
        text = "" if as_json else _text(described.title or name, answer, show_explain, show_proof)
    if as_json:
        print_json("derive", [item])
    else:
        print(text)


def _measured(checkpoint: str, given: dict, **options):
    """The description of a checkpoint, measured now; H is no input of it but of the measurement."""
    from dudley.cli.commands.measure import progress
    from dudley.weights.measure import measure
    from dudley.weights.network import describe

    heads = given.pop("H", None)
    with progress() as tell:
        found = measure(checkpoint, heads=heads, progress=tell, **options)
    return describe(found, given)


@dataclass(frozen=True)
class Answer:
    """What is asked of a network: numbers read off after training are paid for by ``union``."""

    cap: Capacity
    delta: float
    epsilon: float | None
    union: Grid | None = None
    assumptions: tuple[Assumption, ...] = ()

    @cached_property
    def paid(self) -> Capacity:
        """The same class with every number on its grid."""
        return self.cap if self.union is None else pay(self.cap, self.union)[0]

    @cached_property
    def gap(self) -> Bound:
        bound = self.cap.gap(self.delta, union=self.union)
        return replace(bound, assumptions=bound.assumptions + self.assumptions)

    @property
    def needed(self) -> float:
        """log₁₀ of the examples at which the gap is half its trivial bound."""
        return needed(self.cap, self.delta, self.union)

    @property
    def log_entropy(self) -> float:
        """log log N(ε)."""
        assert self.epsilon is not None
        log_n = None if self.cap.n is None else math.log(self.cap.n)
        return float(self.paid.allocated.log_log(math.log(self.epsilon), log_n))

    def proof(self) -> str:
        """The lemmas; where numbers were paid for, the bound that pays stands at the end."""
        text = (
            self.paid.proof(self.delta)
            if self.union is None
            else proof.write(replace(self.paid, n=None), self.delta)
        )
        if self.union is None or self.cap.n is None:
            return text
        lines = [f"   {line}" for line in str(self.gap).splitlines()]
        return "\n".join([text, f"Together, at n = {float(self.cap.n):g}:", *lines])


def needed(cap: Capacity, delta: float, union: Grid | None = None) -> float:
    """log₁₀ of the examples at which the gap is half its trivial bound."""
    return cap.log10_needed_n(cap.loss.range / 2, delta, union)


def report(title: str, answer: Answer) -> str:
    """The answer for people."""
    cap, paid = answer.cap, answer.paid
    count = files.count_parameters(cap.network, cap.signal.width)
    out = paid.facts.out
    rows = [
        ("network", f"{title} ({count:,} weights)"),
        ("output radius", explain.power(float(out.radius.log))),
        ("Lipschitz", explain.power(float(paid.facts.lipschitz.log))),
    ]
    if answer.epsilon is not None:
        rows.append((f"log N({answer.epsilon:g})", explain.power(answer.log_entropy)))
    if cap.n is not None and out.width == 1:
        rows.append((f"Rademacher, n={cap.n:g}", f"{paid.rademacher():.4g}"))
    half = f"gap ≤ {cap.loss.range / 2:g}"
    rows.append((half, f"needs n = {examples(answer.needed)}"))
    lines = [f"{name:<20} {text}" for name, text in rows]
    if cap.n is not None:
        lines += ["", str(answer.gap)]
    elif answer.assumptions:
        lines += ["", *(f"  · {assumption}" for assumption in answer.assumptions)]
    return "\n".join(lines)


def _text(title: str, answer: Answer, with_tree: bool, with_proof: bool) -> str:
    """The report, what is to blame, and the proof where it is wanted."""
    paid = answer.paid
    texts = [report(title, answer)]
    texts.append(paid.explain() if with_tree else f"culprit: {explain.culprit(paid)}")
    texts += [answer.proof()] if with_proof else []
    return "\n\n".join(texts)


def examples(log10: float) -> str:
    """A number of examples for people: digits while they mean something, then a power."""
    if not math.isfinite(log10):
        return "more than any power of ten tried"
    return f"{math.ceil(10**log10):,}" if log10 < 6 else f"10^{log10:.2f}"


def _item(name: str, answer: Answer, with_tree: bool, with_proof: bool) -> dict:
    """The answer for programs."""
    cap, paid = answer.cap, answer.paid
    item: dict = {
        "id": name,
        "form": "derived",
        "delta": answer.delta,
        "radius_log10": finite(float(paid.facts.out.radius.log10)),
        "lipschitz_log10": finite(float(paid.facts.lipschitz.log10)),
        "needed_n_log10": finite(answer.needed),
        "needed_n_target": cap.loss.range / 2,
        "culprit": explain.culprit(paid),
    }
    if answer.epsilon is not None:
        item["entropy"] = {"epsilon": answer.epsilon, "log_value": finite(answer.log_entropy)}
    if cap.n is not None:
        item |= {"n": cap.n} | answer.gap.to_json()
        if paid.facts.out.width == 1:
            item["rademacher"] = finite(paid.rademacher())
    elif answer.assumptions:
        item["assumptions"] = [assumption.to_json() for assumption in answer.assumptions]
    if with_tree:
        rows, log_ε, log_n = paid.shares
        item["explain"] = {
            "log_epsilon": finite(log_ε),
            "log_n": finite(log_n),
            "blocks": [
                vars(row) | {"log10_weight": [*map(finite, row.log10_weight)]} for row in rows
            ],
        }
    if with_proof:
        item["proof"] = [vars(step) for step in proof.steps(paid)]
    return item


def finite(value: float) -> float | None:
    """The value, or null where it is not a finite float."""
    return value if math.isfinite(value) else None

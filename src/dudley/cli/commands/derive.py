"""``dudley derive``: the calculus on a network file, or on a measured checkpoint."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dudley.calculus.union import Grid
from dudley.cli.output import Json, print_document, print_json
from dudley.cli.progress import watch_steps
from dudley.core.errors import InputError, UnknownName
from dudley.core.vocabulary import parse_assignments
from dudley.networks import explain, files
from dudley.networks.capacity import capacity
from dudley.show.pages.derivation import Derivation, document

# Names that are not the network's.
SETTINGS = {"n": None, "delta": 0.05, "epsilon": None, "train_error": None}
OF_TAILS = ("tail.", "truncation", "beta", "kappa")  # inputs of statements, not of networks


def derive(
    network: Annotated[
        str | None, typer.Argument(help="A network file, or an example's name.")
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Argument(help="name=value: n, delta, epsilon, train_error, a norm or size."),
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
    activations: Annotated[
        str | None,
        typer.Option(help="The sample (.npz with X): norm layers are charged for its rows alone."),
    ] = None,
    show_explain: Annotated[
        bool, typer.Option("--explain", help="The network as a tree: what costs what.")
    ] = False,
    show_proof: Annotated[
        bool, typer.Option("--proof", help="The bound lemma by lemma, in this network's numbers.")
    ] = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="With --proof: it alone, as a LaTeX document.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bound the generalisation gap of a network or of a checkpoint.

    Entropy and Rademacher complexity come with it; no constant is hidden. With train_error=…, the
    share of training examples whose margin is below margin=… (or the mean loss), the gap is that of
    one cover at one scale, which is smaller where the error is.

    With --checkpoint: T=…, n=…, delta=…, X.row2inf=… (rows that enter the first block; tokens are
    embedded otherwise), w.l2=… (a readout, where no head is stored), margin=…, H=… (heads, where no
    config says it). With --activations the slopes of norm layers are those on rows that vary as
    much as the sample's, and an example with a row that varies less counts in full.

    Example: dudley derive single-head n=1e5 delta=0.05 --explain
    """
    if latex and (as_json or not show_proof):
        raise InputError("--latex", "--proof with it, and no --json", "another output")
    words = list(values or [])
    if checkpoint is not None and network is not None:
        words.insert(0, network)  # the first name=value
        network = None
    inputs = parse_assignments(words)
    settings = {name: inputs.pop(name, default) for name, default in SETTINGS.items()}
    unusable = [
        name for name in inputs if name.startswith(("tail.", "truncation", "beta", "kappa"))
    ]
    if unusable:
        raise UnknownName("name for derive", unusable[0], [*SETTINGS, "margin", "T", "W_QK.l11"])
    union, assumptions = None, ()
    if checkpoint is not None:
        described = _describe_checkpoint(
            checkpoint, inputs, activations, init=init, base=base, layout=layout, device=device
        )
        union, assumptions = Grid(), described.assumptions
    elif network is None:
        raise InputError("network", "a network file, an example's name, or --checkpoint", "none")
    elif (init, base, layout, activations, device) != (None, None, None, None, "cpu"):
        options = "--init, --base, --layout, --activations, --device"
        raise InputError(options, "--checkpoint with them", "none")
    elif Path(network).is_dir() or network.endswith(".safetensors"):
        fix = f"a trained model is named by --checkpoint {network}"
        raise InputError("network", "a network file or an example's name", network, fix)
    else:
        described = files.load(network, inputs)
    name = checkpoint or network or ""
    cap = capacity(described.network, described.inputs, settings["n"], described.loss)
    delta = float(settings["delta"] or SETTINGS["delta"])
    derivation = Derivation(
        cap, delta, settings["epsilon"], union, assumptions, settings["train_error"]
    )
    with watch_steps() as watch:
        watch.say("deriving the bound")
        if latex:
            show = partial(print, derivation.proof.latex(), end="")
        elif as_json:
            item = _item(name, derivation, show_explain, show_proof)
            show = partial(print_json, "derive", [item])
        else:
            title = described.title or name
            page = document(title, derivation, with_tree=show_explain, with_proof=show_proof)
            show = partial(print_document, page)
    show()  # once no progress is shown any more


def _describe_checkpoint(checkpoint: str, inputs: dict, activations: str | None, **options):
    """The description of a checkpoint, measured now; H is no input of it but of the measurement."""
    from dudley.cli.commands.measure import progress
    from dudley.core.boundary.archives import arrays
    from dudley.weights.activations import with_levels
    from dudley.weights.measure import measure
    from dudley.weights.network import describe

    X = None if activations is None else arrays(Path(activations), {"X"}).get("X")
    if activations is not None and X is None:
        raise InputError(activations, "an array X", "none")
    heads = inputs.pop("H", None)
    with progress() as tell:
        measurement = measure(checkpoint, heads=heads, progress=tell, **options)
        described = describe(measurement, inputs)
        if X is None:
            return described
        same = {name: options[name] for name in ("layout", "base")}
        return with_levels(described, checkpoint, X, heads=heads, progress=tell, **same)


def _item(name: str, derivation: Derivation, with_tree: bool, with_proof: bool) -> dict:
    """The derivation for programs."""
    cap, paid = derivation.cap, derivation.paid
    item: dict = {
        "id": name,
        "form": "derived",
        "delta": derivation.delta,
        "radius_log10": finite(float(paid.facts.out.radius.log10)),
        "lipschitz_log10": finite(float(paid.facts.lipschitz.log10)),
        "needed_n_log10": finite(derivation.needed),
        "needed_n_target": cap.loss.range / 2,
        "culprit": explain.culprit(paid),
    }
    if derivation.train_error is not None:
        item["train_error"] = derivation.train_error
    if derivation.epsilon is not None:
        item["entropy"] = {
            "epsilon": derivation.epsilon,
            "log_value": finite(derivation.log_entropy),
        }
    if cap.n is not None:
        item |= {"n": cap.n} | derivation.gap.to_json()
        if paid.facts.out.width == 1:
            item["rademacher"] = finite(paid.rademacher())
    elif derivation.assumptions:
        item["assumptions"] = [assumption.to_json() for assumption in derivation.assumptions]
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
        item["proof"] = derivation.proof.to_json()
    return item


def finite(value: float) -> float | None:
    """The value, or null where it is not a finite float."""
    return value if math.isfinite(value) else None

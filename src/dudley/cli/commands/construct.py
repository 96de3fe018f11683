"""``dudley construct``: weights that compute a sparse Boolean function, verified."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from dudley.cli.output import Json, print_document, print_json
from dudley.core.errors import InputError
from dudley.show.pages.construction import document, holds
from dudley.theorems.constructions import saving
from dudley.theorems.constructions.assemble import Construction, build
from dudley.theorems.constructions.targets import TASKS, read_table, target
from dudley.theorems.constructions.verify import ConstructionCheck, verify


def construct(
    task: Annotated[str, typer.Argument(help=" | ".join(TASKS) + ", of the relevant bits.")],
    table: Annotated[
        str | None, typer.Argument(help="For table: a file of 2^s bits, 0/1 lines or a JSON list.")
    ] = None,
    T: Annotated[int, typer.Option("--T", help="Tokens, without [CLS].")] = 0,
    s: Annotated[int | None, typer.Option("--s", help="Relevant positions.")] = None,
    mapping: Annotated[str, typer.Option(help="positions | trainable | bag")] = "positions",
    form: Annotated[str, typer.Option(help="repaired | printed")] = "repaired",
    heads: Annotated[str, typer.Option(help="one | s: one per relevant bit")] = "one",
    coherence: Annotated[float, typer.Option(help="Largest |v_i·v_j| of the basis.")] = 0.0,
    basis: Annotated[
        str, typer.Option(help="Signs of the inner products: worst | equal | random")
    ] = "worst",
    gamma: Annotated[
        float | None, typer.Option(help="The head may err by gamma/4; largest possible if absent.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="For threshold: at least k ones.")] = None,
    file: Annotated[str | None, typer.Option(help="The table's file, as an option.")] = None,
    indices: Annotated[
        str | None, typer.Option(help="The relevant positions, from 1: 1,4,7; random if absent.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of whatever is random.")] = 0,
    samples: Annotated[
        int | None, typer.Option(help="Inputs to draw instead of running all 2^T.")
    ] = None,
    save: Annotated[str | None, typer.Option(help="Write the weights as safetensors.")] = None,
    as_json: Json = False,
) -> None:
    """Build the weights of a sparse Boolean function, and run them.

    Norms are compared with what the paper claims. All 2^T inputs are run up to T = 20, a sample
    beyond. Exit code 1 if an input comes out wrong.

    Example: dudley construct majority --T 12 --s 3 --coherence 0.05 --form printed
    """
    values = _table(task, table, file)
    if s is None:
        if values is None:
            raise InputError("s", "the number of relevant positions", "none", "give --s")
        s = len(values).bit_length() - 1
    if save is not None:
        saving.check(save)
    built = build(
        target(task, s, k, values),
        T,
        mapping,
        form,
        heads,
        coherence,
        gamma,
        _positions(indices),
        basis,
        seed,
    )
    checked = verify(built, samples, seed)
    if save is not None:
        saving.save(built, save)
    if as_json:
        request = {"task": task, "T": T, "s": s, "mapping": mapping, "form": form, "heads": heads}
        request |= {"basis": basis, "seed": seed, "saved": save}
        print_json("construct", [_item(request, built, checked)])
    else:
        how = "one head" if len(built.selector.heads) == 1 else f"{s} heads"
        title = f"{task} of {s} of {T} bits; {mapping}, {how}; {form}"
        print_document(document(title, built, checked))
        if save is not None:
            print(f"saved to {save}")
    raise typer.Exit(0 if checked.right else 1)


def _item(request: dict, built: Construction, checked: ConstructionCheck) -> dict:
    """The answer for programs."""
    norms = [
        {
            "name": f"{claim.weight}.{claim.norm}",
            "true": true,
            "claimed": claim.paper,
            "holds": holds(claim, true),
            "proved": claim.ours,
        }
        for claim, true in built.norms()
    ]
    finite = math.isfinite(checked.output_error)
    return {
        "id": built.selector.lemma,
        **request,
        "indices": [i + 1 for i in built.indices],
        "coherence": built.coherence,
        "gamma": built.selector.γ,
        "right": checked.right,
        "inputs": checked.inputs,
        "exhaustive": checked.exhaustive,
        "wrong": checked.wrong,
        "first_wrong": checked.example,
        "wrong_fraction": checked.wrong_fraction,
        "confidence": checked.confidence,
        "head_error": checked.head_error,
        "stated_error": checked.stated_error,
        "head_holds": checked.head_holds,
        "output_error": checked.output_error if finite else None,
        "norms": norms,
    }


def _table(task: str, argument: str | None, option: str | None):
    """The truth table for the task table, which needs exactly one file; None for the others."""
    files = [path for path in (argument, option) if path is not None]
    if len(files) != (task == "table"):
        expected = "one file with the task table" if task == "table" else f"none with {task}"
        raise InputError("file", expected, " and ".join(files) or "none")
    return read_table(files[0]) if files else None


def _positions(text: str | None) -> list[int] | None:
    """``1,4,7`` as positions from 0."""
    if text is None:
        return None
    try:
        return [int(part) - 1 for part in text.split(",")]
    except ValueError:
        raise InputError("indices", "positions from 1, such as 1,4,7", repr(text)) from None

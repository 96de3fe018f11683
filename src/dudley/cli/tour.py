"""``dudley tour``: the main job for a newcomer, start to end."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

import dudley as du
from dudley import witness
from dudley.cli.derive import examples, needed
from dudley.cli.output import print_json
from dudley.networks import explain, files
from dudley.theorems import registry

BROKEN = (
    ("wrong-side", "trauger2024/lemma-3.5"),
    ("two-members", "trauger2024/theorem-4.2"),
    ("negative-log", "edelman2021/corollary-A.3"),
    ("large-readout", "edelman2021/theorem-A.17"),
)
NETWORKS = ("trauger2024-head", "bert-base", "vit-b", "gpt2-small")


def tour(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """What there is to see, in under two minutes: a bound and its anatomy, refutations, networks.

    Example: dudley tour
    """
    if as_json:
        print_json("tour", [_facts(name) for name in NETWORKS])
        return
    from rich.console import Console

    console = Console(highlight=False)
    _one_head(console)
    _refutations(console)
    _networks(console)
    console.print("\nNext: [bold]dudley derive single-head n=1e6 --explain --proof[/bold]")
    console.print("      [bold]dudley construct majority --T 12 --s 3 --form printed[/bold]")


def _one_head(console) -> None:
    console.rule("1 · One attention head, from norms to a guarantee", align="left")
    net = du.Head(d=64, W_QK=du.L11(20.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
    net = net >> du.Readout(w=du.L1(1.0))
    cap = du.capacity(net, du.Tokens(row2inf=1.0, T=128), n=1_000_000)
    console.print(str(cap.gap(delta=0.05)), markup=False)
    console.print("\nWhat costs what:", style="bold")
    console.print(cap.explain(), markup=False)
    console.print("\nThe same integral by four rules:", style="bold")
    for form in ("dudley", "tree", "optimised", "best"):
        console.print(f"  {form:<10} Rademacher complexity ≤ {cap.rademacher(form=form):.4f}")
    sizes = np.array([1e4, 1e5, 1e6, 1e8, 1e10])
    console.print("\nThe gap as n grows:", style="bold")
    for n, gap in zip(sizes, cap.gaps(sizes, 0.05), strict=True):
        console.print(f"  n = {n:<8.0e} gap ≤ {gap:.4f}")
    longer = du.capacity(net, du.Tokens(row2inf=1.0, T=1_000_000), n=1_000_000)
    same = float(longer.gap(0.05)) == float(cap.gap(0.05))
    console.print(f"  T = 128 → 1,000,000: the gap {'does not move' if same else 'moves'}\n")


def _refutations(console) -> None:
    from rich.table import Table

    console.rule("2 · Published statements against what is provably true", align="left")
    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in ("statement", "printed", "provable truth", "derived", "best known here"):
        table.add_column(column, no_wrap=True, justify="left" if column == "statement" else "right")
    witnesses, statements = witness.load(), registry.load()
    for name, id in BROKEN:
        instance, statement = witnesses[name](), statements[id]
        printed, derived, best = (
            f"{statement.evaluate_on(instance.inputs(id), form).value:.4g}"
            if form in statement.forms
            else "—"
            for form in ("printed", "derived", "best")
        )
        table.add_row(id, printed, f"≥ {instance.lower_bound():.4g}", derived, best)
    console.print(table)
    console.print("dudley theorems show ID tells what went wrong and how it is repaired.\n")


def _networks(console) -> None:
    from rich.table import Table

    console.rule("3 · Whole architectures: how many examples, and who is to blame", align="left")
    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in ("network", "weights", "n needed", "costliest", "slopes", "steepest"):
        table.add_column(column, no_wrap=True)
    for facts in map(_facts, NETWORKS):
        table.add_row(
            facts["id"],
            f"{facts['weights'] / 1e6:.3g} M",
            examples(facts["needed_n_log10"]),
            f"{facts['costliest']}, {facts['share']:.0%}",
            f"10^{facts['lipschitz_log10']:.0f}",
            facts["steepest"],
        )
    console.print(table)
    console.print(
        "n needed: until the gap is half its trivial bound, at 95 % confidence.\n"
        "slopes: the product of all Lipschitz constants; steepest: who contributes most."
    )


def _facts(name: str) -> dict:
    """What the last table says of one network."""
    described = files.load(name)
    cap = du.capacity(described.network, described.inputs, loss=described.loss)
    top = max(cap.shares[0], key=lambda row: row.share)
    slopes = explain.lipschitz_budget(cap)
    steepest = max(slopes, key=lambda kind: slopes[kind])
    return {
        "id": name,
        "weights": files.count_parameters(described.network, cap.signal.width),
        "needed_n_log10": needed(cap, 0.05),
        "costliest": top.block.rpartition(".")[2],
        "share": top.share,
        "lipschitz_log10": sum(slopes.values()),
        "steepest": steepest,
        "steepest_log10": slopes[steepest],
    }

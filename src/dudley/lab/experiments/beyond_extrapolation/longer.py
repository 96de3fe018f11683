"""The same trained weights on longer sequences: whose bits, which positions, where [CLS] stands.

A network with room for `most` bits has a table of `most` + 1 positions. Training at T₀ uses its
first T₀ + 1 rows, the last of them for [CLS]; the others are as they were at the start, drawn by
the trial's key or sinusoids, and no gradient has ever reached them. At a length T ≥ T₀

- [CLS] *stays*: it keeps row T₀, with which it was trained, and the further bits take the rows
  after it, T₀ + 1 to T;
- [CLS] *moves*: bits take rows 0 to T − 1, and [CLS] the row after them, T.

At T₀ both are the network that was trained. Every example has `most` fresh bits, hidden bits among
the first T₀ as in training; at T its first T bits are read, so that all lengths see the same
examples with the same labels, and differ in noise alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.philox import Stream, packed_bits
from dudley.train.ensemble.and_classifier import AndEnsemble
from dudley.train.packed import width
from dudley.train.problem import Problem
from dudley.train.tasks.planted import Planted
from dudley.train.trainer import Trainer

P = "weights.1.P"
STAYS, MOVES = "stays", "moves"
OF = ("accuracy", "ones", "mass", "diluted")
WORD = 32  # bits: lengths are whole words
WeightTensors = Mapping[str, torch.Tensor]


def table_of_positions(
    ensemble: AndEnsemble, trained: torch.Tensor, keys: torch.Tensor, most: int
) -> torch.Tensor:
    """Rows (E, most + 1, d): the trained ones (E, T₀ + 1, d), then those that were never used."""
    whole = replace(ensemble, T=most).start(keys)[P]
    return torch.cat([trained, whole[:, trained.shape[1] :]], 1)


def rows_at(table: torch.Tensor, T0: int, T: int, cls: str) -> torch.Tensor:
    """The positions of T bits and of [CLS], last, (E, T + 1, d).

    >>> table = torch.arange(6.0)[None, :, None]  # trained on 2 bits, [CLS] in row 2
    >>> [rows_at(table, 2, 4, cls).flatten().tolist() for cls in (STAYS, MOVES)]
    [[0.0, 1.0, 3.0, 4.0, 2.0], [0.0, 1.0, 2.0, 3.0, 4.0]]
    """
    rows = table[:, : T + 1]
    if cls == MOVES:
        return rows
    return torch.cat([rows[:, :T0], rows[:, T0 + 1 :], rows[:, T0 : T0 + 1]], 1)


@torch.no_grad()
def at_lengths(
    problem: Problem, weights: WeightTensors, lengths: Sequence[int], examples: int
) -> dict[str, torch.Tensor]:
    """Of every trial at every length: ``64.stays.accuracy`` and the others of `OF`, (E,) each.

    ``ones`` is the share of answers 1; ``mass`` the attention of [CLS] on the hidden bits, the mean
    over examples and heads; ``diluted`` what would be left of it (`diluted`). Equal logits count as
    an error.
    """
    task, ensemble = problem.tasks[0], problem.ensemble
    if not isinstance(task, Planted) or not isinstance(ensemble, AndEnsemble):
        raise InputError("what is tested at other lengths", "AND classifiers", ensemble)
    if lengths[0] != task.T or any(T % WORD or task.T > T for T in lengths):
        expected = f"multiples of {WORD}, the first the trained {task.T}, none smaller"
        raise InputError("lengths of tests", expected, list(lengths))
    hidden, most = task.indices(problem.keys), max(lengths)
    words = packed_bits(problem.keys, Stream.TEST, 0, examples, most, task.p)
    labels = task.labels(words, hidden)
    table = table_of_positions(ensemble, weights[P], problem.keys, most)
    first = ensemble.attention_on(weights, words[..., : width(task.T)].contiguous(), hidden)
    columns = {}
    for T in lengths:
        network, read = replace(ensemble, T=T), words[..., : width(T)].contiguous()
        for cls in (STAYS, MOVES):
            longer = dict(weights) | {P: rows_at(table, task.T, T, cls)}
            outputs = network.evaluate(longer, read)
            difference = outputs[..., 1] - outputs[..., 0]
            right = (2 * labels - 1) * difference > 0
            numbers = {"accuracy": right, "ones": difference > 0}
            numbers["mass"] = network.attention_on(longer, read, hidden)[..., 0].mean(-1)
            numbers["diluted"] = diluted(first, T, task.T, task.s).mean(-1)
            for name, values in numbers.items():
                columns[f"{T}.{cls}.{name}"] = values.double().mean(1)
    return columns


def diluted(shares: torch.Tensor, T: int, T0: int, s: int) -> torch.Tensor:
    """What is left at T of the attention on hidden bits, if further bits draw what others drew.

    ``shares`` (…, 2) are those of s hidden bits, a, and of [CLS], c, in one head for one example at
    T₀; all other bits had 1 − a − c. If the others draw as much each at T,

        a / (a + c + (1 − a − c)·(T − s)/(T₀ − s)).

    >>> half, all_of_it = [0.5, 0.0], [0.75, 0.25]
    >>> diluted(torch.tensor([half, all_of_it]), T=22, T0=12, s=2).tolist()  # twice as many others
    [0.3333333333333333, 0.75]
    """
    a, c = shares.double().unbind(-1)
    return a / (a + c + (1 - a - c).clamp(min=0) * (T - s) / (T0 - s))


def measure_longer(
    trainer: Trainer, results: list[dict[str, Any]], lengths: Sequence[int], examples: int
) -> None:
    """Add to every result what its last weights do at every length."""
    columns = at_lengths(trainer.problem, trainer.whole.weights, lengths, examples)
    lists = {name: values.tolist() for name, values in columns.items()}
    for e, result in enumerate(results):
        result["end"] = {name: values[e] for name, values in lists.items()}

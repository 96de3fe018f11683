"""Certify a head on frozen features by every method: ``du.certify_features(encoded, y)``.

Each method trains the head that suits it, on the same features, for any number of classes:

    hold-out       a linear head trained on the rest, a declared share is its test
    pick-to-learn  the same training, on examples that it picks
    norm-cover, occam, pac-bayes   linear heads by their recipes (`fit.recipes`)
    selection      one of declared sets of class vectors (`prototypes`), such as the encoder's own
                   vectors of label words; the class is that of the largest product

Of k methods each is claimed at δ/k, so all numbers hold together and the least may be shown,
whatever the methods find. They are about different models: every row has its own.

>>> rng = np.random.default_rng(0)
>>> y = rng.integers(0, 3, 600)
>>> encoded = Encoded(rng.standard_normal((600, 4)) + 20 * np.eye(4)[y], "coordinates")
>>> methods, vectors = ("hold-out", "selection"), [np.eye(4)[:3]]
>>> result = certify_features(encoded, y, methods, seed=0, prototypes=vectors)
>>> [(row.method, row.certificate.facts.errors) for row in result.rows]
[('selection', 0), ('hold-out', 0)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dudley.certificates.auto import at_share
from dudley.certificates.base import method_named
from dudley.certificates.certificate import Certificate
from dudley.certificates.data import Dataset
from dudley.certificates.encoded import Encoded
from dudley.certificates.order import declared_seed
from dudley.core.errors import InputError
from dudley.core.watch import Watch

RADIUS = 1.0  # of the features, up to rounding; a row beyond it is scaled back
METHODS_OF_FEATURES = ("hold-out", "pick-to-learn", "norm-cover", "occam", "pac-bayes")
STEPS, RATE = 150, 0.02  # of the linear head


@dataclass(frozen=True, eq=False)
class FeatureRow:
    """A method's model, the data that its certificate is about, and the certificate."""

    method: str
    model: Any
    data: Any
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class FeatureRanking:
    """The rows, the least number first, and the methods that refused, with their reasons."""

    rows: tuple[FeatureRow, ...]
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> FeatureRow:
        return self.rows[0]

    def __str__(self) -> str:
        lines = [
            f"{row.method:<14} {row.certificate.at_most}" + " (vacuous)" * row.certificate.vacuous
            for row in self.rows
        ]
        return "\n".join([*lines, *(f"{name:<14} {why}" for name, why in self.refused.items())])


def certify_features(
    encoded: Encoded,
    y: np.ndarray,
    methods: Sequence[str] = METHODS_OF_FEATURES,
    *,
    delta: float = 0.05,
    share: float = 0.25,
    seed: int | None = None,
    prototypes: Sequence[np.ndarray] | None = None,
    declared: Mapping[str, Mapping[str, Any]] | None = None,
    watch: Watch | None = None,
) -> FeatureRanking:
    """Train a head for each method and certify it; none is left out of the price.

    ``share`` of the examples, drawn by ``seed``, are for the hold-out; without a seed one is drawn.
    ``prototypes`` holds candidates of shape (classes, d). ``declared`` holds by method what else is
    fixed before.
    """
    seed = declared_seed(seed)
    data, names = Dataset(encoded.features, np.asarray(y)), list(methods)
    known = (*METHODS_OF_FEATURES, "selection")
    if not names or len(set(names)) < len(names) or not set(names) <= set(known):
        raise InputError("methods", f"different names of {', '.join(known)}", names)
    if not 0 < share < 1 or not 1 <= round(share * data.n) < data.n:
        raise InputError("share of the hold-out", "a number between 0 and 1", share)
    if ("selection" in names) != (prototypes is not None):
        raise InputError("prototypes", "class vectors for selection, and else none", "others")
    for name in declared or {}:
        if name not in names:
            raise InputError("declared", f"what is declared for {', '.join(names)}", name)
    watch, rows, refused = watch or Watch(), list[FeatureRow](), dict[str, str]()
    for name in names:
        population = f"{encoded.population}; {data.classes} classes, a number fixed before"
        table = {"population": population} | dict((declared or {}).get(name, {}))
        table = at_share(table, delta, len(names))
        watch.begin(name)
        try:
            if name == "selection":
                rows.append(_selection(data, prototypes or (), table))
            elif name == "hold-out":
                rows.append(_hold_out(data, share, seed, table))
            elif name == "pick-to-learn":
                rows.append(_pick_to_learn(data, seed, table))
            else:
                rows.append(_recipe(name, data, seed, table, watch))
        except InputError as refusal:
            refused[name] = str(refusal)
    if not rows:
        raise InputError("methods", "one that does not refuse", "; ".join(refused.values()))
    rows.sort(key=lambda row: (row.method == "pac-bayes", row.certificate.value))
    return FeatureRanking(tuple(rows), refused)


def _recipe(name: str, data: Dataset, seed: int, table: dict[str, Any], watch: Watch) -> FeatureRow:
    from dudley.certificates.fit.recipes import train_for

    encoding = {"name": "rows", "T": 1, "d": data.X.shape[1], "R": RADIUS}
    model = train_for(name, data, encoding, seed, watch)
    table = {"radius": RADIUS} | table  # fixed by the scaling, so it costs nothing
    return FeatureRow(name, model, data, method_named(name)(model, data, **table))


def _hold_out(data: Dataset, share: float, seed: int, table: dict[str, Any]) -> FeatureRow:
    mixed, count = data.permuted(f"hold-out of features {seed}"), round(share * data.n)
    test, rest = mixed.part(slice(0, count)), mixed.part(slice(count, None))
    learner = _learner(data, seed)
    model = learner.train(rest.X, rest.y, 0, learner.start())
    certificate = method_named("hold-out")(model, test, **table, split=seed)
    return FeatureRow("hold-out", model, test, certificate)


def _pick_to_learn(data: Dataset, seed: int, table: dict[str, Any]) -> FeatureRow:
    from dudley.certificates.training import certify_training

    rule = {"batches": (max(1, data.n // 200),), "rounds": (5, 10, 20)}
    made = certify_training(_learner(data, seed), data=data, seed=seed, **(rule | table))
    return FeatureRow("pick-to-learn", made.model, data, made.certificate)


def _selection(data: Dataset, sets: Sequence[np.ndarray], table: dict[str, Any]) -> FeatureRow:
    from dudley.certificates.selection import certify_selection

    d, vectors = data.X.shape[1], [np.asarray(V, np.float64) for V in sets]
    for V in vectors:
        if V.ndim != 2 or V.shape[1] != d or len(V) < data.classes or not np.isfinite(V).all():
            expected = f"finite numbers of shape ({data.classes}, {d})"
            raise InputError("prototypes", expected, f"shape {V.shape}")
    wide = data.X.astype(np.float64)
    said = np.stack([(wide @ V.T).argmax(axis=1) for V in vectors], axis=1)
    names = [f"prototypes {i}" for i in range(len(vectors))]
    made = certify_selection(names, said, data.y, X=data.X, **table)
    return FeatureRow("selection", vectors[made.index], made.outcomes, made.certificate)


def _learner(data: Dataset, seed: int) -> Any:
    """The linear head: its start is 0, its training sees the examples all at once."""
    from dudley.certificates.learners.module import ModuleLearner

    make = partial(_linear, data.X.shape[1], data.classes)
    return ModuleLearner(make, train_linear, seed, batch=4096)


def _linear(d: int, classes: int) -> Any:
    from dudley.core.backend import torch

    head = torch.nn.Linear(d, classes)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    return head


def train_linear(head: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Multinomial logistic regression with a little decay, on features scaled by √d meanwhile."""
    from dudley.core.backend import torch

    scale = X.shape[1] ** 0.5
    rows, label = torch.from_numpy(X) * scale, torch.from_numpy(y)
    with torch.no_grad():
        head.weight.div_(scale)
    optimiser = torch.optim.AdamW(head.parameters(), RATE, weight_decay=0.01)
    for _ in range(STEPS):
        loss = torch.nn.functional.cross_entropy(head(rows), label)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        head.weight.mul_(scale)

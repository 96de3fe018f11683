"""Train a classifier in one pass, with replay: ``du.train_one_pass(model, (X, y), folder)``.

Every example is predicted before the model learns from it, and may be learnt from again as often as
one likes afterwards: a step takes the next examples and so many of those before. All that is asked
is that the losses come first. The certificate bounds the mean risk of the models of the stretch
(`dudley.certificates.methods.prequential`), not that of the last one.

``update(X, y)`` does one step of the optimiser; ``rates`` may change with the pass. The order is a
permutation of the examples in canonical order by a seed that only this function knows; replay draws
from what has been seen by a generator of its own.

>>> from dudley.core.backend import torch
>>> X = np.random.default_rng(0).standard_normal((3000, 2), dtype=np.float32)
>>> y = (X[:, 0] > 0) * 1
>>> _ = torch.manual_seed(0)
>>> linear = torch.nn.Linear(2, 2)
>>> optimiser = torch.optim.Adam(linear.parameters(), 0.05)
>>> def update(X, y):
...     optimiser.zero_grad()
...     torch.nn.functional.cross_entropy(linear(X), y).backward()
...     optimiser.step()
>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     certificate = train_one_pass(linear, update, (X, y), folder, start=1000, seed=0)
>>> certificate.facts.counted, certificate.value < 0.06
(2000, True)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.certificate import Certificate
from dudley.certificates.data import Dataset
from dudley.certificates.learners.module_predictor import expect_apart, logits
from dudley.certificates.methods.prequential.log import Prequential
from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.certificates.order import declared_seed
from dudley.certificates.predictor import failures
from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.core.errors import InputError


def train_one_pass(
    model: torch.nn.Module,
    update: Callable[[torch.Tensor, torch.Tensor], Any],
    data: Dataset | tuple[np.ndarray, np.ndarray],
    folder: str | Path,
    *,
    batch: int = 50,
    replay: int = 0,
    updates: int = 1,
    seed: int | None = None,
    say: Callable[[str], None] | None = None,
    **declared: Any,
) -> Certificate:
    """Train the model in place on every example once, log its errors before, and certify them.

    A step predicts ``batch`` examples, and then calls ``update`` ``updates`` times with them and
    ``replay`` of the examples before. ``declared`` has the fields of `PassDeclared`; the start of
    the stretch is a tenth of the data unless one is given, and a ``seed`` is drawn unless one is. A
    folder holds one pass: a model that was killed is not restored here.
    """
    seed = declared_seed(seed)
    sample = data if isinstance(data, Dataset) else Dataset(*map(np.asarray, data))
    batch, updates = size_of("batch", batch), size_of("updates", updates)
    if replay < 0:
        raise InputError("replay", "a number of examples ≥ 0", replay)
    declared = {"loss": "error", "start": sample.n // 10} | declared
    if declared["loss"] != "error":
        raise InputError("loss", "error: this training counts the errors", declared["loss"])
    training = declared.get("mode") == "training"
    expect_apart(model, training)
    order = order_of(sample, seed)
    X, y = torch.from_numpy(sample.X[order.rows]), torch.from_numpy(labels_of(sample)[order.rows])
    draws = np.random.default_rng([seed, 1])
    with Prequential(folder, order=order, sync=1.0, **declared) as log:
        if log.units:
            raise InputError(str(folder), "a folder without a pass", f"{log.units:,} units")
        for first in range(0, sample.n, batch):
            part = slice(first, first + batch)
            log.before(first, errors_of(model, X[part], y[part], training))
            model.train()
            for _ in range(updates):
                rows = np.arange(first, min(first + batch, sample.n))
                old = draws.integers(0, first, replay) if first else rows[:0]
                chosen = torch.from_numpy(np.concatenate([rows, old]))
                update(X[chosen], y[chosen])
            if say is not None and first // batch % 100 == 99:
                say(log.line())
        return log.certificate(seed=seed)


def order_of(sample: Dataset, seed: int) -> UnitOrder:
    """The order of the examples: each is its row and its label."""
    y = labels_of(sample)
    rows = [sample.X[i].tobytes() + int(y[i]).to_bytes(8, "little") for i in range(sample.n)]
    return UnitOrder.of(rows, seed)


def labels_of(sample: Dataset) -> np.ndarray:
    """The labels as torch counts them."""
    return sample.y.astype(np.int64)


def errors_of(
    model: torch.nn.Module, X: torch.Tensor, y: torch.Tensor, training: bool = False
) -> np.ndarray:
    """Where the model errs; a tie is an error."""
    model.train(training)
    with torch.no_grad():
        outputs = logits(model(X), len(X)).double().cpu().numpy()
    return failures(outputs, y.numpy(), 0.0)

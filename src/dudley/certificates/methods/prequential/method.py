"""One pass as a method: the number follows from the journal, and `verify` computes it again.

The file of the certificate has what was declared, where the stretch ends, and the hash of the
journals. From them the losses are read again, and the number made of them; from the hashes of the
units, their order. That is a check of the log alone (``dudley verify CERTIFICATE --model FOLDER
--data UNITS``). Whoever has the units and the checkpoints evaluates blocks again (`recheck`).

The end of the stretch is free, since the bound holds at every step at once, and the last unit is
taken unless another end is named. A checkpoint is one of the K that were declared, and costs ln K.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.base import Method, method
from dudley.certificates.certificate import Certificate
from dudley.certificates.methods.prequential.declared import (
    PassChoices,
    PassDeclared,
    PassFacts,
)
from dudley.certificates.methods.prequential.passlog import PassLog, read_pass
from dudley.certificates.methods.prequential.plan import PassPlan
from dudley.certificates.methods.prequential.quantity import declarations, quantity
from dudley.certificates.methods.prequential.totals import TotalsTally
from dudley.certificates.methods.prequential.units import UnitOrder, read_digests
from dudley.certificates.records import to_json
from dudley.core.errors import InputError


@method
class PrequentialMethod(Method[PassDeclared, PassChoices]):
    """The mean risk of the models of a pass is at most the bound of the declared form."""

    name = "prequential"
    declares = PassDeclared
    chooses = PassChoices

    def read_model(self, path: str | Path) -> PassLog:
        """The journals of a folder."""
        return read_pass(path)

    def read_data(self, path: str | Path) -> Any:
        """The hashes of the units, as `UnitOrder.write` writes them."""
        return read_digests(Path(path))

    def expect(self, model: PassLog) -> None:
        if not isinstance(model, PassLog):
            fix = "log a training with du.Prequential, and certify its folder"
            raise InputError("model", "the log of a pass", type(model).__name__, fix)

    def expect_independent(self, model: PassLog, data: Any, declared: PassDeclared) -> None:
        """Units, where they are there, are in the order that was committed to before the pass."""
        if to_json(replace(declared, seed=None)) != to_json(model.declared):
            raise InputError("declared", "what the journal says was declared", "something else")
        if data is None and declared.seed is not None:
            fix = "give the units: a seed alone shows no order"
            raise InputError(
                "seed of the order", "none, without units and their order", declared.seed, fix
            )
        if data is None:
            return
        if declared.seed is None:
            raise InputError("seed of the order", "that of the units", "none")
        digests = data.digests if isinstance(data, UnitOrder) else data
        if not isinstance(digests, tuple):
            raise InputError("data", "units in their order, or none", type(data).__name__)
        order = UnitOrder.of_digests(digests, declared.seed)
        by_hand = data.sha256 if isinstance(data, UnitOrder) else order.sha256
        if not model.order == order.sha256 == by_hand:
            got = "another order" if model.order else "none: the pass declared no order"
            raise InputError("order of the units", "that of the journal", got)
        if declared.distinct and len(set(digests)) < order.n:
            got = f"{order.n:,}, {len(set(digests)):,} of them different"
            raise InputError("units", "different ones, as declared", got)
        if model.reach > order.n:
            got = f"a log of {model.reach:,}: units came again, after they were learnt from"
            raise InputError("units of the order", f"at most {order.n:,}", got)

    def choose(self, model: PassLog, data: Any, declared: PassDeclared) -> PassChoices:
        """The last unit; where a checkpoint is certified, that with the least bound."""
        if declared.about != "checkpoint":
            return PassChoices(model.n)
        plan = PassPlan(declared, model)
        candidates = [
            PassChoices(_end(model, k), k)
            for k, checkpoint in enumerate(model.checkpoints)
            if checkpoint.units >= declared.start and _end(model, k)
        ]
        if not candidates:
            expected = f"one saved from unit {declared.start} on, with units after it"
            raise InputError("checkpoints", expected, "none")
        return min(candidates, key=plan.value)

    def certify(
        self, model: PassLog, data: Any, declared: PassDeclared, choices: PassChoices
    ) -> Certificate[PassDeclared, PassChoices, PassFacts]:
        """The certificate."""
        plan = PassPlan(declared, model)
        stretch, tally = plan.stretch(choices), plan.tally(choices)
        sizes = 1 if stretch.sizes is None else stretch.sizes
        each = np.full(len(stretch.losses), float(declared.limit))  # as lost units count
        np.divide(stretch.losses, sizes, out=each, where=~stretch.lost)
        mean = math.fsum(each.tolist()) / len(each)
        if isinstance(tally, TotalsTally):
            mean = tally.ratio
        guess = declared.limit if declared.guess is None else declared.guess
        facts = PassFacts(
            units=model.n,
            counted=len(each),
            lost=int(stretch.lost.sum()),
            mean_loss=mean,
            largest_loss=float(each.max()),
            limit=declared.limit,
            checkpoints=len(model.checkpoints),
            expected=stretch.expected,
        )
        return Certificate(
            method=self.name,
            value=plan.value(choices),
            bill=plan.bill,
            declared=declared,
            choices=choices,
            facts=facts,
            model={"sha256": model.sha256},
            data={"n": model.n, "sha256": model.order or model.sha256},
            baseline={"worst": declared.limit, "error_at_least": guess},
            declarations=declarations(declared, model.order is not None),
            quantity=quantity(declared, choices),
        )


def _end(log: PassLog, k: int) -> int:
    """How many units there are up to the last one that checkpoint k was measured on; 0 if none."""
    first = log.checkpoints[k].units
    end = min([log.n, *(c.units for c in log.checkpoints[k + 1 :])])
    end += sum(len(block.places) for block in log.again.get(k, []))
    return end if end > first else 0

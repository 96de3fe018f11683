"""From a measurement to the calculus: the measured network as nodes, its norms marked *observed*.

Norms that were read off after training support no guarantee until a union bound pays for them
(``du.Grid``), so every radius here is ``Observed``. A stored head (pooler, classifier, logits) is
a part of the network like any other. What a checkpoint cannot say (the loss, that dropout is off,
a readout where no head is stored) is declared and listed with its status.

>>> import dudley as du
>>> from dudley.weights.network import describe
>>> description = describe(du.measure("tiny-bert"), {"T": 4})
>>> cap = du.capacity(description.network, description.inputs, n=1e6, loss=description.loss)
>>> cap.gap(0.05)
Traceback (most recent call last):
dudley.core.errors.NotYetPaid: read off after training, and not paid for: ...
>>> cap.gap(0.05, union=du.Grid()).vacuous
False
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass

from dudley.calculus.compose import Node
from dudley.core.assumption import Assumption, Status
from dudley.core.boundary.text import line
from dudley.core.constraint import L2, Ball, Constraint, Observed, ball, size_of
from dudley.core.errors import InputError, UnknownName
from dudley.core.rounding import up
from dudley.networks.activations import activation
from dudley.networks.embeddings import OneHot, Positions, Tokens
from dudley.networks.files import Description, read_loss
from dudley.networks.losses import CrossEntropy, Loss, Margin
from dudley.networks.outputs import Logits, Readout
from dudley.networks.pointwise import Dense, Pool
from dudley.networks.robust import Robust
from dudley.weights.balls import constraint
from dudley.weights.described_blocks import DescribedBlocks
from dudley.weights.measurement import MatrixRow, Measurement
from dudley.weights.output import output_of, unused_roles

FACTORS = ("embed_scale", "residual_scale", "logit_scale", "score_cap", "logit_cap")
GIVEN = ("T", "X.row2inf", "X.row1inf", "w.l2", "w.l1", "margin", "loss.lipschitz", "loss.range")


@dataclass(frozen=True)
class DescribedCheckpoint(Description):
    """A description that came from a checkpoint, with what it rests on."""

    assumptions: tuple[Assumption, ...] = ()


def describe(measurement: Measurement, settings: Mapping[str, float]) -> DescribedCheckpoint:
    """The measured network, its inputs and loss, and the assumptions with their status.

    ``settings``: T; X.row2inf for rows that enter the first block (tokens are embedded otherwise);
    w.l2 or w.l1 for a readout, where no head is stored (w.l2 = 1 if neither); margin, or
    loss.lipschitz and loss.range.
    """
    for name in settings:
        if name not in GIVEN:
            raise UnknownName("name for a checkpoint", name, GIVEN)
    return _Build(measurement, settings).described()


class _Build:
    """One description under way."""

    def __init__(self, measurement: Measurement, settings: Mapping[str, float]):
        self.m, self.arch, self.settings = measurement, measurement.architecture, settings
        self.notes: list[Assumption] = []
        self.source = measurement.source

    def described(self) -> DescribedCheckpoint:
        self._refuse()
        W_Q = self.m.row("W_Q", 0)
        self.d = W_Q.shape[0]
        split = self.arch.heads(self.d)
        if split is None:
            fix = "give H=… (derive) or --heads (measure)"
            raise InputError(f"{self.source}: heads", "their number", "unknown", fix)
        self.head = output_of(self.m)
        self.blocks = DescribedBlocks(self.m, self.d, split)
        inputs, nodes = self._inputs()
        nodes += self.blocks.all()
        if self.m.find("ln_f.gain") is not None:
            nodes.append(self.blocks.norm("ln_f", None))
        nodes += self._before_output()
        output, loss = self._output()
        network = functools.reduce(operator.rshift, [*nodes, output])
        notes = (*self._common(), *self.notes)
        return DescribedCheckpoint(self.source, network, inputs, loss, notes)

    def _refuse(self) -> None:
        """A network that is not the one its matrices suggest gets no bound."""
        if self.arch.odd:
            expected = "a network this program can bound"
            raise InputError(f"{self.source}: architecture", expected, self.arch.odd)
        depth = self.arch.depth(self.m.layers)
        for what in ("scales", "turns"):
            each = getattr(self.arch, what)
            if each is not None and len(each) != depth:
                expected = f"one for each of {depth} layers"
                raise InputError(f"{self.source}: {what} of the scores", expected, len(each))
        missing = [use for use in self.m.tensors if use.vital]
        if missing:
            raise InputError(
                f"{self.source}: tensor {line(missing[0].name)}",
                "a known role for every tensor of the network",
                f"{len(missing)} without" + f" ({missing[0].why})",
            )

        beyond = [r for r in self.m.rows if r.head is None and math.inf in r.norms.values()]
        if beyond:
            where = f"{self.source}: tensor {line(beyond[0].source)}"
            raise InputError(where, "norms within the floats", "one beyond 1.8e308")

    def _say(self, name: str, statement: str, status: Status = Status.DECLARED) -> None:
        self.notes.append(Assumption(name, statement, status))

    # -- from the inputs to the first block ----------------------------------------------------

    def _inputs(self) -> tuple[Tokens, list[Node]]:
        window = math.inf if self.arch.window is None else self.arch.window
        T, longest = self.settings.get("T"), self._longest()
        T = T if T is not None or longest is None else min(longest, window)
        if T is None:
            raise InputError(f"{self.source}: T", "the number of tokens", "none", "give T=…")
        if window < T:
            raise InputError(f"{self.source}: T", f"at most {window}, the sliding window", T)
        T, X = size_of("T", T), self.settings.get("X.row2inf")
        if self.arch.inputs == "tokens" and X is None and self.m.find("W_E") is not None:
            return self._embedded(T)
        if X is None:
            what = "a patch's pixels" if self.arch.inputs == "patches" else "a row"
            raise InputError(f"{self.source}: X.row2inf", f"the largest ℓ2 norm of {what}", "none")
        l1 = self.settings.get("X.row1inf")
        if self.arch.inputs == "patches" and self.m.find("W_patch") is not None:
            return self._patches(T, X, l1)
        if self.m.find("W_E") is not None:
            self._say("tokens", "given as rows that enter the first block; W_E is not trained here")
        return Tokens(X, T, self.d, l1), []

    def _longest(self) -> int | None:
        table = self.m.find("P")
        return table.shape[0] if table is not None else self.arch.T

    def _embedded(self, T: int) -> tuple[Tokens, list[Node]]:
        table, wider = self.m.row("W_E"), self.m.find("W_map")
        V, d = table.shape
        if d != (self.d if wider is None else wider.shape[0]):
            expected = f"rows of width {self.d}, or a tensor for W_map"
            raise InputError(f"{self.source}: W_E", expected, f"width {d}")
        tie = "E" if self.head.kind == "language" and self.m.find("W_out") is None else None
        segment = self.m.find("W_S")
        b = None
        if segment is not None:
            b = ball("fro", Observed(segment.norms["row2inf"]))
            if segment.shape[0] > 1:
                self._say("segments", "every token of every example is of the same segment")
        W_E = constraint(table, ("op", "fro", "row2inf"), tie=tie)
        nodes: list[Node] = [Dense(V, W_E, d, b, names=("W_E", "b_E"))]
        nodes += self.blocks.scaled_by("embed_scale")
        places = self.m.find("P")
        if places is not None:
            P = constraint(places, ("row2inf", "fro"))
            nodes.append(Positions(d, places.shape[0], P, trained=True))
        if self.m.find("ln_E.gain") is not None:
            nodes.append(self.blocks.norm("ln_E", None, d))
        if wider is not None:
            b_map = self.blocks.bias("b_map", None)
            nodes.append(Dense(d, constraint(wider), self.d, b_map, names=("W_map", "b_map")))
        return OneHot(V, T), nodes

    def _patches(self, T: int, X: float, l1: float | None) -> tuple[Tokens, list[Node]]:
        """The first row is cls + P_0: a zero patch at position P_0 + cls − b_patch; as is dist."""
        W, places = self.m.row("W_patch"), self.m.row("P")
        b, firsts = self.m.find("b_patch"), [self.m.find("cls"), self.m.find("dist")]
        patch = Dense(W.shape[0], constraint(W), self.d, self.blocks.bias("b_patch", None))
        more = 0.0
        for first in firsts:
            if first is not None:
                more += first.norms["fro"] + (0.0 if b is None else b.norms["fro"])
                what = "a zero patch; its position holds the trained row"
                self._say("first row", what, Status.CHECKED)
        radii = {n: float(up(places.norms[n] + more, 4)) for n in ("row2inf", "fro")}
        P = Constraint(tuple(Ball(n, Observed(r)) for n, r in radii.items()))
        nodes: list[Node] = [patch, Positions(self.d, places.shape[0], P, True)]
        if self.m.find("ln_E.gain") is not None:
            nodes.append(self.blocks.norm("ln_E", None))
        return Tokens(X, T, W.shape[0], l1), nodes

    # -- output and loss -----------------------------------------------------------------------

    def _before_output(self) -> list[Node]:
        """The row that the output reads, and what stands between it and the logits."""
        head, dense, self.width = self.head, self.head.dense, self.d
        stored = dense is not None and self.m.find(f"W_{dense}") is not None
        nodes: list[Node] = []
        if head.row != "last" and (head.kind != "rows" or stored or head.only):
            nodes.append(Pool("cls" if head.row == "any" else head.row))
        if stored and dense is not None:
            W, b = self._of_width(self.m.row(f"W_{dense}")), self.blocks.bias(f"b_{dense}", None)
            self.width = W.shape[1]
            if head.sigma is None:
                raise InputError(f"{self.source}: activation before the logits", "its name", "none")
            names = (f"W_{dense}", f"b_{dense}")
            nodes.append(Dense(self.d, constraint(W), W.shape[1], b, head.sigma, names))
        nodes += [self.blocks.norm("ln_pre", None, self.width)] if head.norm else []
        return nodes + self.blocks.scaled_by("logit_scale") if head.kind == "language" else nodes

    def _output(self) -> tuple[Node, Loss | Margin | CrossEntropy | Robust]:
        loss = {
            k.removeprefix("loss."): v for k, v in self.settings.items() if k.startswith("loss.")
        }
        if "margin" in self.settings:
            loss["margin"] = self.settings["margin"]
        if self.head.kind == "rows":
            parts = [ball(n[2:], self.settings[n]) for n in ("w.l2", "w.l1") if n in self.settings]
            w = functools.reduce(operator.and_, parts) if parts else L2(1.0)
            pooled = self.head.dense is not None and self.m.find(f"W_{self.head.dense}")
            where = "the pooler's output" if pooled else "one row"
            self._say("readout", f"no logits are stored: one number from {where}, {w} of w")
            row = "cls" if pooled or self.head.only or self.head.row == "last" else self.head.row
            return Readout(w, row), read_loss(loss)
        W, V, stored = self._logits()
        for name in ("w.l2", "w.l1"):
            if name in self.settings:
                expected = f"no readout, since the checkpoint has a head ({stored})"
                raise InputError(name, expected, self.settings[name], f"leave {name} out")
        if not loss and V > 1:
            loss = {"clip": math.log(V)}
        elif "margin" in loss and V > 1:
            loss["multiclass"] = True
        row = {"any": "one masked token", "last": "the last token"}.get(self.head.row)
        self._say("output", f"{V} logits of {row or f'the {self.head.row} row'}", Status.CHECKED)
        b = self.m.find("b_cls" if self.head.kind == "classes" else "b_out")
        bias = None if b is None else constraint(b, ("linf", "fro"))
        cap = self.arch.logit_cap if self.head.kind == "language" else None
        return Logits(V, W, b=bias, cap=cap), read_loss(loss)

    def _of_width(self, row: MatrixRow) -> MatrixRow:
        """The matrix, refused if it does not fit the rows that come to it."""
        if row.shape[0] != self.width:
            expected = f"{row.role} for rows of width {self.width}"
            raise InputError(f"{self.source}: tensor {row.source}", expected, row.shape[0])
        return row

    def _logits(self) -> tuple[Constraint, int, str]:
        """The matrix that gives the logits, how many there are, and the name of its tensor."""
        norms = ("op", "fro", "col2inf")
        out = self.m.find("W_cls" if self.head.kind == "classes" else "W_out")
        if out is not None:
            return constraint(self._of_width(out), norms), out.shape[1], out.source
        table, tie = self.m.row("W_E"), None if "X.row2inf" in self.settings else "E"
        if table.shape[1] != self.width:
            expected = f"rows of width {self.width}, as the logits read"
            raise InputError(f"{self.source}: tensor {table.source}", expected, table.shape[1])
        turned = constraint(table, norms, turned=True, tie=tie)
        return turned, table.shape[0], f"{table.source}, tied"

    # -- what it rests on ----------------------------------------------------------------------

    def _common(self) -> list[Assumption]:
        declared, checked = Status.DECLARED, Status.CHECKED
        assumptions = [
            Assumption("norms", "certified upper ends of the stored weights", checked),
            Assumption("arithmetic", "the network computes with real numbers", declared),
            Assumption(
                "dropout", "off: the network that is bounded is the one at inference", declared
            ),
        ]
        if self.arch.eps is not None and self.m.find("ln_1.gain", 0) is not None:
            kind = "RMSNorm" if self.arch.rms else "LayerNorm"
            slope = f"slope at most ‖g‖_∞/√ε = {1 / math.sqrt(self.arch.eps):.3g}·‖g‖_∞"
            assumptions.append(
                Assumption("norm layers", f"{kind}, ε = {self.arch.eps:g}: {slope}", declared)
            )
        if self.arch.sigma is not None and self.m.find("W_1", 0) is not None:
            σ = activation(self.arch.sigma)
            assumptions.append(
                Assumption("activation", f"{σ.name}, {σ.lipschitz:g}-Lipschitz", checked)
            )
        fixed = [name for name in FACTORS if getattr(self.arch, name) not in (None, 1.0)]
        if fixed:
            text = ", ".join(f"{name} {getattr(self.arch, name):g}" for name in fixed)
            assumptions.append(Assumption("config", f"fixed before the data: {text}", declared))
        if self.m.assumed:
            assumptions.append(Assumption("layout", self.m.assumed, declared))
        other = unused_roles(self.m, self.head)
        skipped = [use.name for use in self.m.tensors if not use.used]
        skipped += [self.m.row(role).source for role in other]
        if skipped:
            text = f"not part of it: {skipped[0]}"
            text += f" and {len(skipped) - 1} more tensors" if len(skipped) > 1 else ""
            assumptions.append(Assumption("network", text, declared))
        if self.m.init is not None:
            assumptions.append(
                Assumption("initial weights", "fixed before the data were seen", declared)
            )
        return assumptions

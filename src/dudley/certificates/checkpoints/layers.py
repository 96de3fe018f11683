"""The network of a plan as tables of a network file, and the roles of its weights in their order.

A layer is a table (`dudley.networks.files`) whose weights are ``"free"``, with the roles of its
weights as its node lists them. Attention: W_Q, W_K, W_v, W_c, then biases, then gains of queries
and keys. A block before whose parts the norms stand has the norm first, the other kind last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dudley.certificates.checkpoints.plan import CheckpointPlan
from dudley.core.errors import InputError

RolePlace = tuple[str, int | None]
FREE = "free"


@dataclass(frozen=True)
class LayerTable:
    """One table and the roles of its weights."""

    table: dict[str, Any]
    roles: tuple[RolePlace, ...]


def layers_of(plan: CheckpointPlan) -> list[LayerTable]:
    """Every layer, from the inputs to the logits."""
    made = [*_entrance(plan)]
    made += [_block(plan, i) for i in range(plan.tensors.layers)]
    if plan.stored("ln_f.gain"):
        made.append(_norm(plan, "ln_f"))
    return [*made, *_exit(plan)]


def _entrance(plan: CheckpointPlan) -> list[LayerTable]:
    made: list[LayerTable] = []
    inputs = plan.architecture.inputs
    if inputs == "tokens" and plan.shape("W_E") is not None:
        bias = plan.stored("W_S")  # the first segment's row
        made.append(_dense(plan, "W_E", bias[0] if bias else None))
    elif inputs == "patches" and plan.shape("W_patch") is not None:
        made.append(_dense(plan, "W_patch", *plan.stored("b_patch")))
    places = plan.shape("P")
    if places is not None:
        table = {"node": "positions", "T": places[0], "P": FREE}
        made.append(LayerTable(table | {"trained": True}, (("P", None),)))
    return [*made, _norm(plan, "ln_E")] if plan.stored("ln_E.gain") else made


def _exit(plan: CheckpointPlan) -> list[LayerTable]:
    output, made = plan.output, list[LayerTable]()
    if output.row != "last":
        made.append(LayerTable({"node": "pool", "how": output.row}, ()))
    if output.dense is not None:
        W, b = f"W_{output.dense}", plan.stored(f"b_{output.dense}")
        layer = _dense(plan, W, *b)
        made.append(LayerTable(layer.table | {"sigma": output.sigma}, layer.roles))
    if output.norm:
        made.append(_norm(plan, "ln_pre"))
    name = "cls" if output.kind == "classes" else "out"
    shape, tied = plan.shape(f"W_{name}"), plan.shape("W_E")
    classes = shape[1] if shape is not None else tied[0] if tied is not None else 0
    table = {"node": "logits", "V": classes, "W": FREE}
    roles: list[RolePlace] = [(f"W_{name}", None)]
    if plan.stored(f"b_{name}"):
        table["b"] = FREE
        roles.append((f"b_{name}", None))
    return [*made, LayerTable(table, tuple(roles))]


def _dense(plan: CheckpointPlan, W: str, b: str | None = None) -> LayerTable:
    shape = plan.shape(W)
    assert shape is not None
    table = {"node": "dense", "k": shape[1], "W": FREE} | ({} if b is None else {"b": FREE})
    return LayerTable(table, ((W, None),) if b is None else ((W, None), (b, None)))


def _norm_table(plan: CheckpointPlan, name: str, layer: int | None) -> dict[str, Any]:
    parts = plan.stored(f"{name}.gain", f"{name}.bias", layer=layer)
    table = {part.rpartition(".")[2]: FREE for part in parts}
    whole = {"node": "layer-norm", "eps": plan.architecture.eps}
    return whole | {"centered": not plan.architecture.rms} | table


def _norm_roles(plan: CheckpointPlan, name: str, layer: int | None = None) -> list[RolePlace]:
    return [(role, layer) for role in plan.stored(f"{name}.gain", f"{name}.bias", layer=layer)]


def _norm(plan: CheckpointPlan, name: str) -> LayerTable:
    return LayerTable(_norm_table(plan, name, None), tuple(_norm_roles(plan, name)))


def _block(plan: CheckpointPlan, i: int) -> LayerTable:
    attention, mixing = _attention(plan, i)
    if plan.shape("W_1", i) is None:
        return LayerTable({"node": "attention"} | attention, tuple(mixing))
    first, second = (_norm_table(plan, f"ln_{j}", i) for j in (1, 2))
    if first != second:
        expected = "both norms with a gain and a bias, or both without"
        raise InputError(f"{plan.source}: layer {i}", expected, "one of each")
    gated = plan.architecture.gated
    names = ("W_1", "W_3", "W_2") if gated else ("W_1", "b_1", "W_2", "b_2")
    present = plan.stored(*names, layer=i)
    hidden = plan.shape("W_1", i)
    assert hidden is not None
    mlp = {"node": "swiglu" if gated else "mlp", "k": hidden[1]} | dict.fromkeys(present, FREE)
    mlp["sigma"] = plan.architecture.sigma
    of_mlp: list[RolePlace] = [(name, i) for name in present]
    norms = [_norm_roles(plan, f"ln_{j}", i) for j in (1, 2)]
    pre = plan.architecture.order == "pre"
    parts = (norms[0], mixing, norms[1], of_mlp) if pre else (mixing, norms[0], of_mlp, norms[1])
    table = {"node": "pre-ln-block" if pre else "post-ln-block", "mlp": mlp, "ln": first}
    return LayerTable(table | attention, tuple(role for part in parts for role in part))


def _attention(plan: CheckpointPlan, i: int) -> tuple[dict[str, Any], list[RolePlace]]:
    arch, d = plan.architecture, plan.shape("W_Q", i)
    assert d is not None
    split = arch.heads(d[0])
    assert split is not None
    H, groups, k = split
    names = plan.stored("W_Q", "W_K", "W_v", "W_c", "b_Q", "b_K", "b_v", "b_c", layer=i)
    table: dict[str, Any] = {"H": H, "groups": groups, "k": k} | dict.fromkeys(names, FREE)
    table |= {"causal": arch.causal, "rope": arch.rope}
    if arch.scales is not None:
        table["score"] = {"scale": arch.scales[i]}
    gains = plan.stored("g_q", "g_k", layer=i)
    if arch.qk_norm:
        table |= {"qk_norm": True, "qk_eps": arch.eps} | ({"qk_gain": FREE} if gains else {})
    return table, [(name, i) for name in (*names, *gains)]

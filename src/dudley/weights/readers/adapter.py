"""LoRA adapters, merged into their base or listed beside it.

An adapter keeps two factors for each adapted matrix W, A ∈ R^{r×in} and B ∈ R^{out×r}; the network
that it stands for has

    W + s·B·A,   s = α/r, or α/√r with use_rslora,

with (B·A)ᵀ where the base stores W transposed (fan_in_fan_out, and embeddings). Tensors that an
adapter holds whole (modules_to_save, biases) replace those of the base. `rank_pattern` and
`alpha_pattern` are followed where their keys are plain names. What changes the meaning of the
factors is refused when merging: DoRA, biases inside the factors, and initialisations that rewrite
the base (PiSSA, OLoRA, LoftQ, CorDA).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from dudley.core.boundary.refusal import refusal
from dudley.weights.named_tensors import Weights
from dudley.weights.readers.beside import Beside
from dudley.weights.readers.merged import Merged, Update

ROOT = "base_model.model."
FACTOR = re.compile(
    r"(?P<module>.+)\.lora_(?P<table>embedding_)?(?P<side>[AB])(?P<weight>\.weight)?"
)
PLAIN_START = (True, False, None, "gaussian")


def is_adapter(weights: Weights) -> bool:
    """Whether these are the tensors of a LoRA adapter."""
    return "peft_type" in weights.config or any("lora_" in name for name in weights.names())


def beside(adapter: Weights, base: Weights) -> Weights:
    """Base and adapter as they are stored, listed one after the other."""
    return Beside(base, adapter)


def merge(adapter: Weights, base: Weights) -> Weights:
    """The base with W + s·B·A in the place of every adapted W."""
    config = adapter.config
    _check_config(adapter)
    factors: dict[str, dict[str, str]] = {}
    replaced: dict[str, str] = {}
    for name in adapter.names():
        if match := FACTOR.fullmatch(name.removeprefix(ROOT)):
            if bool(match["table"]) == bool(match["weight"]):
                raise _unknown(adapter, name)
            sides = factors.setdefault(match["module"], {"table": match["table"] or ""})
            sides[match["side"]] = name
        elif "lora_" in name:
            raise _unknown(adapter, name)
        else:
            target = _target(base, name.removeprefix(ROOT))
            replaced[target or name.removeprefix(ROOT)] = name
    if adapter.skipped:
        name, why = next(iter(adapter.skipped.items()))
        raise refusal(adapter.source, "an adapter whose tensors are all known", why, name)
    updates: dict[str, Update] = {}
    for module, sides in factors.items():
        first = sides.get("A") or sides.get("B") or module
        if "A" not in sides or "B" not in sides:
            raise refusal(adapter.source, "both factors, A and B", "one of them", first)
        target = _target(base, f"{module}.weight")
        if target is None:
            expected = f"one tensor {module}.weight in the base {base.source}"
            raise refusal(adapter.source, expected, "none", first)
        updates[target] = _update(adapter, base, target, module, sides, config)
    return Merged(adapter, base, updates, replaced)


def _unknown(adapter: Weights, name: str):
    expected = "the factors lora_A.weight, lora_B.weight, lora_embedding_A, lora_embedding_B alone"
    return refusal(adapter.source, expected, name, name)


def _check_config(adapter: Weights) -> None:
    config, source = adapter.config, adapter.source
    if config.get("peft_type") != "LORA":
        raise refusal(source, "peft_type LORA in adapter_config.json", config.get("peft_type"))
    for key in ("use_dora", "lora_bias", "use_qalora", "target_parameters", "layer_replication"):
        if config.get(key):
            raise refusal(source, f"an adapter without {key}", config[key])
    if (start := config.get("init_lora_weights", True)) not in PLAIN_START:
        raise refusal(source, "init_lora_weights that leaves the base as it is", start)


def _target(base: Weights, name: str) -> str | None:
    """The tensor of the base that a name means: itself, or up to a prefix of the modules."""
    names = base.names()
    if name in names:
        return name
    near = [n for n in names if n.endswith(f".{name}") or name.endswith(f".{n}")]
    if len(near) > 1:
        got = f"{len(near)}: {', '.join(near[:3])}"
        raise refusal(base.source, "one tensor of the base that the adapter means", got, name)
    return near[0] if near else None


def _update(
    adapter: Weights, base: Weights, target: str, module: str, sides: dict[str, str], config: Any
) -> Update:
    A, B = sides["A"], sides["B"]
    (rank, *wide), (out, *inner) = adapter.info(A).shape or (0,), adapter.info(B).shape or (0,)
    if len(wide) != 1 or inner != [rank] or rank == 0:
        got = f"{adapter.info(A).shape} and {adapter.info(B).shape}"
        raise refusal(adapter.source, "factors of shapes (r, in) and (out, r)", got, A)
    stated = _setting(adapter, "r", "rank_pattern", module)
    if stated != rank:
        raise refusal(adapter.source, f"rank {stated}, as in adapter_config.json", rank, A)
    alpha = _setting(adapter, "lora_alpha", "alpha_pattern", module)
    scale = alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)
    transposed = bool(sides["table"]) or bool(config.get("fan_in_fan_out"))
    shape = (wide[0], out) if transposed else (out, wide[0])
    if base.info(target).shape != shape:
        got = f"{base.info(target).shape}"
        raise refusal(base.source, f"shape {shape}, that of the adapter's product", got, target)
    return Update(A, B, rank, scale, transposed)


def _setting(adapter: Weights, key: str, patterns: str, module: str) -> float:
    """`r` or `lora_alpha` of a module: by the first pattern that fits its name, else for all."""
    config = adapter.config
    value, chosen = config.get(key), config.get(patterns) or {}
    if not isinstance(chosen, Mapping):
        raise refusal(adapter.source, f"{patterns} from names to numbers", chosen)
    for pattern, number in chosen.items():
        # A pattern is a regular expression to peft; only names, whose dot fits any letter, are run.
        if not re.fullmatch(r"[\w.]+", pattern):
            raise refusal(adapter.source, f"{patterns} with plain names", pattern)
        if re.fullmatch(rf"(.*\.)?{pattern}", module):
            value = number
            break
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**53:
        raise refusal(adapter.source, f"a number {key} > 0 in adapter_config.json", value)
    return value

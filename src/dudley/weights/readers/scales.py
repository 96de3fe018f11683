"""Which convention an eight-bit matrix was stored by, told from the tensors beside it.

Known, for a matrix NAME = MODULE.weight with one row for each output:

- bitsandbytes int8: MODULE.SCB of one scale a row, W = q·SCB/127; a MODULE.weight_format other
  than 0 (row-major) is not known;
- int8, uint8 or 8-bit floats with scale and zero point, W = (q − z)·s: NAME.scale, NAME_scale or
  MODULE.scale, and NAME.zero_point, NAME_zero_point or MODULE.zero_point. One number each, or one
  a row ((rows,) or (rows, 1)). The zero point is 0 if absent, except for uint8, which needs one;
- 8-bit floats with NAME_scale_inv of one scale a block, W = q·s; the sides of a block are
  ``weight_block_size`` under ``quantization_config`` of the config.

The scales are listed as skipped ("scales of …"). A matrix of eight-bit integers under any other
convention is skipped with the reason: its numbers are not the weights. So are the packed integers
of GPTQ, AWQ and compressed-tensors and the four-bit codes of bitsandbytes, by name
(`packed_format`): where the weights are such, `measure` refuses the checkpoint. An 8-bit float
matrix without any scale is handed out as it is.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from dudley.weights.named_tensors import TensorInfo, Weights

INTEGERS = ("int8", "uint8")
SCALES = ("float16", "bfloat16", "float32", "float64")
# Activations are scaled at run time; these do not change the weights.
ACTIVATIONS = ("input_scale", "output_scale", "input_zero_point", "output_zero_point")
PACKED = ("qweight", "qzeros", "g_idx", "weight_packed")
TELLING = ("scale", "absmax", "quant")
PACKING = "packed: "  # how the reason of such a tensor begins


@dataclass(frozen=True)
class Scaling:
    """Where the scale and the zero point of a matrix lie; the product is divided by `divisor`."""

    scale: str
    zero: str | None = None
    divisor: int = 1
    block: tuple[int, int] | None = None  # one scale for each block of these sides


def find_scalings(inner: Weights) -> tuple[dict[str, Scaling], dict[str, str]]:
    """Matrix ↦ scaling where one is known; tensor ↦ reason for what is not handed out."""
    beside = _Siblings(inner)
    scalings: dict[str, Scaling] = {}
    skipped: dict[str, str] = {}
    for name in inner.names():
        info = inner.info(name)
        if packed := packed_format(name, beside.names):
            skipped[name] = f"{PACKING}{packed}"
            continue
        if len(info.shape) < 2 or not (info.dtype in INTEGERS or info.dtype.startswith("float8")):
            continue
        scaling = _scaling(inner, info, beside)
        if isinstance(scaling, Scaling) and len(info.shape) > 2:
            scaling = f"{info.dtype} with {len(info.shape)} dimensions: only matrices are known"
        if isinstance(scaling, Scaling):
            scalings[name] = scaling
            form = f"{name.removesuffix('weight')}weight_format"
            for companion in (scaling.scale, scaling.zero, form):
                if companion in beside.names:
                    skipped[companion] = f"scales of {name}"
        elif scaling:
            skipped[name] = scaling
    return scalings, skipped


def packed_format(name: str, names: set[str]) -> str:
    """Which format a tensor of packed integers or codes is of; empty if it is none.

    >>> packed_format("q.qweight", {"q.qweight", "q.qzeros", "q.scales", "q.g_idx"})
    'integers of GPTQ'
    """
    module, _, last = name.rpartition(".")
    prefix = f"{module}." if module else ""
    if last in PACKED or (last == "scales" and f"{prefix}qweight" in names):
        if last == "weight_packed":
            return "integers of compressed-tensors"
        return "integers of GPTQ" if f"{prefix}g_idx" in names else "integers of AWQ or GPTQ"
    for kind in ("nf4", "fp4"):
        whole = name.partition(".weight")[0] + ".weight" if ".weight" in name else name
        if f"{whole}.quant_state.bitsandbytes__{kind}" in names:
            return f"{kind} codes of bitsandbytes"
    return ""


class _Siblings:
    """The tensors whose names say that they belong to another one."""

    def __init__(self, inner: Weights):
        self.names = set(inner.names())
        self._sorted = sorted(self.names)
        self._telling: dict[str, list[str]] = defaultdict(list)
        for name in self._sorted:
            module, _, last = name.rpartition(".")
            if any(word in last for word in TELLING):
                self._telling[module].append(name)

    def odd(self, name: str, known: set[str]) -> str | None:
        """A sibling that tells of a quantisation and is not among the known ones."""
        module, _, last = name.rpartition(".")
        for start in (f"{name}.", f"{name}_"):
            at = bisect.bisect_left(self._sorted, start)
            for other in self._sorted[at : at + 8]:
                if other.startswith(start) and other not in known and _telling(other, name):
                    return other
        near = self._telling[module] if last == "weight" else ()
        return next((n for n in near if n not in known and n != name), None)


def _telling(other: str, name: str) -> bool:
    return any(word in other[len(name) :] for word in TELLING)


def _scaling(inner: Weights, info: TensorInfo, beside: _Siblings) -> Scaling | str:
    """The convention of an eight-bit matrix, or why none is known; "" for a float without one."""
    name, dtype = info.name, info.dtype
    module, _, last = name.rpartition(".")
    prefix, weight = f"{module}." if module else "", last == "weight"
    scb, form = f"{prefix}SCB", f"{prefix}weight_format"
    if weight and scb in beside.names:
        if dtype != "int8":
            return f"{dtype} with SCB scales: bitsandbytes scales int8"
        if form in beside.names and inner.load(form).reshape(-1).tolist() != [0]:
            return "bitsandbytes int8 in a weight_format that is not row-major"
        return _fitting(inner, info, Scaling(scb, None, 127))
    if dtype.startswith("float8") and f"{name}_scale_inv" in beside.names:
        return _by_block(inner, info, f"{name}_scale_inv")
    scales = [f"{name}.scale", f"{name}_scale"] + [f"{prefix}scale"] * weight
    zeros = [f"{name}.zero_point", f"{name}_zero_point"] + [f"{prefix}zero_point"] * weight
    known = {*scales, *zeros, *(prefix + a for a in ACTIVATIONS)}
    if odd := beside.odd(name, known):
        return f"{dtype} with {odd}: a convention that is not known"
    scale = [n for n in scales if n in beside.names]
    zero = [n for n in zeros if n in beside.names]
    if len(scale) > 1 or len(zero) > 1:
        return f"{dtype} with several scales: {', '.join(scale + zero)}"
    if not scale:
        return f"{dtype} without a scale" if dtype in INTEGERS or zero else ""
    if zero and dtype not in INTEGERS:
        return f"{dtype} with a zero point: a convention that is not known"
    if dtype == "uint8" and not zero:
        return "uint8 with a scale and no zero point: 0 and 128 are both in use"
    return _fitting(inner, info, Scaling(scale[0], zero[0] if zero else None))


def _by_block(inner: Weights, info: TensorInfo, scale: str) -> Scaling | str:
    """Scales by block, if the config says how large a block is and the scales are that many."""
    settings = (inner.config or {}).get("quantization_config")
    sides = settings.get("weight_block_size") if isinstance(settings, Mapping) else None
    sides = sides if isinstance(sides, list) and len(sides) == 2 else [0, 0]
    if not all(type(side) is int and side >= 1 for side in sides):
        return f"{info.dtype} with {scale}, and no weight_block_size of two sides in the config"
    wanted = tuple(-(-a // b) for a, b in zip(info.shape, sides, strict=False))
    stored = inner.info(scale)
    if len(info.shape) != 2 or stored.shape != wanted or stored.dtype not in SCALES:
        return f"{info.dtype} with {scale}: {stored.dtype} of shape {stored.shape}, not {wanted}"
    return Scaling(scale, block=(sides[0], sides[1]))


def _fitting(inner: Weights, info: TensorInfo, scaling: Scaling) -> Scaling | str:
    """The scaling, if its numbers are one for the matrix or one a row."""
    rows = info.shape[0]
    if (kind := inner.info(scaling.scale).dtype) not in SCALES:
        return f"{info.dtype} with {kind} scales: expected one of {', '.join(SCALES)}"
    for companion in filter(None, (scaling.scale, scaling.zero)):
        shape = inner.info(companion).shape
        if math.prod(shape) != 1 and shape not in {(rows,), (rows, 1)}:
            return f"{info.dtype} with {companion} of shape {shape}: neither one nor one a row"
    return scaling

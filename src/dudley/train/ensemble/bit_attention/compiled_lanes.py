"""Vectors in registers for functions that numba compiles: ``LANES`` float32 or 32-bit words each.

Numba leaves it to LLVM to find loops that may run on vectors, and LLVM unrolls short ones instead
and keeps no block of sums in registers. Here a vector is a type of its own, and what is done with
it is one instruction, or a few. Products and sums may fuse (one rounding instead of two), and
nothing else is rearranged: a compiled function rounds the same way every time.

    load(x, i), store(x, i, v)   LANES neighbours of a flat array, from place i
    each(x, i)                   x[i] in every lane
    floats(c), words(c)          a number in every lane; words are modulo 2³²
    numbers(n)                   n, n + 1, …
    + - * ^ &                    lane by lane; of floats the first three
    right(v, n), left(v, n)      words shifted
    keep(v, least, x)            x where the word v is at least ``least``, else 0
    larger(x, y)                 x where x > y, else y: what is no number in y stays
    bits_of(x), of_bits(v)       the same bits, as words or as floats
    total(x)                     the sum of the lanes, always in the same order
    zip_low(x, y), zip_high(x, y)  x₀ y₀ x₁ y₁ …, the first LANES of them or the rest

No place is checked, and a negative one does not count from the end.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin
from numba.core.typing import signature
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic

FEATURES = llvm.get_host_cpu_features()
LANES = 16 if FEATURES.get("avx512f") else 8 if FEATURES.get("avx2") else 4
FLOAT, WORD = ir.FloatType(), ir.IntType(32)
FUSING = ("contract",)


class Vector(types.Type):
    """So many lanes of one kind of element."""

    def __init__(self, name: str, element: ir.Type):
        super().__init__(f"{name}[{LANES}]")
        self.vector = ir.VectorType(element, LANES)


FLOATS, WORDS = Vector("floats", FLOAT), Vector("words", WORD)


@register_default(Vector)
class VectorModel(models.PrimitiveModel):
    """A vector is a vector of LLVM, wherever it stands."""

    def __init__(self, manager, kind: Vector):
        super().__init__(manager, kind, kind.vector)


def _instruction(symbol, make: Callable, *signatures) -> None:
    """What is compiled where ``symbol`` is called with arguments of those types."""

    def code(context, builder, sig, args):
        return make(builder, *args)

    for sig in signatures:
        lower_builtin(symbol, *sig.args)(code)
    fields = {"key": symbol, "cases": list(signatures)}
    infer_global(symbol, types.Function(type(symbol.__name__, (ConcreteTemplate,), fields)))


def _operator(symbol, kind: Vector, make: Callable) -> None:
    _instruction(symbol, make, signature(kind, kind, kind))


def _function(answer, *arguments) -> Callable:
    """A function that is compiled to the instructions which its Python writes."""

    def decorate(make: Callable) -> Callable:
        _instruction(make, make, signature(answer, *arguments))
        return make

    return decorate


for _symbol in (operator.add, operator.iadd):
    _operator(_symbol, FLOATS, lambda b, x, y: b.fadd(x, y, flags=FUSING))
    _operator(_symbol, WORDS, lambda b, x, y: b.add(x, y))
_operator(operator.sub, FLOATS, lambda b, x, y: b.fsub(x, y, flags=FUSING))
_operator(operator.mul, FLOATS, lambda b, x, y: b.fmul(x, y, flags=FUSING))
_operator(operator.mul, WORDS, lambda b, x, y: b.mul(x, y))
_operator(operator.xor, WORDS, lambda b, x, y: b.xor(x, y))
_operator(operator.and_, WORDS, lambda b, x, y: b.and_(x, y))


def _lanes(order) -> ir.Constant:
    return ir.Constant(ir.VectorType(WORD, len(order)), list(order))


def _everywhere(builder, x):
    none = ir.Constant(ir.VectorType(x.type, LANES), ir.Undefined)
    return builder.shuffle_vector(
        builder.insert_element(none, x, WORD(0)), none, _lanes([0] * LANES)
    )


def _place(context, builder, kind, array, i):
    return builder.gep(context.make_array(kind)(context, builder, array).data, [i])


def _kind(array) -> Vector:
    return FLOATS if array.dtype == types.float32 else WORDS


@intrinsic
def load(_, x, i):
    kind = _kind(x)

    def code(context, builder, sig, args):
        place = _place(context, builder, sig.args[0], *args)
        return builder.load(builder.bitcast(place, kind.vector.as_pointer()), align=4)

    return kind(x, types.int64), code


@intrinsic
def store(_, x, i, v):
    def code(context, builder, sig, args):
        place = _place(context, builder, sig.args[0], *args[:2])
        builder.store(args[2], builder.bitcast(place, args[2].type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(x, types.int64, v), code


@intrinsic
def each(_, x, i):
    def code(context, builder, sig, args):
        return _everywhere(builder, builder.load(_place(context, builder, sig.args[0], *args)))

    return _kind(x)(x, types.int64), code


@_function(FLOATS, types.float32)
def floats(builder, x):
    return _everywhere(builder, x)


@_function(WORDS, types.int64)
def words(builder, n):
    return _everywhere(builder, builder.trunc(n, WORD))


@_function(WORDS, types.int64)
def numbers(builder, n):
    return builder.add(_everywhere(builder, builder.trunc(n, WORD)), _lanes(range(LANES)))


@_function(WORDS, WORDS, types.int64)
def right(builder, v, n):
    return builder.lshr(v, _everywhere(builder, builder.trunc(n, WORD)))


@_function(WORDS, WORDS, types.int64)
def left(builder, v, n):
    return builder.shl(v, _everywhere(builder, builder.trunc(n, WORD)))


@_function(FLOATS, WORDS, WORDS, FLOATS)
def keep(builder, v, least, x):
    nothing = ir.Constant(FLOATS.vector, [0.0] * LANES)
    return builder.select(builder.icmp_unsigned(">=", v, least), x, nothing)


@_function(FLOATS, FLOATS, FLOATS)
def larger(builder, x, y):
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


@_function(WORDS, FLOATS)
def bits_of(builder, x):
    return builder.bitcast(x, WORDS.vector)


@_function(FLOATS, WORDS)
def of_bits(builder, v):
    return builder.bitcast(v, FLOATS.vector)


@_function(types.float32, FLOATS)
def total(builder, x):
    half = LANES // 2
    while half:
        first, second = _lanes(range(half)), _lanes(range(half, 2 * half))
        x = builder.fadd(builder.shuffle_vector(x, x, first), builder.shuffle_vector(x, x, second))
        half //= 2
    return builder.extract_element(x, WORD(0))


def _zipped(builder, x, y, start):
    return builder.shuffle_vector(
        x, y, _lanes([start + j // 2 + j % 2 * LANES for j in range(LANES)])
    )


@_function(FLOATS, FLOATS, FLOATS)
def zip_low(builder, x, y):
    return _zipped(builder, x, y, 0)


@_function(FLOATS, FLOATS, FLOATS)
def zip_high(builder, x, y):
    return _zipped(builder, x, y, LANES // 2)

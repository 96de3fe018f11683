"""Attention of the [CLS] row over bits on a processor, in functions that numba compiles.

Example after example, so that its rows stay in cache, in vectors of `compiled_lanes`. Buffers are
flat; a row of D coordinates lies in them as two halves, each padded with zeros to a multiple of
16, as masks come in pairs (j, j + D/2); heads come in groups of 16. Rows x are centred and not
scaled: what is read from row t, or goes into it, is multiplied by r_t = 1/σ_t instead.

    forward   s = r ∘ x kᵀ,   a = κ' softmax(s),   mixed = (r ∘ a)ᵀ x
    backward  ∂a = κ'(r ∘ x gᵀ + ∂mass),   ∂s = log 2 · a ∘ (∂a − ⟨a, ∂a⟩),
              ∂k = (r ∘ ∂s)ᵀ x,   y = r ∘ (a g + ∂s k),   ∂u_t = y − mean(y) − r² ⟨y, x⟩/D · x

of which ``rows`` makes x and r, ``soften`` the weights, ``slopes`` both gradients of weights, and
``pull_rows`` the last line; a in the backward pass before κ'. Nothing but two numbers for each
example and head is kept from one pass to the other.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dudley.train.ensemble.bit_attention.compiled_lanes import (
    LANES,
    bits_of,
    each,
    floats,
    keep,
    larger,
    left,
    load,
    numbers,
    of_bits,
    right,
    store,
    total,
    words,
    zip_high,
    zip_low,
)
from dudley.train.ensemble.bit_attention.plain import LN_EPS

# Numba keeps compiled code beside this file until the file changes, and does not look at others.
LANES_SHA256 = "a0bc773112aaf767191d4f7e9e95a6665b09b709527cd48d15ea5e31260df59b"

GROUP = 16  # heads that are read together
F = np.float32
NONE, LEAST, EPS, LOG2 = F(0), F(-np.inf), F(LN_EPS), F(math.log(2.0))
LOW = 0xFFFF  # the mask of the low half of a word
# 2^f on [−½, ½] to a relative error of 1e-7; adding ROUND leaves the nearest integer in low bits.
C0, C1, C2, C3, C4, C5, C6 = (
    F(c)
    for c in (
        1.0,
        6.931472028550421e-1,
        2.402264791363012e-1,
        5.550332471162809e-2,
        9.618437357674640e-3,
        1.339887440266574e-3,
        1.535336188319500e-4,
    )
)
ROUND, SMALLEST = F(1.5 * 2**23), F(-125.0)
inner = njit(nogil=True, error_model="numpy")


@inner
def power_of_two(x):
    """2^x for x ≤ 0, and 2^−125 below; 1 above, where rounding may take huge scores."""
    x = floats(NONE) - larger(floats(NONE), floats(NONE) - larger(floats(SMALLEST), x))
    shifted = x + floats(ROUND)
    f = x - (shifted - floats(ROUND))
    p = floats(C5) + floats(C6) * f
    p = floats(C4) + p * f
    p = floats(C3) + p * f
    p = floats(C2) + p * f
    p = floats(C1) + p * f
    p = floats(C0) + p * f
    return of_bits(bits_of(p) + left(bits_of(shifted), 23))


@inner
def hashed(x, r0, r1):
    """`masks.hash_numbers`."""
    x = x * words(0x9E3779B1) + r0
    x = (x ^ right(x, 16)) * words(0x85EBCA6B)
    x = (x ^ right(x, 13) ^ r1) * words(0xC2B2AE35)
    return x ^ right(x, 16)


@inner
def multiply(c, i, c_row, a, j, a_row, a_column, b, k, b_row, n, width, depth):
    """C = A B: n rows, a multiple of 4, and ``width`` columns, a multiple of 2 LANES.

    Blocks of 4 rows and 2 LANES columns of sums in registers; i, j and k are where each matrix
    begins.
    """
    for _ in range(n // 4):
        for column in range(0, width, 2 * LANES):
            x0 = x1 = x2 = x3 = y0 = y1 = y2 = y3 = floats(NONE)
            at, row = j, k + column
            for _ in range(depth):
                x, y = load(b, row), load(b, row + LANES)
                s = each(a, at)
                x0, y0 = x0 + s * x, y0 + s * y
                s = each(a, at + a_row)
                x1, y1 = x1 + s * x, y1 + s * y
                s = each(a, at + 2 * a_row)
                x2, y2 = x2 + s * x, y2 + s * y
                s = each(a, at + 3 * a_row)
                x3, y3 = x3 + s * x, y3 + s * y
                at, row = at + a_column, row + b_row
            at = i + column
            store(c, at, x0)
            store(c, at + LANES, y0)
            store(c, at + c_row, x1)
            store(c, at + c_row + LANES, y1)
            store(c, at + 2 * c_row, x2)
            store(c, at + 2 * c_row + LANES, y2)
            store(c, at + 3 * c_row, x3)
            store(c, at + 3 * c_row + LANES, y3)
        i, j = i + 4 * c_row, j + 4 * a_row


@inner
def multiply_narrow(c, i, c_row, a, a_row, b, k, b_row, n, width, depth):
    """The same by blocks of 8 rows and LANES columns."""
    j = 0
    for _ in range(n // 8):
        for column in range(0, width, LANES):
            x0 = x1 = x2 = x3 = x4 = x5 = x6 = x7 = floats(NONE)
            at, row = j, k + column
            for _ in range(depth):
                x = load(b, row)
                x0 += each(a, at) * x
                x1 += each(a, at + a_row) * x
                x2 += each(a, at + 2 * a_row) * x
                x3 += each(a, at + 3 * a_row) * x
                x4 += each(a, at + 4 * a_row) * x
                x5 += each(a, at + 5 * a_row) * x
                x6 += each(a, at + 6 * a_row) * x
                x7 += each(a, at + 7 * a_row) * x
                at, row = at + 1, row + b_row
            at = i + column
            store(c, at, x0)
            store(c, at + c_row, x1)
            store(c, at + 2 * c_row, x2)
            store(c, at + 3 * c_row, x3)
            store(c, at + 4 * c_row, x4)
            store(c, at + 5 * c_row, x5)
            store(c, at + 6 * c_row, x6)
            store(c, at + 7 * c_row, x7)
        i, j = i + 8 * c_row, j + 8 * a_row


@inner
def zip_halves(x, i, y, j, n):
    """Both halves of n numbers in turn: the bits of a place rotate by one."""
    for l in range(0, n // 2, LANES):
        low, high = load(x, i + l), load(x, i + n // 2 + l)
        store(y, j + 2 * l, zip_low(low, high))
        store(y, j + 2 * l + LANES, zip_high(low, high))


@inner
def turn(x, i, y, j, spare, count, width):
    """``count`` rows as columns, for 16 or 32: (count, width) to (width, count).

    A place is a row's number and then a column's, in bits; after log₂(count) rotations the row's
    number stands last.
    """
    n = count * width
    if count == 2 * GROUP:
        zip_halves(x, i, y, j, n)
        zip_halves(y, j, spare, 0, n)
    else:
        zip_halves(x, i, spare, 0, n)
    zip_halves(spare, 0, y, j, n)
    zip_halves(y, j, spare, 0, n)
    zip_halves(spare, 0, y, j, n)


@inner
def copy_rows(x, i, x_row, y, j, y_row, n, width):
    for _ in range(n):
        for l in range(0, width, LANES):
            store(y, j + l, load(x, i + l))
        i, j = i + x_row, j + y_row


@inner
def rows(x, r, bits, base, lift, real, T, D, width, S, r0, r1, p):
    """Rows with their dropped coordinates, centred; 1/σ. ``real`` is 0 where a row is padded."""
    r0, r1, p, half = words(r0), words(r1), words(p), width // 2
    for t in range(T + 1):
        at, bit, sums = t * width, each(bits, t), floats(NONE)
        for l in range(0, half, LANES):
            h = hashed(numbers(S * t + l), r0, r1)
            u = load(base, at + l) + bit * load(lift, l)
            v = load(base, at + half + l) + bit * load(lift, half + l)
            u, v = keep(h & words(LOW), p, u), keep(right(h, 16), p, v)
            store(x, at + l, u)
            store(x, at + half + l, v)
            sums += u + v
        r[t] = total(sums) / F(D)
    for t in range(T + 1):
        at, mean, squares = t * width, each(r, t), floats(NONE)
        for l in range(0, width, LANES):
            u = (load(x, at + l) - mean) * load(real, l)
            squares += u * u
            store(x, at + l, u)
        r[t] = total(squares)
    for t in range(T + 1):
        r[t] = F(1) / np.sqrt(r[t] / F(D) + EPS)


@inner
def soften(s, r, most, sums, mass, at, heads, T, S, first, r0, r1, p):
    """Scores to weights before division by their sum, thinned and times r; ``at``: of the example.

    ``most`` and ``sums``, of the example's heads, are what the backward pass needs.
    """
    r0, r1, p = words(r0), words(r1), words(p)
    for l in range(0, heads, LANES):
        largest = floats(LEAST)
        for t in range(T + 1):
            x = load(s, t * heads + l) * each(r, t)
            largest = larger(largest, x)
            store(s, t * heads + l, x)
        whole = share = floats(NONE)
        for t in range(T + 1):
            a = power_of_two(load(s, t * heads + l) - largest)
            whole += a
            a = keep(hashed(numbers(S * t + first + l), r0, r1) & words(LOW), p, a)
            share += a
            store(s, t * heads + l, a * each(r, t))
        store(most, at + l, largest)
        store(sums, at + l, whole)
        store(mass, at + l, share)


@inner
def slopes(s, r, most, scale, d_mass, at, heads, T, S, first, r0, r1, p, factor):
    """(s, ∂a) of every group side by side to (r ∂s, r a), a with its dropout."""
    r0, r1, p, factor = words(r0), words(r1), words(p), floats(factor)
    for l in range(0, heads, LANES):
        place = l // GROUP * GROUP + l  # of s; that of ∂a is GROUP further
        largest, inverse, pull = load(most, at + l), load(scale, at + l), load(d_mass, at + l)
        mean = floats(NONE)
        for t in range(T + 1):
            i, sigma = 2 * heads * t + place, each(r, t)
            a = power_of_two(load(s, i) * sigma - largest) * inverse
            d_a = (load(s, i + GROUP) * sigma + pull) * factor
            d_a = keep(hashed(numbers(S * t + first + l), r0, r1) & words(LOW), p, d_a)
            mean += a * d_a
            store(s, i, a)
            store(s, i + GROUP, d_a)
        for t in range(T + 1):
            i, sigma = 2 * heads * t + place, each(r, t)
            a, d_a = load(s, i), load(s, i + GROUP)
            store(s, i, floats(LOG2) * sigma * a * (d_a - mean))
            h = hashed(numbers(S * t + first + l), r0, r1) & words(LOW)
            store(s, i + GROUP, keep(h, p, a * factor) * sigma)


@inner
def pull_rows(y, x, r, bits, d_base, d_lift, t, n, D, width, S, r0, r1, p):
    """Adds ∂u of rows t to t + n − 1, through their masks, to the gradients of what made them."""
    r0, r1, p, half, share = words(r0), words(r1), words(p), width // 2, floats(F(1) / F(D))
    for j in range(n):
        at, i, sums, along = (t + j) * width, j * width, floats(NONE), floats(NONE)
        for l in range(0, width, LANES):
            d_z = load(y, i + l)
            sums += d_z
            along += d_z * load(x, at + l)
        bit, sigma = each(bits, t + j), each(r, t + j)
        mean = floats(total(sums)) * share
        slope = floats(total(along)) * share * sigma * sigma
        for l in range(0, half, LANES):
            h = hashed(numbers(S * (t + j) + l), r0, r1)
            u = load(y, i + l) - mean - load(x, at + l) * slope
            v = load(y, i + half + l) - mean - load(x, at + half + l) * slope
            u, v = keep(h & words(LOW), p, u), keep(right(h, 16), p, v)
            store(d_base, at + l, load(d_base, at + l) + u)
            store(d_base, at + half + l, load(d_base, at + half + l) + v)
            store(d_lift, l, load(d_lift, l) + bit * u)
            store(d_lift, half + l, load(d_lift, half + l) + bit * v)


@inner
def unpack_bits(inputs, i, bits):
    for t in range(len(bits) - 1):
        bits[t] = F((inputs[i, t >> 5] >> (t & 31)) & 1)


def outer(function):
    """Compiled at the first call of all, and read from where numba keeps it at later ones."""
    try:
        return njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # no folder can be written to
        return inner(function)


@outer
def forward(
    base, lift, real, K, inputs, noise, T, D, H, M, width, drop_rows, drop_weights, factor,
    mixed, mass, most, scale,
):  # fmt: skip
    """One trial: base (T+1, width), lift (width), K and mixed (H, M, width), flat; words of inputs
    and of noise of its m examples; mass, most and scale (M, heads), flat, as the backward pass
    wants them."""
    heads, tokens, S = len(most) // M, (T + 8) // 8 * 8, D // 2 + H
    x, r, bits = np.zeros(tokens * width, F), np.empty(T + 1, F), np.zeros(T + 1, F)
    s, out = np.empty(tokens * heads, F), np.empty(heads * width, F)
    k, turned = np.zeros(heads * width, F), np.empty(heads * width, F)
    spare = np.empty(GROUP * width, F)
    for i in range(len(inputs)):
        r0, r1 = noise[i, 0], noise[i, 1]
        unpack_bits(inputs, i, bits)
        rows(x, r, bits, base, lift, real, T, D, width, S, r0, r1, drop_rows)
        copy_rows(K, i * width, M * width, k, 0, width, H, width)
        for h in range(0, heads, GROUP):
            at = h * width
            turn(k, at, turned, at, spare, GROUP, width)
            multiply_narrow(s, h, heads, x, width, turned, at, GROUP, tokens, GROUP, width)
        at = i * heads
        soften(s, r, most, scale, mass, at, heads, T, S, D // 2, r0, r1, drop_weights)
        multiply(out, 0, width, s, 0, 1, heads, x, 0, width, heads, width, T + 1)
        for h in range(H):
            scale[at + h] = F(1) / scale[at + h]
            mass[at + h] *= scale[at + h] * factor
            for l in range(0, width, LANES):
                mean = load(out, h * width + l) * floats(scale[at + h] * factor)
                store(mixed, (h * M + i) * width + l, mean)


@outer
def backward(
    base, lift, real, K, inputs, noise, T, D, H, M, width, drop_rows, drop_weights, factor,
    most, scale, d_mixed, d_mass, d_base, d_lift, d_K,
):  # fmt: skip
    """The gradients of one trial, of which the first two are added to what is there."""
    heads, tokens, S = len(most) // M, (T + 8) // 8 * 8, D // 2 + H
    x, r, bits = np.zeros(tokens * width, F), np.empty(T + 1, F), np.zeros(T + 1, F)
    s, out, y = np.empty(2 * tokens * heads, F), np.empty(heads * width, F), np.empty(4 * width, F)
    both, turned = np.zeros(2 * heads * width, F), np.empty(2 * heads * width, F)
    spare, of_example = np.empty(2 * GROUP * width, F), np.empty(width, F)
    for i in range(len(inputs)):
        r0, r1 = noise[i, 0], noise[i, 1]
        unpack_bits(inputs, i, bits)
        rows(x, r, bits, base, lift, real, T, D, width, S, r0, r1, drop_rows)
        for h in range(0, heads, GROUP):
            n, at = min(GROUP, H - h), 2 * h * width
            here = (h * M + i) * width
            copy_rows(K, here, M * width, both, at, width, n, width)
            copy_rows(d_mixed, here, M * width, both, at + GROUP * width, width, n, width)
            turn(both, at, turned, at, spare, 2 * GROUP, width)
            multiply(
                s, 2 * h, 2 * heads, x, 0, width, 1, turned, at, 2 * GROUP,
                tokens, 2 * GROUP, width,
            )  # fmt: skip
        slopes(
            s, r, most, scale, d_mass, i * heads, heads, T, S, D // 2, r0, r1, drop_weights, factor
        )
        for h in range(0, heads, GROUP):
            multiply(
                out, h * width, width, s, 2 * h, 1, 2 * heads, x, 0, width, GROUP, width, T + 1
            )
        copy_rows(out, 0, width, d_K, i * width, M * width, H, width)
        of_example[:] = 0
        for t in range(0, T + 1, 4):
            multiply(
                y, 0, width, s, 2 * heads * t, 2 * heads, 1, both, 0, width, 4, width, 2 * heads
            )
            pull_rows(
                y, x, r, bits, d_base, of_example, t, min(4, T + 1 - t), D, width, S, r0, r1,
                drop_rows,
            )  # fmt: skip
        for l in range(0, width, LANES):
            store(d_lift, l, load(d_lift, l) + load(of_example, l))

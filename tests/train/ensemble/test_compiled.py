"""Attention compiled for the processor: its parts, when it is taken, and that it is the same bits.

That it computes the formula: `test_bit_attention`.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import training_toy
from attention_cases import CASES, NAMES, Case, answers, by_compiled, by_trial
from dudley.train.ensemble.bit_attention import choose, masks
from dudley.train.trainer import Memory, Trainer

FOLDER = Path(choose.__file__).parent
CASE = CASES["both"]


def test_a_change_of_the_lanes_is_a_change_of_the_kernels():
    """Numba's cache looks at the file of a function alone: write the new digest into it."""
    digest = hashlib.sha256((FOLDER / "compiled_lanes.py").read_bytes()).hexdigest()
    (written,) = re.findall(
        r'LANES_SHA256 = "(\w+)"', (FOLDER / "compiled_kernels.py").read_text(encoding="utf-8")
    )
    assert written == digest


@pytest.mark.parametrize("sharp", [1e6, 1e16])
def test_huge_scores_have_gradients(numba, sharp):
    """The backward pass makes scores again, and may round them above the largest one."""
    outputs = answers(replace(CASE, sharp=sharp), by_compiled, torch.float32)
    assert all(x.isfinite().all() for x in outputs.values())


def test_hashes_and_powers(numba):
    """Hashes bit for bit; powers to a float's last two bits, and what is no number stays so."""
    from numba import njit

    from dudley.train.ensemble.bit_attention import compiled_kernels as kernels
    from dudley.train.ensemble.bit_attention.compiled_lanes import (
        LANES,
        load,
        numbers,
        of_bits,
        store,
        words,
    )

    @njit
    def compute(hashes, x, powers, first, r0, r1):
        for i in range(0, len(x), LANES):
            h = kernels.hashed(numbers(first + i), words(r0), words(r1))
            store(hashes, i, of_bits(h))
            store(powers, i, kernels.power_of_two(load(x, i)))

    x = np.concatenate([np.linspace(-124.5, 0, 1024), np.full(16, -np.inf), np.full(16, np.nan)])
    x = x.astype(np.float32)
    hashes, powers, first = np.empty_like(x), np.empty_like(x), 2**32 - 5
    pair = np.array([[2**32 - 7, 2**31 + 1]], dtype=np.uint32)
    compute(hashes, x, powers, first, *map(int, pair[0]))
    expected = masks.hash_numbers((first + np.arange(len(x))) % 2**32, pair)[0]
    assert np.array_equal(hashes.view(np.uint32), expected)
    assert np.abs(powers[:1024] / np.exp2(x[:1024].astype(float)) - 1).max() < 2.5e-7
    assert (powers[1024:1040] < 1e-37).all() and np.isnan(powers[1040:]).all()


@pytest.fixture
def asked_anew() -> Iterator[None]:
    """Whether functions can be compiled is asked again, within the test and after it."""
    choose.compiled_for_processor.cache_clear()
    yield
    choose.compiled_for_processor.cache_clear()


def same(tensors: dict, others: dict) -> bool:
    return all(tensors[name].equal(others[name]) for name in NAMES)


def test_without_numba_it_goes_trial_by_trial(monkeypatch, asked_anew):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert choose.compiled_for_processor() is None
    chosen = answers(CASE, choose.attend, torch.float32)
    assert same(chosen, answers(CASE, by_trial, torch.float32))


def test_numba_that_compiles_nothing_is_left_alone(numba, monkeypatch, asked_anew):
    from numba import config

    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    assert choose.compiled_for_processor() is None


@pytest.mark.slow
def test_float32_is_compiled_and_float64_is_not(numba):
    ways = {torch.float32: by_compiled, torch.float64: by_trial}
    for dtype, way in ways.items():
        assert same(answers(CASE, choose.attend, dtype), answers(CASE, way, dtype))
    compiled, other = (answers(CASE, way, torch.float32) for way in (by_compiled, by_trial))
    assert not same(compiled, other), "they round in different orders"


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits(numba):
    case, before = Case(counts=(3, 1, 2, 3, 2)), torch.get_num_threads()
    alone = answers(case, by_compiled, torch.float32)
    try:
        torch.set_num_threads(3)
        shared_out = answers(case, by_compiled, torch.float32)
    finally:
        torch.set_num_threads(before)
    assert same(alone, shared_out) and same(alone, answers(case, by_compiled, torch.float32))


@pytest.mark.slow
def test_a_trial_depends_on_no_other_and_what_is_no_number_stays_with_its_trial(numba):
    case = Case(counts=(3, 2, 3))
    whole = answers(case, by_compiled, torch.float32)

    def broken(base, *others):
        poison = torch.zeros_like(base)
        poison[1, 4, 5] = torch.nan
        return by_compiled(base + poison, *others)

    poisoned = answers(case, broken, torch.float32)
    for name in NAMES:
        assert poisoned[name][[0, 2]].equal(whole[name][[0, 2]])
        assert poisoned[name][1].isnan().any(), name


def trained(**sizes) -> np.ndarray:
    """Losses of a few steps of three trials with dropout at every place."""
    model = {"d": 16, "H": 2, "dropout": [0.1, 0.1, 0.1]} | sizes
    Trainer(training_toy.problem((24, 20, 24), model=model), sink := Memory()).run()
    return np.array([metrics["loss"] for _, metrics in sink.points])


@pytest.mark.slow
def test_a_training_is_that_of_trial_by_trial_up_to_rounding(numba, monkeypatch):
    compiled, again = trained(), trained()
    assert np.array_equal(compiled, again)
    monkeypatch.setattr(choose, "compiled_for_processor", lambda: None)
    other = trained()
    assert 0 < np.abs(compiled / other - 1).max() < 1e-4
    assert np.abs(trained(dropout=[0.1, 0.2, 0.1]) / other - 1).max() > 1e-3

"""Kernels of Adam take the steps that torch's operations take, clipped or not, and no others."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

import adam_cases
from adam_cases import CASES
from dudley.train.optimise import choose
from dudley.train.optimise.adam import AdamW
from dudley.train.optimise.clip import Clipped
from dudley.train.optimise.descent import SGD
from each import each


@each("name", CASES)
def test_a_walk_is_torchs(kernels, name):
    """To rounding, from gradients that lie apart, in any order in memory, one of them missing."""
    by_formula, by_kernels = adam_cases.walked(CASES[name]), kernels["adam", name]
    assert by_kernels.keys() == by_formula.keys()
    for part, expected in by_formula.items():
        away = (by_kernels[part] - expected).reshape(adam_cases.E, -1).abs().amax(1)
        largest = expected.reshape(adam_cases.E, -1).abs().amax(1)
        assert (away <= 1e-6 * largest).all(), (part, away / largest)  # 8 roundings of a float32


def test_who_is_finished_stays_bit_by_bit(kernels):
    walked, before = kernels["adam", "clipped adamw"], kernels["adam", "until trial 1 stops"]
    assert walked["step"].tolist() == [3, 2, 3]
    for name, at_its_end in before.items():
        assert walked[name][1].equal(at_its_end[1]), name
        assert not walked[name][0].equal(at_its_end[0]), name


def test_neighbours_do_not_matter(kernels):
    """Bit by bit: trial 0 walks beside one that stops as it does beside one that does not."""
    walked, beside = kernels["adam", "clipped adamw"], kernels["adam", "nothing stops"]
    for name, tensor in walked.items():
        assert tensor[0].equal(beside[name][0]), name
        assert not tensor[1].equal(beside[name][1]), name


def test_a_training_is_the_same(kernels):
    """On one device: what else differs between two is no matter of the optimiser."""
    by_kernels, by_formula = kernels["adam", "trained"], kernels["adam", "trained by formula"]
    assert by_formula["alive"].tolist() == [1, 0, 1] and by_formula["ended"].tolist() == [2, 1, 2]
    assert by_kernels.keys() == by_formula.keys()
    for name, expected in by_formula.items():
        torch.testing.assert_close(by_kernels[name], expected, rtol=1e-5, atol=1e-6, msg=name)


def test_kernels_are_for_adam_on_a_gpu(require):
    require("triton", find_spec("triton") is not None, "Triton is not installed")
    weights, decayed = {"W": torch.zeros(2, 3, 4)}, {"W": True}
    assert choose.kernels_for(AdamW(), weights, decayed) is None
    with adam_cases.taking_kernels():
        clipped = choose.kernels_for(Clipped(AdamW(), 0.5), weights, decayed)
        assert clipped is not None and clipped.limit == 0.5
        for other in (SGD(), Clipped(SGD()), Clipped(Clipped(AdamW()))):
            assert choose.kernels_for(other, weights, decayed) is None


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [False, True])
def test_entries_move_in_float32_and_registers(require, penalty):
    """What Triton makes of it for an H200: nothing is widened, nothing is put into memory."""
    require("triton", find_spec("triton") is not None, "Triton is not installed")
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from dudley.train.optimise.kernels import fused_adam

    constants = {"BLOCK": fused_adam.BLOCK, "EVEN": 4, "G": 21, "F": 2, "PENALTY": penalty}
    kinds = dict.fromkeys(("gradients",), ("*fp32",) * 21) | {"blocks": "*i32", "alive": "*i1"}
    kinds |= dict.fromkeys(("weights", "firsts", "seconds"), ("*fp32",) * 2) | {"count": "i32"}
    kinds |= dict.fromkeys(("new_first", "keep_second", "new_second", "eps", "decay"), "fp32")
    kernel = fused_adam._kernel_move
    names = kernel.arg_names
    signature = {n: "constexpr" if n in constants else kinds.get(n, "*fp32") for n in names}
    constexprs = {(names.index(name),): value for name, value in constants.items()}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constexprs)
    how = {"num_warps": fused_adam.WARPS}
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=how)
    assert "f32" in made.asm["ttir"] and "f64" not in made.asm["ttir"]
    assert ".local" not in made.asm["ptx"]

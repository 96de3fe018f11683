"""What Triton makes of the kernels for an H200: no GPU is needed to compile for one."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NUMBERS, WORDS, FLAGS = "*fp32", "*i32", "*i1"
SUMS = {"words": WORDS, "flipped": FLAGS, **dict.fromkeys(("per_member", "B", "T", "Wd"), "i32")}
READ = {"words": WORDS, "cell": "*i64", "reads": WORDS, "flipped": FLAGS}
KERNELS = {
    "_kernel_read": READ | dict.fromkeys(("N", "T", "Wd"), "i32"),
    "_kernel_sums": SUMS,
    "_kernel_sums_back": SUMS,
}
SIZES = {"H": 2, "D": 64, "C": 2, "BN": 64}


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dot", ["ieee", "tf32"])
def test_nothing_is_computed_in_float64(require, name, dot):
    """A constant that is no float32 widens all that it meets, silently (Triton 3.6)."""
    require("triton", find_spec("triton") is not None, "Triton is not installed")
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from dudley.train.ensemble.kernels import fused_collapse

    kernel = getattr(fused_collapse, name)
    constexprs = {n: v for n, v in (SIZES | {"DOT": dot}).items() if n in kernel.arg_names}
    signature = {
        n: "constexpr" if n in constexprs else KERNELS[name].get(n, NUMBERS)
        for n in kernel.arg_names
    }
    constants = {(kernel.arg_names.index(n),): value for n, value in constexprs.items()}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8})
    assert "f32" in made.asm["ttir"]
    assert "f64" not in made.asm["ttir"]

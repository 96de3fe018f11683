"""What doctests of the package do not import where it is absent; bytecode for every process."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

# Each worker and each of hundreds of child processes would compile everything anew where the
# environment forbids bytecode; with it, collection takes half the time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

ENSEMBLE = "src/dudley/train/ensemble"
HERE = Path(__file__).parent
KERNELS = [str(path) for path in (HERE / "src/dudley/train").rglob("fused*.py")]
KERNELS += ["tests/gelu_kernel.py"]
COMPILED = [
    f"{ENSEMBLE}/bit_attention/{name}.py"
    for name in ("compiled", "compiled_kernels", "compiled_lanes")
]
collect_ignore = [] if find_spec("triton") else KERNELS
collect_ignore += [] if find_spec("numba") else COMPILED

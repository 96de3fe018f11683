"""What doctests of the package do not import where it is absent."""

from importlib.util import find_spec

ENSEMBLE = "src/dudley/train/ensemble"
KERNELS = [
    f"{ENSEMBLE}/{name}.py" for name in ("bit_attention/fused", "fused_tail", "fused_collapse")
]
collect_ignore = [] if find_spec("triton") else KERNELS

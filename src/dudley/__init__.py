"""dudley: the generalization theory of Transformers, executable.

Public names are loaded on first use, so that ``import dudley`` costs next to nothing.
"""

from importlib import import_module

__version__ = "0.1.0"

_NAMES = {
    "audit.attack": "attack",
    "audit.complexity": "offset_below rademacher_below",
    "audit.sensitivity": "sensitivity",
    "calculus.compose": "Chain Heads Parallel Repeat Residual",
    "calculus.union": "Grid",
    "certificates.certify": "certify",
    "classes": "LinearMap",
    "core.bound": "Bound",
    "core.constraint": "Col1Inf Col21 Col2Inf Constraint Frobenius L1 L11 L2 LInf Nuclear Observed "
    "Nonzeros Rank Row1Inf Row21 Row2Inf Spectral ball",
    "core.entropy": "PowerLaw",
    "core.errors": "DudleyError InputError NotYetPaid UnknownName",
    "core.situation": "Situation",
    "core.sweep": "Sweep",
    "weights.measure": "measure",
    "weights.measurement": "Measurement",
    "networks.blocks": "li_block post_ln_block pre_ln_block shallow_encoder trauger_block",
    "networks.capacity": "Capacity capacity",
    "networks.embeddings": "Embedding OneHot Positions Tokens",
    "networks.general": "GeneralHead",
    "networks.head": "Head",
    "networks.losses": "CrossEntropy Loss Margin",
    "networks.multihead": "MultiHeadAttention",
    "networks.outputs": "Logits Readout",
    "networks.pointwise": "Activate Dense LayerNorm MLP Pool ProjectRows RMSNorm SwiGLU",
    "networks.robust": "Robust",
    "theorems.comparison": "Comparison compare",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str):
    if name == "models":  # a package that needs torch
        return import_module("dudley.models")
    if name not in _HOME:
        raise AttributeError(f"module 'dudley' has no attribute {name!r}")
    value = getattr(import_module(f"dudley.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__, "models"]

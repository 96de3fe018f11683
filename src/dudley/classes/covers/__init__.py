"""Every cover known here, one idea per file; importing this package registers them."""

from dudley.classes.covers import maurey, perceptron, rounding, sparse, volumetric, zhang
from dudley.classes.covers.base import COVERS, Cover, CoverProblem

__all__ = [
    "COVERS",
    "Cover",
    "CoverProblem",
    "maurey",
    "perceptron",
    "rounding",
    "sparse",
    "volumetric",
    "zhang",
]

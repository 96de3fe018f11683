"""dudley: the generalization theory of Transformers, executable."""

from dudley.calculus.compose import Chain, Heads, Parallel, Repeat, Residual
from dudley.calculus.union import Grid
from dudley.classes import LinearMap
from dudley.core.bound import Bound
from dudley.core.constraint import (
    L1,
    L2,
    L11,
    Col1Inf,
    Col2Inf,
    Col21,
    Constraint,
    Frobenius,
    LInf,
    Nuclear,
    Observed,
    Rank,
    Row1Inf,
    Row2Inf,
    Row21,
    Spectral,
    ball,
)
from dudley.core.entropy import PowerLaw
from dudley.core.errors import DudleyError, InputError, NotYetPaid, UnknownName
from dudley.networks.blocks import (
    li_block,
    post_ln_block,
    pre_ln_block,
    shallow_encoder,
    trauger_block,
)
from dudley.networks.capacity import Capacity, capacity
from dudley.networks.embeddings import Embedding, OneHot, Positions, Tokens
from dudley.networks.general import GeneralHead
from dudley.networks.head import Head
from dudley.networks.losses import CrossEntropy, Loss, Margin
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.outputs import Logits, Readout
from dudley.networks.pointwise import (
    MLP,
    Activate,
    Dense,
    LayerNorm,
    Pool,
    ProjectRows,
    RMSNorm,
    SwiGLU,
)

__version__ = "0.1.0"

__all__ = [
    "L1",
    "L2",
    "L11",
    "MLP",
    "Activate",
    "Bound",
    "Capacity",
    "Chain",
    "Col1Inf",
    "Col2Inf",
    "Col21",
    "Constraint",
    "CrossEntropy",
    "Dense",
    "DudleyError",
    "Embedding",
    "Frobenius",
    "GeneralHead",
    "Grid",
    "Head",
    "Heads",
    "InputError",
    "LInf",
    "LayerNorm",
    "LinearMap",
    "Logits",
    "Loss",
    "Margin",
    "MultiHeadAttention",
    "NotYetPaid",
    "Nuclear",
    "Observed",
    "OneHot",
    "Parallel",
    "Pool",
    "Positions",
    "PowerLaw",
    "ProjectRows",
    "RMSNorm",
    "Rank",
    "Readout",
    "Repeat",
    "Residual",
    "Row1Inf",
    "Row2Inf",
    "Row21",
    "Spectral",
    "SwiGLU",
    "Tokens",
    "UnknownName",
    "ball",
    "capacity",
    "li_block",
    "post_ln_block",
    "pre_ln_block",
    "shallow_encoder",
    "trauger_block",
]

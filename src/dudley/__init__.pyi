"""The public names, for type checkers; ``__init__.py`` loads each on first use."""

from dudley.audit.attack import attack as attack
from dudley.audit.complexity import (
    offset_below as offset_below,
)
from dudley.audit.complexity import (
    rademacher_below as rademacher_below,
)
from dudley.audit.sensitivity import (
    sensitivity as sensitivity,
)
from dudley.calculus.compose import (
    Chain as Chain,
)
from dudley.calculus.compose import (
    Heads as Heads,
)
from dudley.calculus.compose import (
    Parallel as Parallel,
)
from dudley.calculus.compose import (
    Repeat as Repeat,
)
from dudley.calculus.compose import (
    Residual as Residual,
)
from dudley.calculus.union import (
    Grid as Grid,
)
from dudley.certificates.certify import (
    certify as certify,
)
from dudley.classes import (
    LinearMap as LinearMap,
)
from dudley.core.bound import (
    Bound as Bound,
)
from dudley.core.constraint import (
    L1 as L1,
)
from dudley.core.constraint import (
    L2 as L2,
)
from dudley.core.constraint import (
    L11 as L11,
)
from dudley.core.constraint import (
    Col1Inf as Col1Inf,
)
from dudley.core.constraint import (
    Col2Inf as Col2Inf,
)
from dudley.core.constraint import (
    Col21 as Col21,
)
from dudley.core.constraint import (
    Constraint as Constraint,
)
from dudley.core.constraint import (
    Frobenius as Frobenius,
)
from dudley.core.constraint import (
    LInf as LInf,
)
from dudley.core.constraint import (
    Nonzeros as Nonzeros,
)
from dudley.core.constraint import (
    Nuclear as Nuclear,
)
from dudley.core.constraint import (
    Observed as Observed,
)
from dudley.core.constraint import (
    Rank as Rank,
)
from dudley.core.constraint import (
    Row1Inf as Row1Inf,
)
from dudley.core.constraint import (
    Row2Inf as Row2Inf,
)
from dudley.core.constraint import (
    Row21 as Row21,
)
from dudley.core.constraint import (
    Spectral as Spectral,
)
from dudley.core.constraint import (
    ball as ball,
)
from dudley.core.entropy import (
    PowerLaw as PowerLaw,
)
from dudley.core.errors import (
    DudleyError as DudleyError,
)
from dudley.core.errors import (
    InputError as InputError,
)
from dudley.core.errors import (
    NotYetPaid as NotYetPaid,
)
from dudley.core.errors import (
    UnknownName as UnknownName,
)
from dudley.core.situation import (
    Situation as Situation,
)
from dudley.core.sweep import (
    Sweep as Sweep,
)
from dudley.networks.blocks import (
    li_block as li_block,
)
from dudley.networks.blocks import (
    post_ln_block as post_ln_block,
)
from dudley.networks.blocks import (
    pre_ln_block as pre_ln_block,
)
from dudley.networks.blocks import (
    shallow_encoder as shallow_encoder,
)
from dudley.networks.blocks import (
    trauger_block as trauger_block,
)
from dudley.networks.capacity import (
    Capacity as Capacity,
)
from dudley.networks.capacity import (
    capacity as capacity,
)
from dudley.networks.embeddings import (
    Embedding as Embedding,
)
from dudley.networks.embeddings import (
    OneHot as OneHot,
)
from dudley.networks.embeddings import (
    Positions as Positions,
)
from dudley.networks.embeddings import (
    Tokens as Tokens,
)
from dudley.networks.general import (
    GeneralHead as GeneralHead,
)
from dudley.networks.head import (
    Head as Head,
)
from dudley.networks.losses import (
    CrossEntropy as CrossEntropy,
)
from dudley.networks.losses import (
    Loss as Loss,
)
from dudley.networks.losses import (
    Margin as Margin,
)
from dudley.networks.multihead import (
    MultiHeadAttention as MultiHeadAttention,
)
from dudley.networks.outputs import (
    Logits as Logits,
)
from dudley.networks.outputs import (
    Readout as Readout,
)
from dudley.networks.pointwise import (
    MLP as MLP,
)
from dudley.networks.pointwise import (
    Activate as Activate,
)
from dudley.networks.pointwise import (
    Dense as Dense,
)
from dudley.networks.pointwise import (
    LayerNorm as LayerNorm,
)
from dudley.networks.pointwise import (
    Pool as Pool,
)
from dudley.networks.pointwise import (
    ProjectRows as ProjectRows,
)
from dudley.networks.pointwise import (
    RMSNorm as RMSNorm,
)
from dudley.networks.pointwise import (
    SwiGLU as SwiGLU,
)
from dudley.networks.robust import (
    Robust as Robust,
)
from dudley.theorems.comparison import (
    Comparison as Comparison,
)
from dudley.theorems.comparison import (
    compare as compare,
)

__version__: str
__all__: list[str]

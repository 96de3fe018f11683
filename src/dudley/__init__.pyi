"""The public names, for type checkers; ``__init__.py`` loads each on first use."""

from dudley import models as models
from dudley.audit.attack import attack as attack
from dudley.audit.complexity import (
    offset_below as offset_below,
    rademacher_below as rademacher_below,
)
from dudley.audit.sensitivity import (
    sensitivity as sensitivity,
)
from dudley.calculus.compose import (
    Chain as Chain,
    Heads as Heads,
    Parallel as Parallel,
    Residual as Residual,
)
from dudley.calculus.repeat import Repeat as Repeat
from dudley.calculus.union import (
    Grid as Grid,
)
from dudley.certificates.around.certify import (
    certify_around as certify_around,
    verify_around as verify_around,
)
from dudley.certificates.certify import (
    certify as certify,
)
from dudley.certificates.certify_outcomes import (
    outcomes as outcomes,
)
from dudley.certificates.encoded import (
    Encoded as Encoded,
    encode as encode,
)
from dudley.certificates.features import (
    certify_features as certify_features,
)
from dudley.certificates.methods.prequential.log import (
    Prequential as Prequential,
)
from dudley.certificates.methods.prequential.recheck import (
    recheck_pass as recheck_pass,
)
from dudley.certificates.methods.prequential.units import (
    UnitOrder as UnitOrder,
)
from dudley.certificates.methods.selection.candidates import (
    CandidateFactor as CandidateFactor,
    CandidateList as CandidateList,
)
from dudley.certificates.mlflow import (
    log_certificate as log_certificate,
)
from dudley.certificates.one_pass import (
    train_one_pass as train_one_pass,
)
from dudley.certificates.outcomes.logs.base import (
    read_outcomes as read_outcomes,
)
from dudley.certificates.outcomes.logs.huggingface import (
    outcomes_of_predictions as outcomes_of_predictions,
)
from dudley.certificates.outcomes.logs.sklearn import (
    outcomes_of_arrays as outcomes_of_arrays,
)
from dudley.certificates.retrained import (
    certify_retrained as certify_retrained,
)
from dudley.certificates.selection import (
    certify_selection as certify_selection,
)
from dudley.certificates.stream.stream import (
    OutcomeStream as OutcomeStream,
    StreamDeclared as StreamDeclared,
)
from dudley.certificates.training import (
    certify_training as certify_training,
    verify_training as verify_training,
)
from dudley.classes.linear import (
    LinearMap as LinearMap,
)
from dudley.core.bound import (
    Bound as Bound,
)
from dudley.core.constraint import (
    L1 as L1,
    L2 as L2,
    L11 as L11,
    Col1Inf as Col1Inf,
    Col2Inf as Col2Inf,
    Col21 as Col21,
    Constraint as Constraint,
    Frobenius as Frobenius,
    LInf as LInf,
    Nonzeros as Nonzeros,
    Nuclear as Nuclear,
    Observed as Observed,
    Rank as Rank,
    Row1Inf as Row1Inf,
    Row2Inf as Row2Inf,
    Row21 as Row21,
    Spectral as Spectral,
    ball as ball,
)
from dudley.core.entropy import (
    PowerLaw as PowerLaw,
)
from dudley.core.errors import (
    DudleyError as DudleyError,
    InputError as InputError,
    NotYetPaid as NotYetPaid,
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
    post_ln_block as post_ln_block,
    pre_ln_block as pre_ln_block,
    shallow_encoder as shallow_encoder,
    trauger_block as trauger_block,
)
from dudley.networks.capacity import (
    Capacity as Capacity,
    capacity as capacity,
)
from dudley.networks.embeddings import (
    Embedding as Embedding,
    OneHot as OneHot,
    Positions as Positions,
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
    Loss as Loss,
    Margin as Margin,
)
from dudley.networks.multihead import (
    MultiHeadAttention as MultiHeadAttention,
)
from dudley.networks.outputs import (
    Logits as Logits,
    Readout as Readout,
)
from dudley.networks.pointwise import (
    MLP as MLP,
    Activate as Activate,
    Dense as Dense,
    LayerNorm as LayerNorm,
    Pool as Pool,
    ProjectRows as ProjectRows,
    RMSNorm as RMSNorm,
    SwiGLU as SwiGLU,
)
from dudley.networks.robust import (
    Robust as Robust,
)
from dudley.show.model_card import (
    model_card as model_card,
)
from dudley.theorems.comparison import (
    Comparison as Comparison,
    compare as compare,
)
from dudley.theorems.gaps import (
    gaps as gaps,
)
from dudley.weights.measure import measure as measure
from dudley.weights.measurement import Measurement as Measurement

__version__: str
__all__: list[str]

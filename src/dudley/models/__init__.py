"""The papers' architectures as torch modules that know their description.

>>> import dudley as du
>>> from dudley.models import SingleHead
>>> model, tokens = SingleHead(d=8), du.Tokens(row2inf=1.0, T=16)
>>> du.capacity(model.description(tokens), tokens, n=10**6).gap(0.05, union=du.Grid()).vacuous
False
"""

from dudley.models.and_classifier import AndClassifier
from dudley.models.base import Model
from dudley.models.blocks import Block, Layers
from dudley.models.concatenated_heads import ConcatenatedHeads
from dudley.models.general_attention import GeneralAttention
from dudley.models.head_mlp import HeadMLP
from dudley.models.majority_classifier import MajorityClassifier
from dudley.models.multi_head import MultiHead
from dudley.models.observe import Observation
from dudley.models.shallow_encoder import ShallowEncoder
from dudley.models.single_head import SingleHead

__all__ = [
    "AndClassifier",
    "Block",
    "ConcatenatedHeads",
    "GeneralAttention",
    "HeadMLP",
    "Layers",
    "MajorityClassifier",
    "Model",
    "MultiHead",
    "Observation",
    "ShallowEncoder",
    "SingleHead",
]

"""The public names of the room; ``__init__.py`` loads each on first use."""

from dudley.models.and_classifier import AndClassifier as AndClassifier
from dudley.models.base import Model as Model
from dudley.models.blocks import Block as Block, Layers as Layers
from dudley.models.concatenated_heads import ConcatenatedHeads as ConcatenatedHeads
from dudley.models.general_attention import GeneralAttention as GeneralAttention
from dudley.models.head_mlp import HeadMLP as HeadMLP
from dudley.models.majority_classifier import MajorityClassifier as MajorityClassifier
from dudley.models.multi_head import MultiHead as MultiHead
from dudley.models.observe import Observation as Observation
from dudley.models.shallow_encoder import ShallowEncoder as ShallowEncoder
from dudley.models.single_head import SingleHead as SingleHead
from dudley.models.transformer import Transformer as Transformer

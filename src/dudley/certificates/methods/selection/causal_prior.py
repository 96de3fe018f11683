"""A causal model of a Hugging Face folder as the prior over prompts.

ln p(text, end) is the sum over the tokens of the text, as the folder's own tokenizer cuts it, and
of the token that ends texts. A text may be cut in other ways, too, so its probability is at least
that, and the prices of different texts still fit into 1: the tokenizer must give every text back,
none of its tokens may be the one that ends texts (`tokens`), and nothing in the model may see what
comes later (`hf`). Weights are float64 here, and logarithms float32; whatever rounding leaves, the
prices of a list are added up and refused above 1 (`prior.expect_kraft`).

The folder must not have seen the sample. A chat model prices prompts as continuations of nothing,
in the mean dearer than they would be after an instruction; that costs bits and no truth.
"""

from __future__ import annotations

from pathlib import Path

from dudley.certificates.methods.selection.prior import TextModel
from dudley.certificates.texts.documents import END
from dudley.certificates.texts.models.hf import WEIGHTS, CausalFolder
from dudley.core.backend import torch
from dudley.core.errors import InputError


class CausalTextModel(TextModel):
    """Final: the weights of a folder; nothing of it is executed, and nothing is downloaded."""

    def __init__(self, folder: str | Path):
        self.model = CausalFolder.from_folder(str(folder), {})
        if not (Path(folder) / WEIGHTS).is_file():
            raise InputError(str(folder), f"a folder with {WEIGHTS}", "none", "weights are needed")
        self.module = self.model.make().double().eval()

    @property
    def sha256(self) -> str:
        return self.model.sha256

    def log_probability(self, text: str) -> float:
        try:
            document = text.encode() + END
        except UnicodeEncodeError as error:  # half of a surrogate pair
            raise InputError("text", "a text that UTF-8 can write", error) from None
        if END in document[:-1] or len(document) > self.model.context:
            expected = f"at most {self.model.context - 1:,} bytes, none of them 0"
            raise InputError("text", expected, f"{len(document) - 1:,} bytes")
        with torch.no_grad():
            nats = self.model.nats(self.module, self.model.read([document]))
        return -float(nats.double().sum())

"""Posteriors: Q = N(w, diag σ²) around the weights of a hypothesis, its prior, and their file.

The file is one safetensors file of schema ``dudley.posterior/1``: w by path (``mean.0.W_v``), σ
(``sigma.0.W_v``), and for a learned prior w₀ and S (``prior.mean.0.W_v``, ``prior.scale.0.W_v``);
the network, the encoding and what the prior is stand as JSON in its header. Nothing in it is
executed.

>>> from dudley.certificates.methods.pac_bayes.prior import Zero
>>> tables = {"schema": "dudley.net/1", "input": {"T": 3, "V": 5},
...     "layer": [{"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1,
...                "sigma": "identity"}]}
>>> w = {"0.v": np.zeros((5, 1)), "0.W_v": np.array([[-1.0], [-1], [1], [1], [0]])}
>>> σ = {name: np.full((5, 1), 0.1) for name in w}
>>> Q = Posterior(Hypothesis(tables, {"name": "bits", "T": 2}, w), σ, Zero())
>>> {name: round(nats, 3) for name, nats in Q.divergences({"0.v": 0.1, "0.W_v": 1.0}).items()}
{'0.W_v': 11.038, '0.v': 0.0}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dudley.certificates import tensors
from dudley.certificates.data import freeze, sha256_of
from dudley.certificates.encodings import Encoding
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes.divergence import gaussian
from dudley.certificates.methods.pac_bayes.prior import Learned, Prior, prior_of
from dudley.core.errors import DudleyError, InputError

SCHEMA = tensors.POSTERIOR


@dataclass(frozen=True, eq=False)
class Posterior:
    """Mean, standard deviations and prior."""

    mean: Hypothesis
    sigma: Mapping[str, np.ndarray]
    prior: Prior

    def __post_init__(self):
        shapes = self.mean.shapes
        if set(self.sigma) != set(shapes):
            raise InputError("σ", ", ".join(shapes), ", ".join(self.sigma) or "nothing")
        for name, σ in self.sigma.items():
            good = σ.shape == shapes[name] and σ.dtype == np.float64
            if not good or not np.isfinite(σ).all() or not (σ > 0).all():
                expected = f"finite float64 > 0 of shape {shapes[name]}"
                raise InputError(f"σ of {name}", expected, f"{σ.dtype} of shape {σ.shape}")
        # As the weights of a hypothesis: hashes are remembered.
        frozen_sigma = {name: freeze(σ) for name, σ in self.sigma.items()}
        object.__setattr__(self, "sigma", MappingProxyType(frozen_sigma))
        self.prior.center(shapes)  # refuses what does not fit
        self.prior.scales(shapes)

    @property
    def weights(self) -> Mapping[str, np.ndarray]:
        """The means."""
        return self.mean.weights

    @property
    def encoding(self) -> Encoding:
        return self.mean.encoding

    def content(self, X: np.ndarray) -> np.ndarray:
        """What the encoding reads of each example."""
        return self.mean.content(X)

    def divergences(self, s: dict[str, float]) -> dict[str, float]:
        """KL(Q‖P) of each matrix at the prior's scale s for it, in nats, from above."""
        shapes = self.mean.shapes
        center, scales = self.prior.center(shapes), self.prior.scales(shapes)
        return {
            name: gaussian(
                self.weights[name], self.sigma[name], center[name], s[name] * scales[name]
            )
            for name in shapes
        }

    @cached_property
    def sha256(self) -> str:
        """Of all that the file holds."""
        header = json.dumps(self._header(), sort_keys=True)
        return sha256_of(self._arrays() | {" ": np.frombuffer(header.encode(), np.uint8)})

    @cached_property
    def prior_sha256(self) -> str:
        """Of the prior alone: its kind and its arrays."""
        kind = np.frombuffer(json.dumps(self._prior(), sort_keys=True).encode(), np.uint8)
        return sha256_of(self.prior.arrays | {" ": kind})

    def save(self, path: str | Path) -> None:
        """Write the file."""
        tensors.write(path, self._header(), self._arrays())

    def _prior(self) -> dict[str, Any]:
        seen = {"seen": self.prior.seen} if isinstance(self.prior, Learned) else {}
        return self.prior.to_json() | seen

    def _header(self) -> dict[str, Any]:
        mean = {"network": self.mean.tables, "encoding": self.mean.encoding_table}
        return {"schema": SCHEMA, "prior": self._prior()} | mean

    def _arrays(self) -> dict[str, np.ndarray]:
        mean = {f"mean.{name}": W for name, W in self.weights.items()}
        return mean | {f"sigma.{name}": σ for name, σ in self.sigma.items()} | self.prior.arrays


def load(path: str | Path) -> Posterior:
    """Read the file."""
    path = Path(path)
    header, arrays = tensors.read(path)
    fields = {"schema", "prior", "network", "encoding"}
    if header.get("schema") != SCHEMA or set(header) != fields:
        expected = f"a posterior file with the header {SCHEMA}"
        raise InputError(path.name, expected, "a file without it")
    odd = [n for n in arrays if n.split(".")[0] not in ("mean", "sigma", "prior")]
    if odd:
        raise InputError(path.name, "arrays mean.…, sigma.… and prior.…", odd[0])
    try:
        mean = Hypothesis(header["network"], header["encoding"], _under("mean", arrays))
        return Posterior(mean, _under("sigma", arrays), prior_of(header["prior"], arrays))
    except DudleyError:
        raise
    except Exception as error:  # values of a kind that no table has
        raise InputError(path.name, "a network, an encoding and a prior", error) from None


def _under(first: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        name.removeprefix(f"{first}."): W
        for name, W in arrays.items()
        if name.startswith(f"{first}.")
    }

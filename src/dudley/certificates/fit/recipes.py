"""How each method likes its models: one training for a data set and a method.

The network is one attention head with a fixed query, f(x) = Σ_t a_t u·x_t with a = softmax(v·x_t);
given rows pass trained positions first. For K > 2 classes u is a matrix and f has K logits, all of
one attention; a single row leaves attention nothing to choose, so features have a linear head.
It is fixed before the data, and so are the settings of the
training, though they would cost nothing: the bounds hold for every model of their lists. MNIST is
read by blocks of 4×4 pixels (`BLOCKS`), chosen on pictures that are in no sample
(`dudley.certificates.pictures`).

| method | model |
|---|---|
| norm-cover | few nonzeros and a large margin (`heads`) |
| occam | few levels, few nonzeros (`sparse`) |
| pac-bayes | a Gaussian around a head (`posterior`), the prior around 0 |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dudley.certificates.data import Dataset
from dudley.certificates.encodings import Bits, Blocks, Rows, encoding_of, expect_fits
from dudley.certificates.fit import heads, posterior, sparse
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.core.errors import InputError
from dudley.core.registry import Registry
from dudley.core.watch import Watch

EncodingTable = dict[str, Any]
RECIPES: Registry[Callable[[Dataset, EncodingTable, int, Watch], Hypothesis | Posterior]] = (
    Registry("method to train for")
)

PENALTIES = (2e-3, 5e-3)  # of a head on bits; fixed on other seeds than those of the record
BLOCKS: EncodingTable = {"name": "blocks", "height": 28, "width": 28, "side": 4, "white": 255.0}
LONG = {"levels": (2, 4, 8), "steps": 600, "batch": 1024}  # where inputs are not bits
SEARCHED: dict[str, Any] = LONG | {
    "foldings": ({"0.v": sparse.ZERO, "0.W_v": "plain"}, {"0.v": "plain", "0.W_v": "plain"}),
    "penalties": (0.003, 0.01, 0.03),
    "searched": 3000,
    "polished": 4,
    "looks": 4000,
}


def tables(encoding: EncodingTable, classes: int = 2) -> dict[str, Any]:
    """The network: a head, behind trained positions where rows are given."""
    network = heads.tables(encoding, classes)
    unit = encoding_of(encoding)
    if isinstance(unit, Rows) and unit.T > 1:
        positions = {"node": "positions", "T": unit.T, "P": "free", "trained": True}
        network["layer"] = [positions, *network["layer"]]
    return network


def train_for(
    method: str, data: Dataset, encoding: EncodingTable, seed: int, watch: Watch | None = None
) -> Hypothesis | Posterior:
    """The model of a method's recipe; data that it cannot be trained on are refused."""
    recipe = RECIPES[method]
    expect_fits(encoding, data.X)
    if data.n < 2:
        raise InputError("training set", "at least 2 examples", data.n, "take more of them")
    heads.expect_classes(data)
    return recipe(data, encoding, seed, watch or Watch())


def head_fits(encoding: EncodingTable, seed: int) -> list[heads.HeadFit]:
    """The trainings of a head for its norm cover, of which the best is taken."""
    if isinstance(encoding_of(encoding), Bits):
        return [heads.HeadFit(seed=seed, penalty=λ) for λ in PENALTIES]
    # Elsewhere the least margins are of no help.
    unpolished = heads.HeadFit(seed=seed, polish=0, target=0.2, penalty=5e-4, v_max=16.0)
    return [heads.HeadFit(seed=seed), unpolished]


@RECIPES.register("norm-cover")
def _norm_cover(data: Dataset, encoding: EncodingTable, seed: int, watch: Watch) -> Hypothesis:
    return heads.fit_best(data, encoding, head_fits(encoding, seed), watch)[0]


@RECIPES.register("occam")
def _occam(data: Dataset, encoding: EncodingTable, seed: int, watch: Watch) -> Hypothesis:
    unit, settings = encoding_of(encoding), {}
    if isinstance(unit, Rows):
        settings = LONG | {"penalties": (0.1, 0.3)}
    elif isinstance(unit, Blocks):
        settings = SEARCHED
    return sparse.fit_sparse(
        tables(encoding, data.classes), encoding, data, seed, watch=watch, **settings
    )


@RECIPES.register("pac-bayes")
def _pac_bayes(data: Dataset, encoding: EncodingTable, seed: int, watch: Watch) -> Posterior:
    plan = posterior.PosteriorTraining(steps=1500, batch=1024, seed=seed)
    watch.say(f"a posterior in {plan.steps:,} steps")
    return posterior.fit(tables(encoding, data.classes), encoding, data, plan=plan)

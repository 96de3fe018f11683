"""A family of checkpoints that a file adds is measured by its model type."""

from __future__ import annotations

import pytest

import checkpoints
import dudley as du
from dudley.weights.layout import LAYOUTS

SOURCE = """
from dudley.weights.architecture import Architecture, Config, reader
from dudley.weights.layout import LAYOUTS, Layout, Skip, Slot, linear, norm, table
from dudley.weights.output import Output

STAGE = "stage.{layer}"
SLOTS = (
    *table("words.weight", "W_E"),
    *table("places.weight", "P"),
    *norm(f"{STAGE}.ln_1", "ln_1"),
    Slot(f"{STAGE}.attn.c_attn.weight", ("W_Q", "W_K", "W_v"), "in-out", interleaved="none"),
    Slot(f"{STAGE}.attn.c_attn.bias", ("b_Q", "b_K", "b_v"), "row", interleaved="none"),
    *linear(f"{STAGE}.attn.c_proj", "c", "in-out"),
    *norm(f"{STAGE}.ln_2", "ln_2"),
    *linear(f"{STAGE}.mlp.c_fc", "1", "in-out"),
    *linear(f"{STAGE}.mlp.c_proj", "2", "in-out"),
    *norm("ln_f", "ln_f"),
    Slot("lm_head.weight", ("W_out",)),
)
SKIPS = (Skip(r"attn\\.bias$", "the causal mask, no weights"),)


@reader
def architecture(config: Config) -> Architecture:
    return Architecture(
        d=config.size("width"),
        L=config.size("stages"),
        H=config.size("heads"),
        T=config.size("length"),
        order="pre",
        eps=config.number("eps"),
        sigma=config.sigma("activation"),
        causal=True,
        head=config.head(),
        outputs=(Output("language"),),
    )


FIRST = "stage.0.attn.c_attn.weight"
LAYOUTS.register("staged")(Layout("staged", SLOTS, SKIPS, architecture, FIRST, ("lm_head.weight",)))
"""
RENAMED = {"transformer.h.": "stage.", "transformer.wte.": "words.", "transformer.wpe.": "places."}


def renamed(name: str) -> str:
    for old, new in RENAMED.items():
        name = name.replace(old, new)
    return name.removeprefix("transformer.")


@pytest.fixture
def staged(add):
    add("staged", SOURCE)
    yield
    LAYOUTS.remove("staged")


def test_it_measures_the_same_norms_under_its_own_names(staged, tmp_path):
    config, tensors = checkpoints.gpt2()
    known = du.measure(checkpoints.write(tmp_path / "gpt2", config, tensors))
    sizes = {
        "model_type": "staged", "width": checkpoints.d, "stages": checkpoints.L,
        "heads": checkpoints.H, "length": checkpoints.T, "eps": 1e-5, "activation": "gelu_new",
    }  # fmt: skip
    mine = {renamed(name): tensor for name, tensor in tensors.items()}
    measured = du.measure(checkpoints.write(tmp_path / "staged", sizes, mine))
    assert len(measured.rows) == len(known.rows) > 10
    for row, same in zip(measured.rows, known.rows, strict=True):
        assert (row.role, row.layer, row.norms) == (same.role, same.layer, same.norms)

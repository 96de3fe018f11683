"""The described network is the library's: tiny random models of every family, run beside it.

`pip install '.[hf]'` brings the library; without it these tests are skipped by name.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from safetensors.numpy import load_file

import dudley as du
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing
from dudley.weights.forward import check_forward
from dudley.weights.layout import LAYOUTS
from dudley.weights.network import describe
from each import each
from library_models import MEASURED, MODELS, save


@pytest.fixture
def library(require, monkeypatch):
    require("transformers", find_spec("transformers") is not None, "pip install '.[hf]'")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@each("name", MODELS)
def test_every_family_computes_what_the_library_computes(tmp_path, library, name: str):
    folder = save(name, tmp_path / name)
    measurement = du.measure(folder)
    assert measurement.layout == name.split()[0]
    assert [use.name for use in measurement.tensors if use.vital] == []
    check = check_forward(measurement, folder)
    assert check.agrees and check.absolute > 0, (check.absolute, check.relative)
    assert check.model == MODELS[name][0] and check.library.startswith("transformers ")
    inputs = {"X.row2inf": 9.0} if measurement.architecture.inputs == "patches" else {}
    described = describe(measurement, {"T": 4} | inputs)
    capacity = du.capacity(described.network, described.inputs, n=1e9, loss=described.loss)
    assert 0 < float(capacity.gap(0.05, union=du.Grid())) < math.inf


@each("name", MEASURED)
def test_a_family_without_a_bound_is_measured_and_refused_by_its_reason(
    tmp_path, library, name: str
):
    folder = save(name, tmp_path / name)
    measurement = du.measure(folder)
    unknown = [use.name for use in measurement.tensors if "no role in this layout" in use.why]
    assert measurement.layout == name and unknown == []
    stored = load_file(folder / "model.safetensors")
    whole = [row for row in measurement.rows if row.head is None]
    assert len(whole) == measurement.tensors_used
    for row in whole:
        name_there, *start = row.source.removesuffix(".T").removesuffix("]").split("[")
        tensor = stored[name_there].astype(float)[int(start[0].rstrip(":")) if start else 0 :]
        assert row.norms["fro"] == pytest.approx(np.linalg.norm(tensor))
        assert math.prod(row.shape) == tensor.size
    reason = LAYOUTS[name].refused
    with pytest.raises(InputError, match=re.escape(reason[:60])):
        describe(measurement, {"T": 4})
    with pytest.raises(InputError, match=re.escape(reason[:60])):
        check_forward(measurement, folder)


@each("name", ["vit", "deit", "dinov2", "gpt_neox", "gemma2", "albert"])
def test_a_live_module_is_measured_as_its_folder_is(tmp_path, library, name: str):
    import transformers  # pyright: ignore[reportMissingImports]

    folder = save(name, tmp_path / name)
    live = getattr(transformers, MODELS[name][0]).from_pretrained(folder)
    ours, theirs = du.measure(live), du.measure(folder)
    places = {(row.role, row.layer, row.head): row.norms for row in theirs.rows}
    assert {(row.role, row.layer, row.head): row.norms for row in ours.rows} == places
    assert [use.name for use in ours.tensors if use.vital] == []


# Settings as older releases wrote them, in the place of those of today.
OLDER = {
    "llama": {"rope_theta": 700.0, "rope_scaling": {"type": "linear", "factor": 2.0}},
    "gpt_neox": {"rotary_pct": 0.5, "rotary_emb_base": 700},
    "stablelm": {"partial_rotary_factor": 0.5, "rope_theta": 700.0},
    "phi": {"partial_rotary_factor": 0.5, "rope_theta": 700.0},
    "smollm3": {"no_rope_layers": None, "no_rope_layer_interval": 2, "rope_theta": 700.0},
    "gemma3_text": {
        "rope_theta": 700.0, "rope_local_base_freq": 50.0, "layer_types": None,
        "sliding_window_pattern": 2, "rope_scaling": {"rope_type": "linear", "factor": 4.0},
    },
    "modernbert": {
        "global_rope_theta": 700.0, "local_rope_theta": 50.0, "layer_types": None,
        "global_attn_every_n_layers": 2,
    },
    "gemma": {"hidden_act": "gelu", "hidden_activation": None},
}  # fmt: skip


@each("name", OLDER)
def test_settings_of_older_releases_mean_what_the_library_makes_of_them(
    tmp_path, library, name: str
):
    folder = save(name, tmp_path / name)
    config = folder / "config.json"
    settings = json.loads(config.read_text()) | {"rope_parameters": None} | OLDER[name]
    stated = {key: value for key, value in settings.items() if value is not None}
    config.write_text(json.dumps(stated))
    assert check_forward(du.measure(folder), folder).agrees


# What a description may get wrong ↦ a model where that shows.
WRONG = {
    "score_cap": ("gemma2", None),
    "logit_cap": ("gemma2", None),
    "embed_scale": ("gemma", 1.0),
    "residual_scale": ("granite", 1.0),
    "logit_scale": ("granite", 1.0),
    "scales": ("granite", None),
    "turns": ("smollm3", None),
    "sigma": ("gemma", "swish"),
    "eps": ("vit", 1e-2),
    "causal": ("gpt2", False),
}


@each("field", WRONG)
def test_a_wrong_description_is_seen(tmp_path, library, field: str):
    name, value = WRONG[field]
    folder = save(name, tmp_path / field)
    measurement = du.measure(folder)
    changed = replace(measurement.architecture, **{field: value})
    assert changed != measurement.architecture
    check = check_forward(replace(measurement, architecture=changed), folder)
    assert not check.agrees and not check.to_json()["agrees"]


def test_what_the_library_does_not_read_or_derive_refuses_is_refused(tmp_path, library):
    folder = save("gpt2", tmp_path / "gpt2")
    measurement, config = du.measure(folder), folder / "config.json"
    with pytest.raises(InputError, match=r"a folder with config\.json and safetensors"):
        check_forward(measurement, folder / "model.safetensors")
    settings = json.loads(config.read_text())
    config.write_text(json.dumps(settings | {"attention_scale": 2.0}))
    with pytest.raises(InputError, match="a network this program can bound, got attention_scale"):
        check_forward(du.measure(folder), folder)
    config.write_text(json.dumps(settings | {"vocab_size": 32}))
    with pytest.raises(InputError, match="a model that the library reads"):
        check_forward(measurement, folder)


def test_a_mapping_file_is_checked_too(tmp_path, library):
    """The first Gemma, as a mapping file says it; without its factor on tokens it is another."""
    folder = save("gemma", tmp_path / "gemma")
    slots = [slot for slot in LAYOUTS["gemma"].slots if slot.roles[0] not in ("b_out", "W_cls")]
    names = {slot.pattern: slot for slot in slots if ".bias" not in slot.pattern}
    lines = [
        f'"model.{name}" = {{ role = "{slot.roles[0]}", plus = {int(slot.plus)} }}'
        for name, slot in names.items()
        if not name.startswith("lm_head") and "beta" not in name and "gamma" not in name
    ]
    network = ['order = "pre"', "rms = true", "gated = true", "causal = true", "rope = true"]
    network += ["tied = true", 'head = "language"', "eps = 1e-6", 'sigma = "gelu-tanh"', "H = 4"]
    file = tmp_path / "gemma.toml"
    for scale, agrees in ((4.0, True), (1.0, False)):
        parts = ['schema = "dudley.layout/1"', "[network]", *network, f"embed_scale = {scale}"]
        file.write_text("\n".join([*parts, "[tensors]", *lines]), encoding="utf-8")
        measurement = du.measure(folder, layout=file)
        assert check_forward(measurement, folder, layout=file).agrees is agrees
    file.write_text(file.read_text().replace("embed_scale = 1.0", "embed_scale = 0"))
    with pytest.raises(InputError, match="embed_scale: expected a number > 0"):
        du.measure(folder, layout=file)


def test_without_the_library_the_way_is_shown(monkeypatch):
    monkeypatch.setattr("dudley.core.extras.find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=r"needs transformers.*pip install '\.\[hf\]'"):
        check_forward(du.measure("tiny-bert"), "tiny-bert")

"""A network that is not the one its matrices suggest is refused, and so is a config gone wrong.

Every case here once gave a bound, for a network with a gain of one in the place of the stored
gain, say, or ended in something other than one printable line.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import checkpoints
import dudley as du
from dudley.core.errors import DudleyError, InputError
from dudley.weights.network import describe
from dudley.weights.readers.live import hold
from dudley.weights.readers.quantised import dequantise
from weight_files import adapter

pytestmark = pytest.mark.usefixtures("measured_once")
GAIN = "encoder.layer.0.attention.output.LayerNorm.weight"
BIAS = "encoder.layer.0.intermediate.dense.bias"


def bert() -> tuple[dict, dict[str, torch.Tensor]]:
    config, tensors = checkpoints.bert()
    return config, {name: torch.from_numpy(value) for name, value in tensors.items()}


def written(folder, tensors, config):
    torch.save(tensors, folder / "pytorch_model.bin")
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("name", [GAIN, BIAS])
@pytest.mark.parametrize(
    "spoilt", [lambda t: (1e6 * t).to_sparse(), lambda t: t[:1].clone().expand(len(t)), str]
)
def test_a_weight_that_cannot_be_read_is_not_left_out_of_a_bound(tmp_path, name, spoilt):
    config, tensors = bert()
    measurement = du.measure(written(tmp_path, tensors | {name: spoilt(tensors[name])}, config))
    (use,) = [use for use in measurement.tensors if use.name == name]
    assert not use.used and use.vital
    with pytest.raises(InputError, match=name):
        describe(measurement, {"T": 4})


def test_what_stands_beside_the_weights_is_harmless(tmp_path):
    config, tensors = bert()
    folder = written(tmp_path, {"model": tensors, "epoch": 3}, config)
    measurement = du.measure(folder)
    assert [use.vital for use in measurement.tensors if use.name == "epoch"] == [False]
    describe(measurement, {"T": 4})
    describe(du.measure(written(tmp_path, tensors | {"epoch": 3}, config)), {"T": 4})


def encoder(**last):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2, norm=torch.nn.LayerNorm(8, **last))


def _heads(m):
    m.layers[1].self_attn.num_heads = 4


def _order(m):
    m.layers[1].norm_first = True


def _activation(m):
    m.layers[1].activation = torch.nn.functional.gelu


def _eps(m):
    m.layers[1].norm2.eps = 1e-9


def _kind(m):
    for layer in m.layers:
        layer.norm1 = torch.nn.RMSNorm(8, eps=1e-5)


@pytest.mark.parametrize("change", [_heads, _order, _activation, _eps, _kind])
def test_layers_of_a_live_module_that_differ(change):
    module = encoder()
    describe(du.measure(module), {"T": 4, "X.row2inf": 1.0})
    change(module)
    with pytest.raises(InputError, match=r"differ|LayerNorm"):
        describe(du.measure(module), {"T": 4, "X.row2inf": 1.0})


def test_the_last_norm_of_a_live_module_has_its_own_eps():
    with pytest.raises(InputError, match="layer_norm_eps"):
        describe(du.measure(encoder(eps=1e-14)), {"T": 4, "X.row2inf": 1.0})


def test_an_adapter_on_a_vocabulary_that_is_the_output_too(tmp_path):
    V, d = checkpoints.V, checkpoints.d
    module = "transformer.wte.lora_embedding_"
    factors = {f"{module}A": torch.ones(2, V), f"{module}B": torch.ones(d, 2)}
    config, tensors = checkpoints.gpt2()
    tensors.pop("lm_head.weight", None)
    base = checkpoints.write(tmp_path / "base", config | {"tie_word_embeddings": True}, tensors)
    describe(du.measure(base), {"T": 4})
    merged = du.measure(adapter(tmp_path / "lora", factors), base=base)
    with pytest.raises(InputError, match="adapter on a vocabulary"):
        describe(merged, {"T": 4})


def test_the_same_integers_under_two_scales_are_two_matrices():
    q = torch.ones(2, 2, dtype=torch.int8)
    first, second = torch.tensor([1.0, 1.0]), torch.tensor([9.0, 9.0])
    stored = {"a.weight": q, "a.SCB": first, "b.weight": q, "b.SCB": second}
    assert hold(stored).tied == {"b.weight": "a.weight"}
    assert not dequantise(hold(stored)).tied


BAD = ["x\n\x1b[31my", 5, -1, 0, [], [1], {"a": 1}, True, 10**400, 1e400]


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_configs_gone_wrong(tmp_path, family):
    config, tensors = checkpoints.FAMILIES[family]()
    folder = checkpoints.write(tmp_path, config, tensors)
    for key in (*config, "architectures", "tie_word_embeddings", "rope_scaling", "is_decoder"):
        for value in BAD:
            text = json.dumps(config | {key: value}).replace("Infinity", "1e400")
            (folder / "config.json").write_text(text)
            try:
                describe(du.measure(folder), {"T": 4})
            except DudleyError as error:
                assert str(error).isprintable() and len(str(error)) < 1000


def test_names_gone_wrong(tmp_path):
    config, tensors = checkpoints.bert()
    far = f"encoder.layer.{'9' * 4000}.attention.self.query.weight"
    for name in (far, "ü\n\x1b[31m"):
        more = tensors | {name: np.ones((8, 8), np.float32)}
        measurement = du.measure(checkpoints.write(tmp_path, config, more))
        with pytest.raises(InputError, match="a known role") as caught:
            describe(measurement, {"T": 4})
        assert str(caught.value).isprintable()
    for shape in ((), (0, 8), (2, 2, 2)):
        name = "encoder.layer.0.attention.self.query.weight"
        more = tensors | {name: np.ones(shape, np.float32)}
        with pytest.raises(InputError, match=name):
            du.measure(checkpoints.write(tmp_path, config, more))


def test_norms_beyond_the_floats(tmp_path):
    config, tensors = checkpoints.bert()
    wide = tensors | {BIAS: np.full(checkpoints.K, 1.7e308)}
    measurement = du.measure(checkpoints.write(tmp_path, config, wide))
    with pytest.raises(InputError, match=BIAS):
        describe(measurement, {"T": 4})


@pytest.mark.parametrize("path", ["~nobody-of-this-name/x", "x" * 5000, "a\0b"])
def test_paths_gone_wrong(path):
    with pytest.raises(InputError):
        du.measure(path)


@pytest.mark.parametrize("entry", ['{role="W_Q", split=3}', '"W_Q"'])
def test_mappings_gone_wrong(tmp_path, entry):
    file = tmp_path / "m.toml"
    name = "a.{layer}.{layer}" if entry == '"W_Q"' else "a"
    file.write_text(f'schema = "dudley.layout/1"\n[tensors]\n"{name}" = {entry}\n')
    with pytest.raises(InputError, match=r"m\.toml"):
        du.measure("tiny-bert", layout=file)

"""Eight-bit weights against exact fractions; unknown conventions are skipped, never guessed."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from safetensors.torch import save_file

import checkpoints
import dudley as du
from dudley.core.errors import InputError
from dudley.weights.named_tensors import open_weights
from each import each

Q = torch.tensor([[-128, 127, 3], [0, -1, 77]], dtype=torch.int8)
SCB = torch.tensor([0.1, 3.7])


def exact(q: torch.Tensor, scale: list[Fraction], zero: list[int]) -> list[list[Fraction]]:
    rows = zip(q.tolist(), scale, zero, strict=True)
    return [[(Fraction(x) - z) * s for x in row] for row, s, z in rows]


def off(weights, meant: list[list[Fraction]]) -> float:
    loaded = weights.load("m.weight").tolist()
    pairs = [(x, m) for a, b in zip(loaded, meant, strict=True) for x, m in zip(a, b, strict=True)]
    return math.sqrt(sum((Fraction(x) - m) ** 2 for x, m in pairs))


def test_bitsandbytes():
    form = torch.tensor(0, dtype=torch.uint8)
    stored = {"m.weight": Q, "m.SCB": SCB, "m.weight_format": form, "m.bias": torch.ones(2)}
    weights = open_weights(stored)
    assert weights.names() == ["m.weight", "m.bias"]
    assert set(weights.skipped) == {"m.SCB", "m.weight_format"}
    assert weights.info("m.weight").dtype == "int8"
    scale = [Fraction(s) / 127 for s in SCB.tolist()]
    assert 0 < off(weights, exact(Q, scale, [0, 0])) <= weights.error("m.weight") < 1e-13


@pytest.mark.parametrize("names", [("m.weight.scale", "m.weight.zero_point"),
                                   ("m.weight_scale", "m.weight_zero_point"),
                                   ("m.scale", "m.zero_point")])  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
@given(data=st.data())
def test_scale_and_zero_point(names, dtype, data):
    low, high = (0, 255) if dtype is torch.uint8 else (-128, 127)
    byte = st.integers(low, high)
    q = torch.tensor([[data.draw(byte) for _ in range(3)] for _ in range(2)], dtype=dtype)
    scale = st.floats(width=32, allow_nan=False, allow_infinity=False)
    rows = data.draw(st.sampled_from([1, 2]))
    s = torch.tensor([data.draw(scale) for _ in range(rows)])
    z = torch.tensor([data.draw(byte) for _ in range(rows)], dtype=torch.int32)
    weights = open_weights({"m.weight": q, names[0]: s.reshape(rows, 1), names[1]: z})
    wide = [Fraction(x) for x in s.tolist()] * (2 // rows)
    assert (
        off(weights, exact(q, wide, z.tolist() * (2 // rows))) == 0.0 == weights.error("m.weight")
    )


def test_a_float64_scale_rounds_and_says_so():
    scale = torch.tensor([1 / 3, 0.1], dtype=torch.float64)
    weights = open_weights({"m.weight": Q, "m.weight_scale": scale})
    rounded = off(weights, exact(Q, [Fraction(s) for s in scale.tolist()], [0, 0]))
    assert 0 < rounded <= weights.error("m.weight") < 1e-13


def test_eight_bit_floats():
    W = torch.tensor([[1.5, -448.0], [0.25, 2.0]]).to(torch.float8_e4m3fn)
    plain = open_weights({"m.weight": W})
    assert plain.load("m.weight").dtype == torch.float8_e4m3fn
    scaled = open_weights(
        {"m.weight": W, "m.weight_scale": torch.tensor(0.5), "m.input_scale": SCB}
    )
    assert scaled.load("m.weight").tolist() == [[0.75, -224.0], [0.125, 1.0]]


BYTES = Q.to(torch.uint8)
FLOATS = Q.to(torch.float8_e4m3fn)
UNKNOWN = {
    "no scale": {"m.weight": Q},
    "uint8 without zero": {"m.weight": BYTES, "m.scale": SCB},
    "blocks": {"m.weight": Q, "m.weight_scale": torch.ones(2, 3)},
    "a column": {"m.weight": Q, "m.weight_scale": torch.ones(3)},
    "two scales": {"m.weight": Q, "m.weight_scale": SCB, "m.scale": SCB},
    "another scale": {"m.weight": Q, "m.weight_scale": SCB, "m.weight_scale_2": SCB},
    "inverse scale": {"m.weight": FLOATS, "m.weight_scale_inv": torch.ones(1)},
    "floats with zero": {"m.weight": FLOATS, "m.scale": SCB, "m.zero_point": torch.ones(2)},
    "four bits": {"m.weight": BYTES, "m.weight.absmax": SCB, "m.weight.quant_map": SCB},
    "turing": {"m.weight": Q, "m.SCB": SCB, "m.weight_format": torch.tensor(2)},
    "empty format": {"m.weight": Q, "m.SCB": SCB, "m.weight_format": torch.zeros(0)},
    "integer scale": {"m.weight": Q, "m.scale": torch.tensor([1, 2])},
    "three dimensions": {"m.weight": Q[None], "m.scale": torch.ones(1)},
}


@each("case", UNKNOWN)
def test_an_unknown_convention_is_skipped_with_the_reason(case: str):
    weights = open_weights(UNKNOWN[case])
    assert "m.weight" not in weights.names() and weights.skipped["m.weight"]


def test_packed_integers_are_skipped():
    packed = {
        "m.qweight": Q.int(),
        "m.qzeros": Q.int(),
        "m.scales": SCB,
        "m.g_idx": torch.arange(3),
    }
    weights = open_weights(packed)
    assert weights.names() == [] and set(weights.skipped) == set(packed)


PACKED = {
    "integers of GPTQ": {"qweight": Q.int(), "scales": SCB, "g_idx": torch.arange(3)},
    "integers of AWQ or GPTQ": {"qweight": Q.int(), "qzeros": Q.int(), "scales": SCB},
    "integers of compressed-tensors": {"weight_packed": Q.int(), "weight_scale": SCB},
    "nf4 codes of bitsandbytes": {
        name: BYTES for name in ("weight", "weight.absmax", "weight.quant_state.bitsandbytes__nf4")
    },
}


@each("kind", PACKED)
def test_packed_weights_are_refused_by_name_with_what_to_do(tmp_path, kind: str):
    config, tensors = checkpoints.llama()
    at = "model.layers.0.self_attn.q_proj"
    del tensors[f"{at}.weight"]
    packed = {f"{at}.{name}": value.numpy() for name, value in PACKED[kind].items()}
    folder = checkpoints.write(tmp_path / kind, config, tensors | packed)
    with pytest.raises(InputError, match=rf"got {kind} \(model.*dequantise"):
        du.measure(folder)


def test_blocks_of_eight_bit_floats_are_read_exactly(tmp_path):
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(5, 7, generator=generator).to(torch.float8_e4m3fn)
    scale = torch.rand(2, 3, generator=generator)
    settings = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [4, 3]}}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    save_file({"m.weight": q, "m.weight_scale_inv": scale}, tmp_path / "model.safetensors")
    weights = open_weights(tmp_path)
    assert weights.names() == ["m.weight"] and weights.error("m.weight") == 0.0
    loaded = weights.load("m.weight")
    for i, j in np.ndindex(5, 7):
        meant = Fraction(float(q[i, j])) * Fraction(float(scale[i // 4, j // 3]))
        assert Fraction(float(loaded[i, j])) == meant
    for sides in ([4, 4], [4], None, [0, 3]):
        settings["quantization_config"]["weight_block_size"] = sides
        (tmp_path / "config.json").write_text(json.dumps(settings))
        weights = open_weights(tmp_path)
        assert weights.names() == ["m.weight_scale_inv"]
        assert "m.weight_scale_inv" in weights.skipped["m.weight"]


@pytest.mark.parametrize("zero", [torch.tensor(0.5), torch.tensor(128), torch.tensor(float("nan"))])
def test_a_zero_point_is_a_byte(zero: torch.Tensor):
    weights = open_weights({"m.weight": Q, "m.scale": SCB, "m.zero_point": zero})
    with pytest.raises(InputError, match=r"m\.(weight|zero_point)"):
        weights.load("m.weight")


def test_a_nan_scale_is_refused():
    weights = open_weights({"m.weight": Q, "m.SCB": torch.tensor([1.0, float("nan")])})
    with pytest.raises(InputError, match=r"m\.SCB"):
        weights.load("m.weight")

"""LoRA adapters against W + (α/r)·B·A in exact fractions; eight-bit weights likewise."""

import math
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from dudley.core.errors import InputError
from dudley.weights.named_tensors import open_weights
from each import each
from weight_files import adapter, matrix, same

LAYER = "encoder.layer.0.query"
FACTORS = {f"{LAYER}.lora_A.weight": matrix(2, 4, seed=1), f"{LAYER}.lora_B.weight": matrix(3, 2)}


def exact(W, A, B, scale: Fraction, transposed: bool = False) -> list[list[Fraction]]:
    """W + s·B·A in exact arithmetic, as stored."""
    (out, r), wide = B.shape, A.shape[1]
    cell = [
        [sum(Fraction(float(B[i, l])) * Fraction(float(A[l, j])) for l in range(r)) * scale
         for j in range(wide)]
        for i in range(out)
    ]  # fmt: skip
    if transposed:
        cell = [list(row) for row in zip(*cell, strict=True)]
    return [
        [Fraction(float(w)) + c for w, c in zip(rw, rc, strict=True)]
        for rw, rc in zip(W.tolist(), cell, strict=True)
    ]


def distance(loaded: torch.Tensor, meant: list[list[Fraction]]) -> float:
    squares = (
        (Fraction(x) - m) ** 2
        for row, other in zip(loaded.tolist(), meant, strict=True)
        for x, m in zip(row, other, strict=True)
    )
    return math.sqrt(sum(squares))


def base(tmp_path: Path, W: torch.Tensor, prefix: str = "", last: str = LAYER) -> Path:
    path = tmp_path / "base.safetensors"
    save_file({f"{prefix}{last}.weight": W, f"{prefix}other.weight": torch.ones(2, 2)}, path)
    return path


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("transposed", [False, True])
def test_merged(tmp_path: Path, dtype: torch.dtype, transposed: bool):
    W = matrix(*((4, 3) if transposed else (3, 4)), dtype=dtype, seed=5)
    folder = adapter(tmp_path / "a", FACTORS, fan_in_fan_out=transposed)
    weights = open_weights(folder, base(tmp_path, W))
    assert sorted(weights.names()) == [f"{LAYER}.weight", "other.weight"]
    loaded = weights.load(f"{LAYER}.weight")
    assert loaded.dtype == torch.float64 and loaded.shape == W.shape
    A, B = FACTORS.values()
    off = distance(loaded, exact(W, A, B, Fraction(6, 2), transposed))
    assert off <= weights.error(f"{LAYER}.weight") < 1e-13
    assert weights.error("other.weight") == 0.0


def test_the_error_of_a_merge_is_an_upper_bound_where_it_cancels(tmp_path: Path):
    """W = −s·B·A in float64: only roundings are left, and they are within the stated error."""
    A, B = matrix(2, 4, dtype=torch.float64, seed=1), matrix(3, 2, dtype=torch.float64, seed=2)
    factors = {f"{LAYER}.lora_A.weight": A, f"{LAYER}.lora_B.weight": B}
    W = -(B @ A * 3.0)
    weights = open_weights(adapter(tmp_path / "a", factors), base(tmp_path, W))
    loaded, stated = weights.load(f"{LAYER}.weight"), weights.error(f"{LAYER}.weight")
    assert 0 < distance(loaded, exact(W, A, B, Fraction(3))) <= stated


def scale_of(tmp_path: Path, **config: object) -> float:
    """s, read off from a merge with W = 0 and B·A = 1."""
    ones = {n: torch.ones_like(t) / math.sqrt(2) ** 2 for n, t in FACTORS.items()}
    ones[f"{LAYER}.lora_B.weight"] *= 2
    weights = open_weights(
        adapter(tmp_path / "a", ones, **config), base(tmp_path, torch.zeros(3, 4))
    )
    return float(weights.load(f"{LAYER}.weight")[0, 0])


def test_scales(tmp_path: Path):
    assert scale_of(tmp_path) == pytest.approx(6 / 2)
    assert scale_of(tmp_path, use_rslora=True) == pytest.approx(6 / math.sqrt(2))
    assert scale_of(tmp_path, alpha_pattern={"query": 10}) == pytest.approx(10 / 2)
    assert scale_of(tmp_path, alpha_pattern={"key": 10}) == pytest.approx(6 / 2)
    assert scale_of(tmp_path, r=64, rank_pattern={"layer.0.query": 2}) == pytest.approx(6 / 2)


def test_embeddings_and_whole_tensors(tmp_path: Path):
    A, B = matrix(2, 5), matrix(3, 2, seed=3)
    tensors = {
        "bert.embed.lora_embedding_A": A,
        "bert.embed.lora_embedding_B": B,
        "classifier.weight": matrix(2, 3),
        "bert.encoder.bias": torch.ones(3),
    }
    save_file(
        {"embed.weight": torch.zeros(5, 3), "encoder.bias": torch.zeros(3)},
        tmp_path / "b.safetensors",
    )
    weights = open_weights(adapter(tmp_path / "a", tensors), tmp_path / "b.safetensors")
    assert weights.names() == ["embed.weight", "encoder.bias", "classifier.weight"]
    assert torch.allclose(weights.load("embed.weight"), 3.0 * (B @ A).T.double())
    assert float(weights.load("encoder.bias").sum()) == 3.0
    assert same(weights.load("classifier.weight"), tensors["classifier.weight"])
    assert weights.info("classifier.weight").file.endswith("adapter_model.safetensors")


def test_apart(tmp_path: Path):
    folder = adapter(tmp_path / "a", FACTORS)
    alone = open_weights(folder)
    assert alone.names() == [f"base_model.model.{n}" for n in FACTORS]
    assert alone.config["lora_alpha"] == 6
    W = matrix(3, 4)
    both = open_weights(folder, base(tmp_path, W), merged=False)
    assert set(both.names()) == {f"{LAYER}.weight", "other.weight", *alone.names()}
    assert same(both.load(f"{LAYER}.weight"), W)


def test_prefixes_differ(tmp_path: Path):
    for prefix in ("bert.", "model.bert."):
        folder = adapter(tmp_path / "a", FACTORS)
        weights = open_weights(folder, base(tmp_path, torch.zeros(3, 4), prefix))
        assert float(weights.load(f"{prefix}{LAYER}.weight").abs().sum()) > 0


DORA = {**FACTORS, f"{LAYER}.lora_magnitude_vector": torch.ones(3)}
HALF = {f"{LAYER}.lora_A.weight": matrix(2, 4)}
REFUSED = {
    "dora by its tensors": (DORA, {}, "lora_magnitude_vector"),
    "dora by its config": (FACTORS, {"use_dora": True}, "use_dora"),
    "pissa": (FACTORS, {"init_lora_weights": "pissa"}, "init_lora_weights"),
    "another method": (FACTORS, {"peft_type": "LOHA"}, "LORA"),
    "half of the factors": (HALF, {}, "both factors"),
    "another rank": (FACTORS, {"r": 8}, "rank 8"),
    "no alpha": (FACTORS, {"lora_alpha": None}, "lora_alpha"),
    "alpha is no number": (FACTORS, {"lora_alpha": True}, "lora_alpha"),
    "a hostile pattern": (FACTORS, {"rank_pattern": {"(a+)+$": 2}}, "plain names"),
    "transposed": (FACTORS, {"fan_in_fan_out": True}, "shape"),
    "not in the base": ({n.replace("0", "7"): t for n, t in FACTORS.items()}, {}, "in the base"),
}


@each("case", REFUSED)
def test_what_would_merge_wrongly_is_refused(case: str, tmp_path: Path):
    tensors, config, message = REFUSED[case]
    folder = adapter(tmp_path / "a", tensors, **config)
    with pytest.raises(InputError, match=message) as refused:
        open_weights(folder, base(tmp_path, torch.zeros(3, 4)))
    assert str(tmp_path) in str(refused.value)


def test_a_base_without_an_adapter_is_refused(tmp_path: Path):
    path = base(tmp_path, torch.zeros(3, 4))
    with pytest.raises(InputError, match="adapter"):
        open_weights(path, path)


def test_nan_factors_are_refused(tmp_path: Path):
    tensors = {n: t.clone() for n, t in FACTORS.items()}
    tensors[f"{LAYER}.lora_A.weight"][0, 1] = float("nan")
    weights = open_weights(adapter(tmp_path / "a", tensors), base(tmp_path, torch.zeros(3, 4)))
    with pytest.raises(InputError, match=r"adapter_model.*lora_A.*nan"):
        weights.load(f"{LAYER}.weight")

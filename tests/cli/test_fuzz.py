"""Mutated files and words: a command answers 0, 1 or 2 and never fails in itself.

Every mutation is drawn from a seed, so a failure is a case to keep. What is mutated: one value of
a certificate, of a model's header, of a network file, or of a declaration.
"""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from dudley.networks.files import EXAMPLES

EXAMPLE = EXAMPLES / "sparse-and"
ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 1e308, 1e-308, -0.0, 2**63, 2**64, 10**30, "", "x", "\x1b[31m",
    "a\nb", "\u202e", "n" * 5000, [], [None], [[]], [1, 2], {}, {"a": {}}, {"kind": None}, 0.5, 3,
]  # fmt: skip
NET = {
    "schema": "dudley.net/1",
    "title": "t",
    "input": {"T": 8, "d": 8, "X": {"row2inf": 1.0}},
    "layer": [
        {"node": "head", "W_QK": {"l11": 2.0}, "W_v": {"l11": 1.0}, "W_c": {"l11": 1.0}},
        {"node": "swiglu", "k": 4, "W_1": {"op": 1.0}, "W_3": {"op": 1.0}, "W_2": {"op": 1.0}},
        {"node": "mlp", "k": 4, "sigma": "relu", "W_1": {"op": 1.0}, "W_2": {"op": 1.0}},
        {"node": "layer-norm", "eps": 1e-5, "gain": {"linf": 1.0}},
    ],
    "output": {"node": "readout", "w": {"l2": 1.0}},
    "loss": {"margin": 1.0},
}


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """Every place inside nested dictionaries and lists."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*path, key)
            yield from places(value[key], (*path, key))


def mutated(value: Any, draw: random.Random) -> Any:
    """A copy with one place replaced, removed or added to."""
    value = copy.deepcopy(value)
    *above, last = draw.choice(list(places(value)))
    table = value
    for key in above:
        table = table[key]
    what = draw.randrange(8)
    if what == 0:
        del table[last]
    elif what == 1 and isinstance(table, dict):
        table[draw.choice(["x", "\x1b]52;c;aGk=\x07", "repeat", ""])] = draw.choice(ODD)
    else:
        table[last] = draw.choice(ODD)
    return value


def toml(value: Any) -> str:
    """Nested tables as inline TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return "[]" if value is None else json.dumps(value)


def expect_answer(done, case: object) -> None:
    assert done.code in (0, 1, 2), (case, done.err)
    if done.code == 2:
        assert done.out == "" and done.err.count("\n") == 1, case
    assert all(c.isprintable() or c == "\n" for c in done.out + done.err), case


@pytest.mark.parametrize("seed", range(4))
def test_certificates(dudley, tmp_path: Path, seed: int):
    draw = random.Random(seed)
    certificate = json.loads((EXAMPLE / "certificate.json").read_text(encoding="utf-8"))
    parts = ["--model", EXAMPLE / "model.safetensors", "--data", EXAMPLE / "train.npz"]
    for i in range(12):
        case = mutated(certificate, draw)
        (tmp_path / "c.json").write_text(json.dumps(case), encoding="utf-8")
        expect_answer(dudley("verify", tmp_path / "c.json", *parts), (seed, i))
        expect_answer(dudley("report", tmp_path / "c.json"), (seed, i, "report"))


@pytest.mark.parametrize("seed", range(4))
def test_headers_of_models(dudley, tmp_path: Path, seed: int):
    draw = random.Random(seed)
    with safe_open(str(EXAMPLE / "model.safetensors"), "np") as file:
        header = json.loads(file.metadata()["dudley"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    shutil.copy(EXAMPLE / "train.npz", tmp_path)
    shutil.copy(EXAMPLE / "certificate.json", tmp_path)
    for i in range(12):
        metadata = {"dudley": json.dumps(mutated(header, draw))}
        save_file(arrays, str(tmp_path / "model.safetensors"), metadata)
        expect_answer(dudley("verify", tmp_path), (seed, i))


def test_headers_of_posteriors(dudley, tmp_path: Path):
    draw = random.Random(0)
    with safe_open(str(EXAMPLE / "model.safetensors"), "np") as file:
        header = json.loads(file.metadata()["dudley"])
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header |= {"schema": "dudley.posterior/1", "prior": {"kind": "zero"}}
    arrays = {f"mean.{name}": np.asarray(W, np.float64) for name, W in weights.items()}
    arrays |= {f"sigma.{name}": np.full(W.shape, 0.1) for name, W in weights.items()}
    path = tmp_path / "q.safetensors"
    words = ["--train", EXAMPLE / "train.npz", "--method", "pac-bayes"]
    words += ["--declare", "pac-bayes.pairs=20"]
    save_file(arrays, str(path), {"dudley": json.dumps(header)})
    assert dudley("certify", "model", path, *words).code == 0
    cases = [header | {"prior": odd} for odd in ODD[::3]] + [
        mutated(header, draw) for _ in range(9)
    ]
    for i, case in enumerate(cases):
        save_file(arrays, str(path), {"dudley": json.dumps(case)})
        expect_answer(dudley("certify", "model", path, *words), i)


@pytest.mark.parametrize("seed", range(4))
def test_network_files(dudley, tmp_path: Path, seed: int):
    draw = random.Random(seed)
    for i in range(20):
        case = mutated(NET, draw)
        text = "\n".join(f"{json.dumps(k)} = {toml(v)}" for k, v in case.items())
        (tmp_path / "net.toml").write_text(text, encoding="utf-8")
        done = dudley("derive", tmp_path / "net.toml", "n=1e5", *["--json"] * (i % 2))
        expect_answer(done, (seed, i, text))


DECLARED = {
    "norm-cover": ["ratio", "margin_ratio", "norms", "radius", "among", "population"],
    "occam": ["seed", "dimensions", "levels", "networks", "among", "population"],
    "hold-out": ["loss", "margin", "clip", "interval", "looks", "pool", "repeats"],
}


@pytest.mark.parametrize("method", DECLARED)
def test_declarations(dudley, tmp_path: Path, method: str):
    data = np.load(EXAMPLE / "train.npz")
    holdout = tmp_path / "holdout.npz"
    np.savez(holdout, X=1 - data["X"][:50], y=data["y"][:50])
    where = ["--holdout", holdout] if method == "hold-out" else []
    for i, name in enumerate(DECLARED[method]):
        for odd in ODD[i % 6 :: 6]:
            word = f"{method}.{name}={json.dumps(odd)}"
            words = ["--method", method, "--declare", word]
            done = dudley("certify", "model", "sparse-and", *words, *where)
            expect_answer(done, word)

"""Planted functions against labels computed bit by bit from unpacked data."""

import math

import numpy as np
import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from dudley.core.backend import torch
from dudley.core.errors import DudleyError, InputError
from dudley.core.philox import Stream, key, keys_tensor
from dudley.train.packed import pack, unpack
from dudley.train.tasks.planted import Planted
from each import each

KEYS = keys_tensor([key("planted", e) for e in range(6)])
CELLS = keys_tensor([key("cell", c) for c in range(2)])
CELL = torch.tensor([1, 0, 0, 1, 1, 0])

TABLE = (0, 1, 1, 0, 1, 0, 0, 0)
FUNCTIONS = {
    "and": ({"s": 3}, all),
    "or": ({"s": 3}, any),
    "majority": ({"s": 9}, lambda b: sum(b) > 4.5),
    "parity": ({"s": 4}, lambda b: sum(b) % 2 == 1),
    "threshold": ({"s": 5, "k": 2}, lambda b: sum(b) >= 2),
    "table": ({"s": 3, "table": TABLE}, lambda b: TABLE[4 * b[0] + 2 * b[1] + b[2]]),
}


def task(name="and", **fields):
    return Planted(name, **{"T": 40, "m": 60, "holdout": 80, **FUNCTIONS[name][0], **fields})


def oracle(name, bits, indices):
    """Labels of one trial from its rows (N, T) and its hidden positions."""
    value = FUNCTIONS[name][1]
    return [int(value([int(row[i]) for i in indices])) for row in bits]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_labels_of_a_sample(name):
    planted = task(name)
    data, hidden = planted.sample(KEYS), planted.indices(KEYS)
    bits = unpack(data.inputs, 40, torch.int64)
    assert data.labels.dtype == torch.int64 and 0 < float(data.labels.double().mean()) < 1
    for e in range(6):
        assert data.labels[e].tolist() == oracle(name, bits[e], hidden[e])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_labels_of_a_shared_holdout(name):
    planted = task(name)
    data, hidden = planted.held_out(KEYS, CELLS, CELL), planted.indices(KEYS)
    assert data.inputs.shape == (2, 80, 2) and data.cell is CELL
    bits = unpack(data.inputs, 40, torch.int64)
    for e in range(6):
        assert data.labels[e].tolist() == oracle(name, bits[CELL[e]], hidden[e])


def test_labels_read_the_hidden_columns_alone():
    planted = task("majority")
    bits, hidden = unpack(planted.sample(KEYS).inputs, 40, torch.int64), planted.indices(KEYS)
    others = torch.ones(6, 1, 40, dtype=torch.int64).scatter_(2, hidden[:, None], 0)
    assert torch.equal(
        planted.labels(pack(bits), hidden), planted.labels(pack(bits ^ others), hidden)
    )


class Largest(TorchDispatchMode):
    """Remembers the size of the largest tensor that any operation returns."""

    size = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.size = max(self.size, tensor.numel())
        return result


def test_nothing_is_unpacked():
    planted = Planted("and", T=1600, s=3, holdout=500)
    with Largest() as seen:
        planted.held_out(KEYS, CELLS, CELL)
    assert seen.size <= 2 * 500 * 50  # the packed words; labels are 6 · 500
    with Largest() as seen:
        unpack(planted.held_out(KEYS, CELLS, CELL).inputs, 1600, torch.bool)
    assert seen.size >= 2 * 500 * 1600


def test_a_smaller_sample_is_a_prefix():
    small, large = task(m=33, noise=0.3).sample(KEYS), task(m=60, noise=0.3).sample(KEYS)
    assert torch.equal(small.inputs, large.inputs[:, :33])
    assert torch.equal(small.labels, large.labels[:, :33])


def test_a_trial_alone_is_as_in_a_batch():
    planted = task("parity", noise=0.2, holdout_noise=True, p=0.4)
    draws = [
        lambda k, c: planted.sample(k),
        lambda k, c: planted.stream(k, 3, 17),
        lambda k, c: planted.held_out(k, CELLS, c),
    ]
    for draw in draws:
        together = draw(KEYS, CELL)
        for e in range(6):
            alone = draw(KEYS[e : e + 1], CELL[e : e + 1])
            assert torch.equal(alone.labels[0], together.labels[e])
            if together.cell is None:
                assert torch.equal(alone.inputs[0], together.inputs[e])


def test_every_draw_is_another():
    planted = task(T=64, m=50, holdout=50)
    splits = (Stream.HOLDOUT, Stream.VALIDATION, Stream.TEST)
    inputs = [planted.sample(KEYS).inputs]
    inputs += [planted.stream(KEYS, step, 50).inputs for step in range(3)]
    inputs += [planted.held_out(KEYS, stream=split).inputs for split in splits]
    rows = torch.cat([x.reshape(-1, 2) for x in inputs])
    assert len(rows.unique(dim=0)) == len(rows) == 7 * 6 * 50


def test_a_step_may_be_a_tensor():
    planted = task(noise=0.1)
    by_tensor, by_number = planted.stream(KEYS, torch.tensor(5), 20), planted.stream(KEYS, 5, 20)
    assert torch.equal(by_tensor.inputs, by_number.inputs) and torch.equal(
        by_tensor.labels, by_number.labels
    )


def test_noise_flips_at_its_rate_and_spares_the_holdout():
    noisy, clean = task("parity", m=4000, noise=0.15), task("parity", m=4000)
    a, b = noisy.sample(KEYS), clean.sample(KEYS)
    assert torch.equal(a.inputs, b.inputs)
    flipped = (a.labels != b.labels).double()
    assert abs(float(flipped.mean()) - 0.15) < 4.5 * math.sqrt(0.15 * 0.85 / flipped.numel())
    assert np.abs(np.corrcoef(flipped.numpy()) - np.eye(6)).max() < 5 / math.sqrt(4000)
    assert torch.equal(noisy.held_out(KEYS).labels, clean.held_out(KEYS).labels)
    both = task("parity", holdout=4000, noise=0.15, holdout_noise=True).held_out(KEYS, CELLS, CELL)
    free = task("parity", holdout=4000).held_out(KEYS, CELLS, CELL)
    rate = float((both.labels != free.labels).double().mean())
    assert abs(rate - 0.15) < 4.5 * math.sqrt(0.15 * 0.85 / 24000)


def test_noise_is_fresh_at_every_step():
    flips = [
        task("parity", noise=0.5).stream(KEYS, step, 4000).labels
        ^ task("parity").stream(KEYS, step, 4000).labels
        for step in range(3)
    ]
    several = torch.stack(flips).flatten(1).double().numpy()
    assert np.abs(np.corrcoef(several) - np.eye(3)).max() < 5 / math.sqrt(24000)


@each("p", [0.5, 0.2])
@each("name", FUNCTIONS)
def test_the_rate_of_ones(name, p):
    planted = task(name, p=p, m=5000)
    data = planted.sample(KEYS)
    assert abs(float(unpack(data.inputs, 40, torch.float64).mean()) - p) < 0.002
    spread = math.sqrt(planted.rate * (1 - planted.rate) / data.labels.numel())
    assert abs(float(data.labels.double().mean()) - planted.rate) < 4.5 * spread


def test_a_tie_is_no_majority():
    even = Planted("majority", T=4, s=4)
    rows = pack(torch.tensor([[[1, 1, 0, 0], [1, 1, 1, 0]]]))
    assert even.labels(rows, torch.arange(4)[None]).tolist() == [[0, 1]]


@each(
    "wrong",
    [
        {"T": 2},
        {"T": 0},
        {"s": 0},
        {"m": -1},
        {"m": 2.5},
        {"p": 1.1},
        {"noise": -0.1},
        {"holdout": 0},
        {"k": 2},
        {"table": (0, 1)},
        {"name": "table", "table": (0, 1, 2, 0, 1, 0, 0, 0)},
        {"name": "threshold", "k": None},
        {"name": "nand"},
    ],
)
def test_refusals(wrong):
    with pytest.raises(DudleyError):
        Planted(**{"name": "and", "T": 10, "s": 3, **wrong})


def test_refused_draws():
    with pytest.raises(InputError, match="number of training examples"):
        Planted("and", T=10, s=3).sample(KEYS)
    with pytest.raises(InputError, match="cells"):
        task().held_out(KEYS, cell=CELL)
    with pytest.raises(InputError, match="cell"):
        task().held_out(KEYS, CELLS, CELL[:3])


def test_devices_agree():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    planted = task("table", noise=0.1, p=0.3, holdout_noise=True)
    for draw in (planted.sample, lambda k: planted.stream(k, 2, 30), planted.held_out):
        here, there = draw(KEYS), draw(KEYS.cuda())
        assert torch.equal(here.inputs, there.inputs.cpu())
        assert torch.equal(here.labels, there.labels.cpu())

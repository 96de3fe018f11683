"""Packed bits against the definition, bit by bit."""

import pytest

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.train.packed import column, pack, unpack, width

GENERATOR = torch.Generator().manual_seed(0)


def bits(*shape):
    return torch.randint(0, 2, shape, generator=GENERATOR)


@pytest.mark.parametrize("T", [1, 31, 32, 33, 64, 100])
def test_packing_there_and_back(T):
    array = bits(3, 4, T)
    words = pack(array)
    assert words.shape == (3, 4, width(T)) and words.dtype == torch.int32
    for t in range(T):
        assert torch.equal((words[..., t // 32] >> (t % 32)) & 1, array[..., t].int())
    for dtype in (torch.bool, torch.int64, torch.float32):
        assert torch.equal(unpack(words, T, dtype), array.to(dtype))
    assert torch.equal(pack(array.bool()), words)
    assert torch.equal(pack(unpack(words, 32 * width(T), torch.bool)), words)


def test_unused_bits_are_zero():
    words = pack(torch.ones(2, 33))
    assert words.tolist() == [[-1, 1]] * 2


def test_a_column_of_every_trial():
    array = bits(6, 5, 70)
    t = torch.tensor([0, 31, 32, 63, 64, 69])
    got = column(pack(array), t)
    for e in range(6):
        assert torch.equal(got[e], array[e, :, t[e]].int())


def test_a_column_of_shared_rows():
    array, cell = bits(2, 5, 70), torch.tensor([1, 0, 1, 1])
    t = torch.tensor([3, 68, 31, 40])
    got = column(pack(array), t, cell)
    for e in range(4):
        assert torch.equal(got[e], array[cell[e], :, t[e]].int())


@pytest.mark.parametrize(
    "refused",
    [
        lambda: pack(torch.tensor([0, 2])),
        lambda: unpack(torch.zeros(3, 2, dtype=torch.int32), 65, torch.bool),
        lambda: unpack(torch.zeros(3, 2), 64, torch.bool),
        lambda: column(torch.zeros(3, 2, 1, dtype=torch.int32), torch.tensor([0, 1])),
        lambda: column(torch.zeros(3, 2, dtype=torch.int32), torch.tensor([0, 1, 2])),
    ],
)
def test_refusals(refused):
    with pytest.raises(InputError):
        refused()

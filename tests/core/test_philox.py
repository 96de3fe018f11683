"""Counter-based draws: known answers, laws, independence of batch and device."""

import hashlib
import math

import numpy as np
import pytest
from scipy import special, stats

from dudley.core import normal_quantile as quantile
from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.philox import (
    Stream,
    below,
    key,
    keys_tensor,
    normal,
    packed_bits,
    permutations,
    philox,
    subsets,
    uniform,
    words,
)
from dudley.train.packed import unpack
from each import each

KEYS = keys_tensor([key("test", e) for e in range(5)])

# Random123's kat_vectors, philox4x32 with 10 rounds: counter, key, answer.
PI_COUNTER = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
KNOWN = [
    ((0,) * 4, (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (PI_COUNTER, (0xA4093822, 0x299F31D0), (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]


def by_integers(counter, pair, rounds=10):
    """Philox-4x32 in Python's integers, written from the paper: oracle."""
    x, (k0, k1) = list(counter), pair
    for r in range(rounds):
        left, right = (k0 + r * 0x9E3779B9) % 2**32, (k1 + r * 0xBB67AE85) % 2**32
        high0, low0 = divmod(0xD2511F53 * x[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * x[2], 2**32)
        x = [high1 ^ x[1] ^ left, low1, high0 ^ x[3] ^ right, low0]
    return tuple(x)


def by_torch(counter, pair, rounds=10):
    key_and_counter = [torch.tensor([v]) for v in (*pair, *counter)]
    return tuple(int(v) for v in philox(*key_and_counter, rounds=rounds))


@pytest.mark.parametrize(("counter", "pair", "answer"), KNOWN)
def test_known_answers(counter, pair, answer):
    assert by_torch(counter, pair) == answer
    assert by_integers(counter, pair) == answer


@pytest.mark.parametrize("rounds", [1, 7, 10])
def test_agrees_with_integers_on_random_counters(rounds):
    drawn = np.random.default_rng(0).integers(0, 2**32, (200, 6)).tolist()
    for row in drawn:
        assert by_torch(row[:4], row[4:], rounds) == by_integers(row[:4], row[4:], rounds)


def test_the_layout_of_words():
    got = words(KEYS, Stream.LABELS, 7, 11)
    for e in range(5):
        pair = tuple(KEYS[e].tolist())
        for i in range(11):
            assert got[e, i] == by_integers((i // 4, 0, 7, Stream.LABELS), pair)[i % 4]


def test_a_step_may_be_a_tensor_and_differ_between_trials():
    by_trial = words(KEYS, 1, torch.tensor([3, 4, 5, 6, 7]), 9)
    assert torch.equal(words(KEYS, 1, torch.tensor(5), 9), words(KEYS, 1, 5, 9))
    assert torch.equal(by_trial[2], words(KEYS, 1, 5, 9)[2])


def test_streams_are_numbered_for_ever():
    names = "INDICES INPUTS LABELS WEIGHTS ORDER DROPOUT HOLDOUT VALIDATION TEST TOKENS MONTE_CARLO"
    assert [f.name for f in Stream] == names.split() and list(Stream) == list(range(1, 12))


def test_a_key_is_the_hash_of_canonical_json():
    digest = hashlib.sha256(b'["and",{"T":100,"s":3},0.5]').hexdigest()
    assert key("and", {"s": 3, "T": 100}, 0.5) == int(digest[:16], 16)
    assert key("1") != key(1)
    assert keys_tensor([0x1234567890ABCDEF]).tolist() == [[0x90ABCDEF, 0x12345678]]
    assert keys_tensor([]).shape == (0, 2)


@each(
    "refused",
    [
        lambda: key(math.nan),
        lambda: key(object()),
        lambda: keys_tensor([-1]),
        lambda: keys_tensor([1 << 64]),
        lambda: words(KEYS[0], 0, 0, 4),
        lambda: words(KEYS, 0, -1, 4),
        lambda: words(KEYS, 0, 1 << 32, 4),
        lambda: packed_bits(KEYS, 0, 0, 1, 8, p=1.5),
        lambda: packed_bits(KEYS, 0, 0, 0, 8),
        lambda: subsets(KEYS, 5, 6),
        lambda: subsets(KEYS, 5, 0),
    ],
)
def test_refusals(refused):
    with pytest.raises(InputError):
        refused()


DRAWS = {
    "words": lambda k: words(k, 3, 2, 13),
    "bits": lambda k: packed_bits(k, 1, 0, 7, 45),
    "biased bits": lambda k: packed_bits(k, 1, 0, 7, 45, p=0.3),
    "uniform": lambda k: uniform(k, 3, 2, 13),
    "normal": lambda k: normal(k, 3, 2, 1001),
    "subsets": lambda k: subsets(k, 50, 5),
    "permutations": lambda k: permutations(k, 4, 9, 33),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_trial_alone_draws_as_in_a_batch(name):
    together = DRAWS[name](KEYS)
    for e in range(5):
        assert torch.equal(DRAWS[name](KEYS[e : e + 1])[0], together[e])
    assert len({str(trial.tolist()) for trial in together}) == 5


@pytest.mark.parametrize("name", DRAWS)
def test_devices_agree_to_the_last_bit(name):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    assert torch.equal(DRAWS[name](KEYS), DRAWS[name](KEYS.cuda()).cpu())


@pytest.mark.parametrize("name", DRAWS)
def test_draws_do_not_change(name):
    """Bits of one draw of each kind, pinned: a change would silently redo every experiment."""
    drawn = DRAWS[name](KEYS).numpy()
    assert hashlib.sha256(drawn.tobytes()).hexdigest()[:16] == PINNED[name]


PINNED = {
    "words": "63012cc3a8d8c0bc",
    "bits": "83249717bd5b4d4d",
    "biased bits": "333faec7524ec47e",
    "uniform": "5bcc402912e184e1",
    "normal": "8fed1f1c54ef1cb2",
    "subsets": "107c736102ba6565",
    "permutations": "e6c5451df30e289d",
}


def test_bits_at_a_half_are_the_words():
    got = unpack(packed_bits(KEYS, 1, 0, 3, 40), 40, torch.int64)
    plain = words(KEYS, 1, 0, 3 * 2).reshape(5, 3, 2)
    for t in range(40):
        assert torch.equal(got[..., t], (plain[..., t // 32] >> (t % 32)) & 1)


@pytest.mark.parametrize("p", [0.5, 0.25, 0.1, 0.9, 2.0**-32])
def test_biased_bits_are_a_comparison_with_p(p):
    """Bit (row, t) is 1 exactly if the number written by its planes, each inverted, is below p."""
    rows, T = 50, 37
    planes = torch.stack([words(KEYS, 1, 0, rows * 2, plane=j) for j in range(32)])
    bits = (planes.reshape(32, 5, rows, 2, 1) >> torch.arange(32)) & 1
    number = sum((1 - bits[j]) << (31 - j) for j in range(32)).flatten(-2)[..., :T]
    expected = number < round(p * 2**32)
    assert torch.equal(unpack(packed_bits(KEYS, 1, 0, rows, T, p), T, torch.bool), expected)


@each("p", [0.0, 0.03, 0.25, 0.5, 0.9, 1.0])
@each("T", [1, 31, 32, 33, 100])
def test_frequency_of_bits_and_unused_bits(p, T):
    packed = packed_bits(KEYS, 1, 3, 2000, T, p)
    assert packed.shape == (5, 2000, -(-T // 32)) and packed.dtype == torch.int32
    bits = unpack(packed, T, torch.float64)
    n = bits.numel()
    assert abs(float(bits.mean()) - p) <= 4.5 * math.sqrt(p * (1 - p) / n)
    every = unpack(packed, 32 * packed.shape[-1], torch.int64)
    assert int(every[..., T:].sum()) == 0


def test_bits_are_independent_of_each_other():
    bits = unpack(packed_bits(KEYS, 1, 0, 20000, 40, p=0.3), 40, torch.float64)[0].numpy()
    correlations = np.corrcoef(bits.T) - np.eye(40)
    assert np.abs(correlations).max() < 5 / math.sqrt(20000)


def test_uniforms_are_exact_midpoints():
    got, plain = uniform(KEYS, 1, 0, 500), words(KEYS, 1, 0, 500)
    assert got.dtype == torch.float64 and torch.equal(got * 2**33, (2 * plain + 1).double())
    assert stats.kstest(uniform(KEYS, 1, 0, 20000).flatten().numpy(), "uniform").pvalue > 1e-3


def test_normal_law():
    x = normal(KEYS, Stream.WEIGHTS, 0, 200_000).flatten().double().numpy()
    n = len(x)
    assert stats.kstest(x, "norm").pvalue > 1e-3
    for power, moment, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert abs((x**power).mean() - moment) < 4.5 * math.sqrt(variance / n)
    for level in (3.0, 4.0):
        tail = 2 * stats.norm.sf(level)
        assert abs((np.abs(x) > level).sum() - n * tail) < 4.5 * math.sqrt(n * tail)


def test_quantile_against_scipy():
    """Both ends, both sides of one half, every boundary of pieces, and a random sample."""
    ends = torch.arange(3000)
    octaves = torch.tensor([(8 + j << o) >> 4 for o in range(32) for j in range(8)])
    near = (octaves[:, None] + torch.arange(-2, 3)).flatten().clamp(0, 2**31 - 1)
    sample = words(KEYS[:1], Stream.MONTE_CARLO, 0, 300_000)[0]
    half = torch.cat([ends, near, sample % 2**31, 2**31 - 1 - ends])
    expected = special.ndtri((half.double().numpy() + 0.5) / 2**32)
    got = quantile.normal_quantile(half)
    error = np.abs(got.double().numpy() - expected)
    rounding = np.spacing(np.abs(expected).astype(np.float32)) * 0.5
    assert (error <= 1e-11 + 1.001 * rounding).all()
    assert torch.equal(quantile.normal_quantile(2**32 - 1 - half), -got)
    assert got.dtype == torch.float32 and float(got.min()) == pytest.approx(-6.338, abs=1e-3)


def test_the_table_is_the_same_everywhere():
    digits = "".join(c.hex() for row in quantile.coefficients() for c in row)
    assert hashlib.sha256(digits.encode()).hexdigest()[:16] == "12d807ae5e3826d7"
    assert len(quantile.coefficients()) == 256


def test_integers_below_bounds():
    many = keys_tensor([key("below", i) for i in range(20000)])
    got = below(many, 0, 0, torch.tensor([1, 6, 2**31 - 1]))
    assert int(got[:, 0].max()) == 0
    assert stats.chisquare(np.bincount(got[:, 1].numpy(), minlength=6)).pvalue > 1e-3
    assert stats.kstest(got[:, 2].numpy() / (2**31 - 1), "uniform").pvalue > 1e-3
    for number, (high, low) in zip(
        got[:, 2], words(many, 0, 0, 6)[:500, 4:].tolist(), strict=False
    ):
        assert number == ((high << 32 | low) * (2**31 - 1)) >> 64


@pytest.mark.parametrize(("T", "s"), [(6, 3), (5, 1), (7, 5)])
def test_subsets_are_uniform(T, s):
    many = keys_tensor([key("subset", i) for i in range(20000)])
    got = subsets(many, T, s)
    assert bool((got[:, 1:] > got[:, :-1]).all()) and int(got.min()) >= 0 and int(got.max()) < T
    counts = np.unique((2**got).sum(1).numpy(), return_counts=True)[1]
    assert len(counts) == math.comb(T, s) and stats.chisquare(counts).pvalue > 1e-3


def test_several_subsets_a_trial():
    got = subsets(KEYS[:1], 6, 3, Stream.TOKENS, step=2, rows=20000)
    assert got.shape == (1, 20000, 3) and bool((got[..., 1:] > got[..., :-1]).all())
    counts = np.unique((2**got).sum(-1).numpy(), return_counts=True)[1]
    assert len(counts) == 20 and stats.chisquare(counts).pvalue > 1e-3


def test_the_whole_set_is_its_own_subset():
    assert subsets(KEYS, 4, 4).tolist() == [[0, 1, 2, 3]] * 5


def test_permutations_are_uniform():
    many = keys_tensor([key("permutation", i) for i in range(20000)])
    got = permutations(many, Stream.ORDER, 3, 4)
    assert torch.equal(got.sort(1).values, torch.arange(4).expand(20000, 4))
    counts = np.unique((got * 4 ** torch.arange(4)).sum(1).numpy(), return_counts=True)[1]
    assert len(counts) == 24 and stats.chisquare(counts).pvalue > 1e-3

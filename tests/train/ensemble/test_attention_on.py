"""AND classifiers: attention on chosen places, against softmax by hand; sinusoids for places."""

from __future__ import annotations

import math

import torch

from dudley.core.philox import key, keys_tensor
from dudley.train.ensemble.and_classifier import AndEnsemble
from dudley.train.packed import pack

KEYS = keys_tensor([key("attention", trial) for trial in range(2)])


def shaken(ensemble: AndEnsemble) -> dict[str, torch.Tensor]:
    """First weights, far enough from zero that attention is not flat."""
    source = torch.Generator().manual_seed(0)
    return {
        name: W + 0.5 * torch.randn(W.shape, generator=source)
        for name, W in ensemble.start(KEYS).items()
    }


def by_hand(weights, e: int, bits: torch.Tensor, T: int, d: int, H: int) -> torch.Tensor:
    """Softmax weights (N, H, T + 1) of the [CLS] row, head by head."""
    of = {name.removeprefix("weights."): W[e].double() for name, W in weights.items()}
    codes = torch.nn.functional.pad(bits.long(), (0, 1), value=2)
    Z = of["0.W_E"][codes] + of["1.P"]
    Z = torch.nn.functional.layer_norm(Z, (d,), eps=1e-5)
    Z = Z * of["2.0.0.gain"][:, 0] + of["2.0.0.bias"]
    Q, K = (Z @ of[f"2.0.1.W_{x}"] + of[f"2.0.1.b_{x}"] for x in "QK")
    k, heads = d // H, []
    for h in range(H):
        part = slice(h * k, (h + 1) * k)
        scores = (K[..., part] * Q[:, -1:, part]).sum(-1) / math.sqrt(k)
        heads.append(scores.softmax(-1))
    return torch.stack(heads, 1)


def test_the_share_on_places_is_that_of_softmax():
    T, d, H, places = 40, 8, 2, torch.tensor([[0, 7, 39], [3, 31, 32]])
    ensemble = AndEnsemble(T, d, H, dropout=(0.0, 0.0, 0.0))
    weights = shaken(ensemble)
    bits = torch.randint(0, 2, (2, 9, T), generator=torch.Generator().manual_seed(1))
    shares = ensemble.attention_on(weights, pack(bits), places)
    assert shares.shape == (2, 9, H, 2)
    for e in range(2):
        whole = by_hand(weights, e, bits[e], T, d, H)
        expected = whole[..., places[e]].sum(-1)
        both = torch.stack([expected, whole[..., -1]], -1)  # and [CLS] itself, which stands last
        torch.testing.assert_close(shares[e].double(), both, rtol=1e-4, atol=1e-6)
        assert not torch.allclose(expected, whole[..., places[1 - e]].sum(-1), rtol=1e-2)


def test_sinusoids_are_the_same_rows_in_a_network_and_its_twin():
    ensemble = AndEnsemble(T=30, d=8, H=2, places="waves")
    P = ensemble.start(KEYS)["weights.1.P"]
    twin = ensemble.twin().state_dict()["weights.1.P"]
    assert P.shape == (2, 31, 8) and P[0].equal(P[1]) and P[0].equal(twin)
    norms = P.double().norm(dim=-1)  # those of rows of N(0, .02²), on average
    torch.testing.assert_close(norms, torch.full_like(norms, 0.02 * math.sqrt(8)))
    assert abs(float(P[0, 5, 0]) - math.sqrt(2) * 0.02 * math.sin(5.0)) < 1e-8
    other = AndEnsemble(T=30, d=8, H=2).start(KEYS)
    same = ensemble.start(KEYS)
    assert all(W.equal(same[name]) == (name != "weights.1.P") for name, W in other.items())

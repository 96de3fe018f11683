"""Attention over bits, case by case: what each way to compute it is given and must answer.

As a program, ``python attention_cases.py FILE CASE…`` with TRITON_INTERPRET=1, it writes what the
Triton kernels answer into a file: their interpreter has to be chosen before Triton is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch

import adam_cases
import majority_cases
import tail_cases
from dudley.core.philox import Stream, keys_tensor, packed_bits
from dudley.train.ensemble import and_classifier
from dudley.train.ensemble.and_classifier import AndEnsemble
from dudley.train.ensemble.base import Noise
from dudley.train.ensemble.bit_attention import choose, masks, plain
from dudley.train.ensemble.bit_attention.by_trial import ByTrial
from dudley.train.ensemble.rows import Padded, Shared

NAMES = ("mixed", "mass", "base", "lift", "K")  # two outputs, then gradients
NAMES_OF_HEADS = ("heads", "base", "lift", "q", "A", "B", "b")  # the output, then gradients


@dataclass(frozen=True)
class Case:
    """Sizes, who has how many examples, dropout; sizes of rows, their means, scores, gradients."""

    T: int = 20
    D: int = 32
    H: int = 16
    counts: tuple[int, ...] = (2, 1)
    dropout: tuple[float, float] = (0.1, 0.1)
    rows: float = 0.3
    mean: float = 0.0
    sharp: float = 1.0
    pull: float = 1.0  # of mixed; that of mass is 1

    @property
    def M(self) -> int:
        return max(self.counts)

    @property
    def noise(self) -> Noise:
        keys = [(2**63 + 5) * (e + 1) % 2**64 for e in range(len(self.counts))]
        return Noise(keys_tensor(keys), torch.tensor(7))

    def inputs(self) -> dict[str, torch.Tensor]:
        """Inputs in float64; K and the gradient of mixed are orthogonal to the vector of ones."""
        source, E = torch.Generator().manual_seed(0), len(self.counts)

        def drawn(*shape, size=0.3):
            return size * torch.randn(shape, generator=source, dtype=torch.float64)

        return {
            "base": drawn(E, self.T + 1, self.D, size=self.rows) + self.mean,
            "lift": drawn(E, self.D, size=self.rows),
            "K": centred(drawn(E, self.H, self.M, self.D)) * self.sharp,
            "d_mixed": centred(drawn(E, self.H, self.M, self.D)) * self.pull,
            "d_mass": drawn(E, self.M, self.H),
            "words": packed_bits(self.noise.keys, Stream.INPUTS, 0, self.M, self.T),
            "counts": torch.tensor(self.counts, dtype=torch.int32),
            **self.folded(),
        }

    def folded(self) -> dict[str, torch.Tensor]:
        """Queries, matrices and a gradient of heads that make K and d_mixed of about these sizes;
        where d_mixed is none, no heads are made of mixed."""
        source, E, size = torch.Generator().manual_seed(4), len(self.counts), (self.D // self.H)

        def drawn(*shape, size=0.3):
            return size * torch.randn(shape, generator=source, dtype=torch.float64)

        A, B = (centred(drawn(E, self.D, self.D, size=size**-0.5).mT).mT for _ in range(2))
        return {
            "q": drawn(E, self.M, self.D),
            "A": A * self.sharp,
            "B": B * (self.pull > 0),
            "b": drawn(E, 1, self.D, size=1.0),
            "d_heads": drawn(E, self.M, self.D) * (self.pull or 1.0),
        }


def on_threshold(case: Case, half: str) -> Case:
    """Rates that are drawn numbers themselves, which stay: the least that do."""
    words = masks.example_words(case.noise.keys, case.noise.step, 1)[0]
    drawn = masks.hash_numbers(np.arange(case.D // 2 + case.H), words)[0]
    rows, weights = drawn[: case.D // 2], drawn[case.D // 2 :] & 0xFFFF
    rows = rows & 0xFFFF if half == "low" else rows >> 16
    rates = (min(float(x) for x in of / 2**16 if x > 0.1) for of in (rows, weights))
    return replace(case, dropout=tuple(rates))


# Of sizes that the kernels fit; NARROW ones are also computed in float16.
CASES = {
    "both": Case(T=37, D=64, counts=(3, 2)),
    "first weights": Case(rows=0.03, sharp=0.05),
    "none": Case(dropout=(0.0, 0.0)),
    "rows": Case(dropout=(0.5, 0.0)),
    "weights": Case(dropout=(0.0, 0.3)),
    "nearly all": Case(dropout=(0.8, 0.9)),
    "three blocks of tokens": Case(T=130, counts=(1,)),
    "two splits of examples": Case(T=6, counts=(9,)),
    "heads in parts": Case(T=2, counts=(40, 3)),
    "a trial without examples": Case(T=6, counts=(2, 0, 1)),
    "whole words": Case(T=64, counts=(1,)),
    "one token": Case(T=1),
    "sharp": Case(sharp=15.0),
    "far from centred": Case(mean=0.5, dropout=(0.1, 0.0)),
    "small gradient": Case(pull=1e-6),
    "gradient of mass alone": Case(pull=0.0),
}
CASES |= {f"on a threshold, {half} half": on_threshold(Case(), half) for half in ("low", "high")}
QUICK = ("both", "none", "three blocks of tokens", "small gradient")  # what `make test` interprets
NARROW = ("both", "first weights", "sharp", "small gradient", "gradient of mass alone")
CASES_OF_PROCESSOR = CASES | {
    "two heads": Case(T=8, D=16, H=2, counts=(4, 6, 1)),
    "no power of two": Case(T=11, D=6, H=3, counts=(4, 2)),
    "more than sixteen heads": Case(T=9, D=40, H=20, counts=(2, 3)),
}


def centred(x: torch.Tensor) -> torch.Tensor:
    return x - x.mean(-1, keepdim=True)


def answers(case: Case, attend, dtype=torch.float64, device="cpu") -> dict[str, torch.Tensor]:
    """What ``attend(base, lift, K, words, counts, noise, dropout)`` makes of a case, by NAMES.

    Mixed and the gradient of K are free in their means over coordinates, which are taken off.
    """
    inputs = {name: x.to(device) for name, x in case.inputs().items()}
    leaves = [inputs[name].to(dtype).requires_grad_() for name in NAMES[2:]]
    noise = Noise(case.noise.keys.to(device), case.noise.step.to(device))
    mixed, mass = attend(*leaves, inputs["words"], inputs["counts"], noise, case.dropout)
    pulls = inputs["d_mixed"].to(dtype), inputs["d_mass"].to(dtype)
    d_base, d_lift, d_K = torch.autograd.grad((mixed, mass), leaves, pulls)
    outputs = (centred(mixed), mass, d_base, d_lift, centred(d_K))
    return {name: x.detach().cpu().double() for name, x in zip(NAMES, outputs, strict=True)}


def answers_of_heads(case: Case, attend_heads, dtype=torch.float64, device="cpu") -> dict:
    """What ``attend_heads(base, lift, q, A, B, b, words, counts, noise, H, dropout)`` makes of it.

    Gradients of matrices are free in their means over columns, which are taken off.
    """
    inputs = {name: x.to(device) for name, x in case.inputs().items()}
    leaves = [inputs[name].to(dtype).requires_grad_() for name in NAMES_OF_HEADS[1:]]
    noise = Noise(case.noise.keys.to(device), case.noise.step.to(device))
    rest = inputs["words"], inputs["counts"], noise, case.H, case.dropout
    heads = attend_heads(*leaves, *rest)
    pulls = torch.autograd.grad(heads, leaves, inputs["d_heads"].to(dtype))
    outputs = dict(zip(NAMES_OF_HEADS, (heads, *pulls), strict=True))
    outputs |= {name: centred(outputs[name].mT).mT for name in ("A", "B")}
    return {name: x.detach().cpu().double() for name, x in outputs.items()}


def heads_by_definition(base, lift, q, A, B, b, words, counts, noise, H, dropout):
    """`by_definition` between queries and heads, both by their formulas."""
    q, A, B, b = (x.unflatten(2, (H, -1)) for x in (q, A, B, b))
    K = torch.einsum("emhk,edhk->ehmd", q, A)
    mixed, mass = by_definition(base, lift, K, words, counts, noise, dropout)
    heads = torch.einsum("ehmd,edhk->emhk", mixed, B) + mass[..., None] * b
    return heads.flatten(2)


def by_definition(base, lift, K, words, counts, noise, dropout):
    """`plain`, with every mask made and rows that are no examples left out one by one."""
    E, H, M, D = K.shape
    κ, μ = choose.factors(noise, M, base.shape[1] - 1, D, H, dropout)
    mixed, mass = torch.zeros_like(K), K.new_zeros(E, M, H)
    for e, m in enumerate(counts.tolist()):
        if m == 0:
            continue
        member, rows = slice(e, e + 1), slice(0, m)
        masks = κ[member, rows].to(K), μ[member, rows].to(K)
        outputs = plain.attend(
            base[member], lift[member], K[member, :, rows], words[member, rows], *masks
        )
        mixed[member, :, rows], mass[member, rows] = outputs
    return mixed, mass


def by_trial(base, lift, K, words, counts, noise, dropout):
    return ByTrial.apply(base, lift, K, words, counts, noise.keys, noise.step, dropout)


def by_compiled(base, lift, K, words, counts, noise, dropout):
    from dudley.train.ensemble.bit_attention.compiled import Compiled

    return Compiled.apply(base, lift, K, words, counts, noise.keys, noise.step, dropout)


def heads_by_kernels(base, lift, q, A, B, b, words, counts, noise, H, dropout):
    keys = choose.join_keys(noise.keys)
    return choose.fused.Fused.apply(
        base, lift, q, A, B, b, words, counts, keys, noise.step, H, dropout
    )


def classifiers(
    T: int = 37, d: int = 32, H: int = 4, classes: int = 3, spread: float = 1.0
) -> tuple[AndEnsemble, dict[str, torch.Tensor], Shared]:
    """Networks, weights in float64 (none is 0 or 1) and 70 examples of two cells, for `logits`.

    ``spread`` makes keys larger, and so how far apart scores are.
    """
    source, keys = torch.Generator().manual_seed(1), keys_tensor([3, 4, 5])
    networks = AndEnsemble(T=T, d=d, H=H, classes=classes)
    weights = {
        name: W.double() + 0.3 * torch.randn(W.shape, generator=source, dtype=torch.float64)
        for name, W in networks.start(keys).items()
    }
    weights["weights.2.0.1.W_K"] *= spread
    words = packed_bits(keys[:2], Stream.HOLDOUT, 0, 70, T)
    words[:, 0] = 0  # a row without ones
    return networks, weights, Shared(words, (torch.tensor([0, 2]), torch.tensor([1])))


CLASSIFIERS = {
    "odd sizes": {},
    "whole words": {"T": 64, "d": 16, "H": 16, "classes": 2},
    "one token": {"T": 1, "d": 16, "H": 1, "classes": 2},
    "far apart": {"T": 11, "spread": 8.0},
}


def by_logits(name: str, device) -> torch.Tensor:
    """An evaluation in float32 that takes the kernels, also where they are only interpreted."""
    networks, weights, rows = classifiers(**CLASSIFIERS[name])
    fits, and_classifier.kernels_fit = and_classifier.kernels_fit, lambda *_: True
    weights = {name: W.float().to(device) for name, W in weights.items()}
    shared = Shared(rows.rows.to(device), tuple(apart.to(device) for apart in rows.members))
    alive = torch.tensor([True, False, True], device=device)
    counts = torch.tensor([70, 3, 41], dtype=torch.int32, device=device)
    with torch.no_grad():
        logits = networks.evaluate(weights, shared)
        apart = shared.rows[shared.cell]
        logits_apart = networks.evaluate(weights, apart)
        logits_alike = networks.evaluate(weights, shared.rows[0])
        some = networks.evaluate(weights, shared, alive)
        padded = networks.evaluate(weights, Padded(apart, counts))
    and_classifier.kernels_fit = fits
    assert logits_apart.equal(logits), "the same rows, given to each member"
    assert logits_alike[[0, 2]].equal(logits[[0, 2]]), "the same rows, given to all"
    assert some[[0, 2]].equal(logits[[0, 2]]) and not some[1].any(), "nothing for whom nobody asks"
    used = torch.arange(70, device=device)[:, None] < counts[:, None, None]
    assert padded.equal(torch.where(used, logits, 0.0)), "nothing in rows that are not used"
    return logits.double().cpu()


def by_table(device) -> torch.Tensor:
    """Parts of the table of the first classifiers, (parts, E, 2T, D+H), ones before zeros."""
    networks, weights, _ = classifiers()
    w = and_classifier._Parts({name: W.float().to(device) for name, W in weights.items()})
    z = and_classifier._normal(w.P[:, -1:] + w.W_E[:, 2:]) * w.gain_1.mT + w.bias_1
    u = networks._folded_query(w, z)
    assert and_classifier.fused_table is not None
    rows = (w.P, w.W_E, w.gain_1, w.bias_1)
    table, _ = and_classifier.fused_table.make_table(*rows, u, z @ u, w.W_v, w.b_v)
    parts = 1 if table.dtype == torch.float32 else 2
    above, below = table.double().cpu().split([parts * networks.d, parts * 16], -1)
    both = [part.unflatten(-1, (parts, -1)).movedim(-2, 0) for part in (above, below)]
    whole = torch.cat([both[0], both[1][..., : networks.H]], -1)
    place = [(k % 2) * 16 + k // 2 % 4 * 4 + k // 8 for k in range(32)]
    by_bit = whole.unflatten(2, (-1, 2, 32))[..., torch.tensor(place).argsort(), :]
    assert not both[1][..., networks.H :].any(), "nothing in padded columns"
    by_bit = by_bit.transpose(2, 3).flatten(3, 4)  # (parts, E, bit, t, column)
    assert not by_bit[..., networks.T :, :].any(), "nothing past the last position"
    return by_bit[..., : networks.T, :].flatten(2, 3)


def by_gelu(device) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers of all sizes, and what the kernel makes of them."""
    from gelu_kernel import gelu

    x = torch.cat([torch.linspace(-12, 12, 1 << 16), torch.tensor([-1e6, -40.0, 0.0, 40.0, 1e6])])
    return x, gelu(x.to(device)).cpu()


def of_kernels(device="cpu", names: Iterable[str] = CASES) -> dict:
    """All that kernels answer: (case, precision) ↦ by NAMES_OF_HEADS, (case, "rows") ↦ factors…"""
    answers_by, settings = {}, choose.fused.SETTINGS
    whole = not set(names) <= set(QUICK)
    before = settings.precision
    for name in names:
        case = CASES[name]
        for settings.precision in ("ieee", "fp16") if name in NARROW else ("ieee",):
            outputs = answers_of_heads(case, heads_by_kernels, torch.float32, device)
            answers_by[name, settings.precision] = outputs
        keys, step = choose.join_keys(case.noise.keys).to(device), case.noise.step.to(device)
        rows = [
            choose.fused.factors(keys, step, case.M, case.D, case.H, t, case.dropout[0]).cpu()
            for t in (0, case.T, case.T + 2)
        ]
        answers_by[name, "rows"] = torch.stack(rows)
    for settings.precision in ("ieee", "fp16"):
        if whole:
            answers_by["table", settings.precision] = by_table(device)
        for name in CLASSIFIERS if whole else ():
            answers_by["logits", name, settings.precision] = by_logits(name, device)
        majorities = majority_cases.of_kernels(device)
        answers_by |= {(name, settings.precision): x for name, x in majorities.items()}
    answers_by |= tail_cases.of_kernels(settings, device)
    settings.precision = before
    if whole:
        answers_by["gelu"] = by_gelu(device)
    return answers_by | adam_cases.of_kernels(device)


if __name__ == "__main__":
    torch.save(of_kernels(names=sys.argv[2:]), sys.argv[1])

"""The ordinary way: one model, one module, one loop; full attention by torch's own kernel.

The same network as `dudley.models.AndClassifier`, written as one would for one training, without
the twin's generality, so that the ratio to it is a fair one.
"""

from __future__ import annotations

import time

import torch
from torch import nn
from torch.nn import functional as F


class Transformer(nn.Module):
    """One block in the manner of minGPT on tokens (B, T+1), [CLS] last ↦ two logits."""

    def __init__(self, T: int, d: int = 64, H: int = 16, p: float = 0.1):
        super().__init__()
        self.H, self.p = H, p
        self.tokens, self.positions = nn.Embedding(3, d), nn.Parameter(torch.zeros(T + 1, d))
        self.before, self.qkv, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.between = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d), nn.Dropout(p))
        self.after, self.head = nn.LayerNorm(d), nn.Linear(d, 2, bias=False)
        self.drop = nn.Dropout(p)
        for name, W in self.named_parameters():
            if W.ndim == 2 or name == "positions":
                nn.init.normal_(W, std=0.02)

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        x = self.drop(self.tokens(codes) + self.positions)
        q, k, v = (
            part.unflatten(-1, (self.H, -1)).transpose(1, 2)
            for part in self.qkv(self.before(x)).chunk(3, -1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p * self.training)
        x = x + self.drop(self.out(mixed.transpose(1, 2).flatten(2)))
        x = x + self.mlp(self.between(x))
        return self.head(self.after(x[:, -1]))


def seconds(T: int, m: int, device: str, steps: int, rows: int, model=None) -> tuple[float, float]:
    """Seconds of one training step with m examples, and of one hold-out of 10,000.

    ``steps`` are timed after two to warm up; the hold-out is timed on ``rows`` and scaled.
    """
    torch.manual_seed(0)
    net = (model or Transformer(T)).to(device)
    tokens = getattr(net, "tokens_of", lambda bits: F.pad(bits, (0, 1), value=2))
    X, y = tokens(torch.randint(2, (m, T), device=device)), torch.randint(2, (m,), device=device)
    unseen = tokens(torch.randint(2, (rows, T), device=device))
    optimiser = torch.optim.AdamW(net.parameters(), 1e-3, weight_decay=1e-4)

    def step():
        optimiser.zero_grad()
        F.cross_entropy(net(X).reshape(m, 2), y).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()

    def holdout():
        net.eval()
        with torch.no_grad():
            for part in unseen.split(500):
                net(part).argmax(-1)
        net.train()

    for _ in range(2):
        step()
    holdout()
    return _timed(step, device, steps), _timed(holdout, device, 1) * 10_000 / rows


def _timed(work, device: str, times: int) -> float:
    def now() -> float:
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        return time.perf_counter()

    start = now()
    for _ in range(times):
        work()
    return (now() - start) / times

"""CPU time of logging the losses of a step, against the rest of the step.

A step of a small Transformer on 64 rows of 33 tokens, whose losses per example come from its own
forward pass. Both parts are measured in each step, so that a busy machine slows both alike, and the
median of the ratios counts. Waiting for the disk is no CPU time. The record is
``results/certificates/one-pass-speed.json``:

    python benchmarks/bench_one_pass.py
"""

import json
import tempfile
import time
from pathlib import Path
from statistics import median

from dudley.certificates.methods.prequential.log import Prequential
from dudley.core.backend import torch
from dudley.core.provenance import provenance

STEPS, ROWS, TOKENS, d = 60, 64, 33, 64
ALLOWED = 0.05
RECORD = Path(__file__).resolve().parents[1] / "results/certificates/one-pass-speed.json"


def logging_share() -> float:
    """Seconds of logging a step, over those of the rest of it."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layer = torch.nn.TransformerEncoderLayer(d, 4, 4 * d, 0.0, batch_first=True)
    model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 2), torch.nn.Linear(d, 2))
    optimiser = torch.optim.AdamW(model.parameters(), 1e-4)
    X, y = torch.randn(ROWS, TOKENS, d), torch.randint(0, 2, (ROWS,))

    def step(log: Prequential) -> float:
        begin = time.process_time()
        outputs = model(X)[:, 0]
        losses = torch.nn.functional.cross_entropy(outputs, y, reduction="none")
        before = time.process_time()
        log.before(None, losses.detach().clamp(max=8.0))
        after = time.process_time()
        optimiser.zero_grad()
        losses.mean().backward()
        optimiser.step()
        return (after - before) / (time.process_time() - after + before - begin)

    with (
        tempfile.TemporaryDirectory() as folder,
        Prequential(folder, loss="bounded", limit=8.0, sync=1.0) as log,
    ):
        step(log)
        return median(step(log) for _ in range(STEPS))


def test_a_logged_step_costs_at_most_a_twentieth_more():
    share = logging_share()
    print(f"\nlogging / the rest of a step = {share:.4f}")
    assert share <= ALLOWED


if __name__ == "__main__":
    record = {"benchmark": "one pass", "provenance": provenance(), "rows": ROWS, "steps": STEPS}
    record["logging_over_the_rest_of_a_step"] = round(logging_share(), 4)
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(record)

"""Do trainings of the AND grid succeed alike: by earlier kernels, by new ones, in fast mode?

    PYTHONPATH=src python benchmarks/gpu_agreement.py results/gpu-train

Reads the tables of `gpu_train.py` there (parts `and`, `and-fast` and `precision`) and the trials of
the paper's record, which the earlier kernels trained. Seeds are the same, so each trial is paired
with itself. Success is by the best check. Margin and level are those of `fast_mode.py`, where they
were committed before any of the later runs. Writes agreement.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

from fast_mode import CONFIG  # noqa: E402

from dudley.lab.shared.training_table import PLAIN  # noqa: E402
from dudley.lab.statistics.discordant import DiscordantPairs  # noqa: E402

EARLIER = ROOT / "results/edelman2021-and/paper/trials.parquet"
TRIAL = ("T", "m", "trial")


def columns(path: Path) -> dict[str, np.ndarray]:
    """Trials with plain names, in the order of T, m and trial."""
    table = pq.read_table(path)
    names = {name: name if name in table.column_names else PLAIN[name] for name in PLAIN}
    trials = {n: table[c].to_numpy() for n, c in names.items() if c in table.column_names}
    order = np.lexsort([trials[name] for name in reversed(TRIAL)])
    return {name: column[order] for name, column in trials.items()}


def compared(first: np.ndarray, other: np.ndarray, lengths: np.ndarray) -> dict:
    """Paired successes of all trials together, and McNemar's p at each length."""
    pairs = DiscordantPairs.of(first, other)
    verdict = pairs.equivalence(CONFIG["margin"], CONFIG["alpha"])
    by_T = {}
    for T in np.unique(lengths):
        hits = first[lengths == T], other[lengths == T]
        at_T = DiscordantPairs.of(*hits)
        by_T[str(T)] = {
            "successes": [int(side.sum()) for side in hits],
            "first_alone": at_T.first_alone, "other_alone": at_T.other_alone, "mcnemar_p": at_T.p,
        }  # fmt: skip
    return {
        "trials": pairs.trials,
        "first_alone": pairs.first_alone, "other_alone": pairs.other_alone,
        "difference": pairs.difference, "interval": [verdict.lowest, verdict.highest],
        "p": verdict.p, "equivalent": bool(verdict.equivalent), "mcnemar_p": pairs.p, "by_T": by_T,
    }  # fmt: skip


def last_losses(full: dict, fast: dict) -> dict:
    """Of the trials that fast mode did not stop: how many end with the full run's very loss?"""
    counts = {}
    for T in np.unique(full["T"]):
        ended = (full["T"] == T) & (fast["steps"] == full["steps"])
        same = fast["train_loss_last"][ended] == full["train_loss_last"][ended]
        counts[str(T)] = {"trials": int(ended.sum()), "same": int(same.sum())}
    return counts


def agreement(folder: Path) -> dict:
    """The record: which pairs of runs agree, and the pairs of trials where fast mode does not."""
    full, fast = columns(folder / "and.parquet"), columns(folder / "and-fast.parquet")
    earlier, exact = columns(EARLIER), columns(folder / "and-ieee.parquet")
    short = np.isin(full["T"], exact["T"])
    for name in TRIAL:
        assert np.array_equal(full[name], fast[name]) and np.array_equal(full[name], earlier[name])
        assert np.array_equal(full[name][short], exact[name])
    runs = {"earlier": earlier, "full": full, "fast": fast, "float32": exact}
    success = {name: table["best"] > CONFIG["learnt"] for name, table in runs.items()}
    tokens = full["m"] * (full["T"] + 1)
    discordant = np.flatnonzero(success["full"] != success["fast"])
    return {
        **{name: CONFIG[name] for name in ("learnt", "margin", "alpha")},
        "level": 1 - 2 * CONFIG["alpha"],
        "successes": {name: int(hits.sum()) for name, hits in success.items()},
        "earlier and full": compared(success["earlier"], success["full"], full["T"]),
        "float32 and full": compared(success["float32"], success["full"][short], exact["T"]),
        "full and fast": compared(success["full"], success["fast"], full["T"]) | {
            "share_of_token_steps": float(tokens @ fast["steps"] / (tokens @ full["steps"])),
            "same_last_loss": last_losses(full, fast),
            "pairs": [
                {name: full[name][i].item() for name in TRIAL}
                | {"full_best": full["best"][i].item(), "fast_best": fast["best"][i].item(),
                   "fast_steps": fast["steps"][i].item()}
                for i in discordant
            ],
        },
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    text = json.dumps(agreement(folder), indent=1) + "\n"
    (folder / "agreement.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

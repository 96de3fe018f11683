"""Validity by simulation on trained models: how often is a certificate below the true risk?

    OMP_NUM_THREADS=1 python benchmarks/certificates/validity.py
    PYTHONPATH=src python benchmarks/certificates/validity.py --device cuda --workers 16 \\
        --out "$OUT/validity.json"

A repetition draws a hidden function (majority of s of T bits), noisy labels and examples, trains a
model on them, and certifies it at δ = 0.1 as a user would: choose, then certify. All repetitions
of a method are trained side by side by `dudley.train` on the device; certificates are computed on
the processor. The true risk is a sum over all 2^T inputs. Of a randomised head scores are drawn and
everything else is integrated: a number that is not five standard errors above the risk is counted
as a failure. ``p_value`` is P[Bin(repetitions, δ) ≥ failures].

Beside each method stands a leaky variant: the same errors of the same models, with what was chosen
after the data not paid for. Where it fails more often than δ, the simulation has seen what prices
are for. In *hold-out, stopped* the training looks at the hold-out at every check and keeps the best
checkpoint, which is declared (``looks``). *occam* certifies what ``compress`` makes of the trained
model, *pac-bayes* a Gaussian that was trained for Catoni's objective (`validity_heads`).
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import torch
from scipy import special, stats

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks"), str(ROOT / "benchmarks/certificates")]

from gpu_ascent import machine, source_hash  # noqa: E402
from validity_heads import register  # noqa: E402

from dudley.calculus.inversion import binomial_upper, kl_upper  # noqa: E402
from dudley.certificates.base import method_named  # noqa: E402
from dudley.certificates.data import Dataset  # noqa: E402
from dudley.certificates.fit.heads import tables  # noqa: E402
from dudley.certificates.fit.quantised import compress  # noqa: E402
from dudley.certificates.hypothesis import Hypothesis  # noqa: E402
from dudley.certificates.methods.pac_bayes.posterior import Posterior  # noqa: E402
from dudley.certificates.methods.pac_bayes.prior import Zero  # noqa: E402
from dudley.core.philox import subsets  # noqa: E402
from dudley.train.packed import unpack  # noqa: E402
from dudley.train.precision import precision  # noqa: E402
from dudley.train.problem import Problem  # noqa: E402
from dudley.train.trainer import Memory, Trainer  # noqa: E402

SEED, δ, T, DRAWS, ERRORS = 1, 0.1, 8, 2000, 5.0
C = -math.log(δ)
BITS = {"name": "bits", "T": T}
INPUTS = ((np.arange(2**T)[:, None] >> np.arange(T)) & 1).astype(np.uint8)
TASK = {"name": "majority", "T": T, "s": 3, "noise": 0.125, "holdout_noise": True}
HEAD, RANDOM = {"name": "bit-head"}, {"name": "random-bit-head"}
ADAM = {"name": "adam", "lr": 0.05}
SPARSE = {
    "name": "constrained",
    "optimiser": ADAM,
    "penalties": [{"norm": "l11", "strength": 0.8}],
    "balls": [
        {"norm": "linf", "radius": 8.0, "weights": "*.v"},
        {"norm": "linf", "radius": 1.0, "weights": "*.W_v"},
    ],
}
TRAINED = {
    "steps": 400, "evaluate_every": 20, "loss": "logistic", "evaluate": [], "precision": "ieee"
}  # fmt: skip
STOPPED = {"evaluate_every": 5, "evaluate": ["holdout"], "keep": [{"metric": "holdout_accuracy"}]}
LOOKS = TRAINED["steps"] // STOPPED["evaluate_every"]
METHODS: dict[str, dict[str, Any]] = {
    "hold-out": {
        "n": 100, "holdout": 100, "model": HEAD, "training": TRAINED | {"optimiser": ADAM},
        "declared": {}, "leaky": "the examples that the model was trained on are the hold-out",
    },
    "hold-out, stopped": {
        "n": 60, "holdout": 60, "model": HEAD, "training": TRAINED | STOPPED | {"optimiser": ADAM},
        "declared": {"looks": LOOKS}, "leaky": f"the best of {LOOKS} checkpoints, declared as one",
    },
    "norm-cover": {
        "n": 1000, "model": HEAD, "training": TRAINED | {"optimiser": SPARSE}, "declared": {},
        "leaky": "errors at margin 0; cover, norms and margin not paid for",
    },
    "occam": {
        "n": 150, "model": HEAD, "training": TRAINED | {"optimiser": ADAM}, "declared": {},
        "leaky": "bits not paid for",
    },
    "pac-bayes": {
        "n": 400, "model": RANDOM, "training": TRAINED | {"optimiser": ADAM, "loss": "gibbs"},
        "declared": {"pairs": 5000, "forms": ["kl", "catoni"]},
        "leaky": "kl inversion at the drawn errors; divergence and draws not paid for",
    },
}  # fmt: skip


def trained(method: str, repetitions: int, device: str) -> list[dict[str, Any]]:
    """One case a repetition: weights after training, training and held-out data, hidden places."""
    register()
    how = METHODS[method]
    task = TASK | {"m": how["n"], "holdout": how.get("holdout", 1)}
    config = {"task": task, "model": how["model"], "training": how["training"], "trial": 0}
    # A seed of its own makes each repetition a cell of its own, with its own hold-out.
    problem = Problem([config | {"seed": SEED + 1_000_003 * r} for r in range(repetitions)], device)
    trainer = Trainer(problem, Memory())
    trainer.run()
    weights = trainer.whole.weights
    if how["training"].get("keep"):
        weights = trainer.period.best_weights(trainer.whole, "holdout_accuracy")
    holdout, sample = problem.split("holdout"), problem.sample
    parts = {
        "X": unpack(sample.inputs.rows, T, torch.uint8),
        "y": sample.labels,
        "held_X": unpack(holdout.inputs.rows[holdout.inputs.cell], T, torch.uint8),
        "held_y": holdout.labels,
        "hidden": subsets(problem.keys, T, TASK["s"]),
        **{f"weights/{name}": W.detach().double() for name, W in weights.items()},
    }
    arrays = {name: part.cpu().numpy() for name, part in parts.items()}
    return [
        {"method": method, "repetition": r, **{name: part[r] for name, part in arrays.items()}}
        for r in range(repetitions)
    ]


def judged(case: dict[str, Any]) -> dict[str, float]:
    """The certificate of one trained model, its risk, and the leaky number with its own."""
    method, how = case["method"], METHODS[case["method"]]
    train, declared = Dataset(case["X"], case["y"]), {"delta": δ, **how["declared"]}
    W = {n.rpartition("/")[2]: W for n, W in case.items() if n.startswith("weights/")}
    if method == "pac-bayes":
        mean = {f"0.{name}": W[f"mean.{name}"] for name in ("v", "W_v")}
        sigma = {f"0.{name}": np.exp(W[f"log_sigma.{name}"]) for name in ("v", "W_v")}
        Q = Posterior(Hypothesis(tables(BITS), BITS, mean), sigma, Zero())
        certificate = method_named(method)(Q, train, **declared)
        share = certificate.facts.erring_pairs / how["declared"]["pairs"]
        leaky = kl_upper(share, C / train.n)
        risk, error = gibbs_risk(Q, case["hidden"], case["repetition"])
        return _judgement(certificate, leaky, risk, ERRORS * error)
    weights = {name.removeprefix("weights."): part for name, part in W.items()}
    model = Hypothesis(tables(BITS), BITS, weights)
    if method.startswith("hold-out"):
        unit, holdout = method_named("hold-out"), Dataset(case["held_X"], case["held_y"])
        certificate = unit(model, holdout, **declared)
        seen = holdout if "looks" in declared else train
        leaky = unit(model, seen, delta=δ).value
        return _judgement(certificate, leaky, risk_of(model, case["hidden"]))
    if method == "occam":
        model = compress(model, train, delta=δ)
    certificate = method_named(method)(model, train, **declared)
    leaky = binomial_upper(certificate.facts.errors, train.n, C)
    return _judgement(certificate, leaky, risk_of(model, case["hidden"]))


def _judgement(certificate, leaky: float, risk: float, margin: float = 0.0) -> dict[str, float]:
    return {
        "certificate": certificate.value,
        "leaky": leaky,
        "risk": risk,
        "fails": certificate.value < risk + margin,
        "leaky_fails": leaky < risk - margin,
        "vacuous": certificate.vacuous,
    }


def labels(hidden: np.ndarray) -> np.ndarray:
    """The majority of the hidden bits for all 2^T inputs."""
    return (2 * INPUTS[:, hidden].sum(axis=1) > len(hidden)).astype(np.int64)


def risk_of(model: Hypothesis, hidden: np.ndarray) -> float:
    """P[error] over uniform inputs and noisy labels, by enumeration; ties are errors."""
    y, noise = labels(hidden), TASK["noise"]
    wrong, right = ((model.margins(Dataset(INPUTS, z)) <= 0).mean() for z in (y, 1 - y))
    return float((1 - noise) * wrong + noise * right)


def gibbs_risk(Q: Posterior, hidden: np.ndarray, repetition: int) -> tuple[float, float]:
    """P[error] of the randomised head, and its standard error.

    Scores are drawn; given them f(x) is Gaussian, with mean Σ a_t u_t and variance Σ a_t² σ_t².
    """
    rng = np.random.default_rng([SEED, repetition, 11])
    w, σ = Q.weights, Q.sigma
    v = w["0.v"][:, 0] + σ["0.v"][:, 0] * rng.standard_normal((DRAWS, 2 * T + 1))
    e = np.exp(v - v.max(axis=1, keepdims=True))
    reads = np.concatenate([1 - INPUTS, INPUTS, np.ones((2**T, 1))], axis=1).T  # (2T+1, 2^T)
    mean = (e * w["0.W_v"][:, 0]) @ reads  # in units of Σ e, as the deviation is
    deviation = np.sqrt((e * σ["0.W_v"][:, 0]) ** 2 @ reads)
    y = np.where(labels(hidden) == 1, 1.0, -1.0)
    wrong, noise = special.ndtr(-y * mean / deviation), TASK["noise"]
    each = ((1 - noise) * wrong + noise * (1 - wrong)).mean(axis=1)
    return float(each.mean()), float(each.std() / math.sqrt(DRAWS))


def summary(method: str, rows: list[dict[str, float]]) -> dict[str, Any]:
    """What is recorded of a method."""
    how, columns = METHODS[method], {n: np.array([f[n] for f in rows]) for n in rows[0]}
    return {
        "config": {"delta": δ, "task": TASK, **how},
        **failing(columns["fails"]),
        "mean_certificate": float(columns["certificate"].mean()),
        "mean_risk": float(columns["risk"].mean()),
        "mean_slack": float((columns["certificate"] - columns["risk"]).mean()),
        "least_slack": float((columns["certificate"] - columns["risk"]).min()),
        "vacuous": int(columns["vacuous"].sum()),
        "leaky": {
            "what": how["leaky"],
            **failing(columns["leaky_fails"]),
            "mean": float(columns["leaky"].mean()),
        },
        **{
            f"{name}s": [float(f"{value:.7g}") for value in columns[name]]
            for name in ("certificate", "risk")
        },
    }


def failing(failed: np.ndarray) -> dict[str, Any]:
    """How many, and how likely so many are at a probability of δ each."""
    n, k = len(failed), int(failed.sum())
    p = float(stats.binom.sf(k - 1, n, δ))
    return {"repetitions": n, "failures": k, "share": k / n, "p_value": p}


def alone() -> None:
    """One thread for each process."""
    torch.set_num_threads(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repetitions", type=int, default=600)
    parser.add_argument("--only", choices=METHODS, action="append")
    parser.add_argument("--workers", type=int, default=1, help="processes for certificates")
    parser.add_argument("--out", type=Path, default=Path("results/certificates/validity.json"))
    options = parser.parse_args()
    alone()
    record = {
        "what": "certificates of trained models against their true risk, by simulation",
        "command": sys.argv, "seed": SEED, "delta": δ, "device": options.device,
        "machine": machine(options.device), "scipy": scipy.__version__,
        "src_sha256": source_hash(), "seconds": {}, "methods": {},
    }  # fmt: skip
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.workers, spawn, alone) as pool:
        for method in options.only or METHODS:
            start = time.perf_counter()
            with precision("ieee"):
                cases = trained(method, options.repetitions, options.device)
            middle = time.perf_counter()
            if options.workers > 1:
                rows = list(pool.map(judged, cases, chunksize=4))
            else:
                rows = [judged(case) for case in cases]
            took = {"train": middle - start, "certify": time.perf_counter() - middle}
            record["seconds"][method] = {name: round(s, 1) for name, s in took.items()}
            record["methods"][method] = figures = summary(method, rows)
            print(
                f"{method:18} {figures['failures']:3d} of {figures['repetitions']} fail "
                f"(p = {figures['p_value']:.2g}), leaky {figures['leaky']['failures']} "
                f"(p = {figures['leaky']['p_value']:.2g}); mean {figures['mean_certificate']:.3f}, "
                f"risk {figures['mean_risk']:.3f}, vacuous {figures['vacuous']}; {took}",
                flush=True,
            )
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(lines(record))


def lines(record: dict[str, Any]) -> str:
    """JSON with lists of numbers on one line."""
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    flat = re.sub(r"\[[-+0-9.e,\s]*\]", lambda match: re.sub(r"\s+", " ", match[0]), text)
    return flat + "\n"


if __name__ == "__main__":
    main()

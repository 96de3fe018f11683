"""which-bound: measures against naive formulas, statements by their readings, planted tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from beyond_cases import finding, study
from dudley.lab.experiment import SCALES
from dudley.lab.experiments.which_bound import bounds, outputs, weights
from dudley.lab.experiments.which_bound.findings import concluded, decided
from dudley.lab.experiments.which_bound.grid import AXES, TARGET, block, parts, pre_norm, setting
from dudley.lab.experiments.which_bound.ranking import quantile
from dudley.train.problem import Problem
from dudley.train.trainer import Memory, Trainer

TRAINING = {
    "optimiser": {"name": "adam", "lr": 1e-2}, "steps": 60, "evaluate_every": 10,
    "evaluate": ["train"], "stop": {"metric": "train_loss", "at_most": TARGET},
}  # fmt: skip
BITS = {"name": "and", "T": 6, "s": 2, "m": 20, "holdout": 50}
WORDS = {"name": "masked-tokens", "V": 3, "T": 5, "lag": 2, "m": 15, "holdout": 50}


def trained(task, model, sizes=(20, 12)) -> Trainer:
    configs = [
        {"task": task | {"m": m}, "model": model, "training": TRAINING, "trial": t, "seed": 0}
        for t, m in enumerate(sizes)
    ]
    trainer = Trainer(Problem(configs), Memory())
    trainer.run()
    return trainer


@pytest.fixture(scope="module")
def trainers() -> dict[str, Trainer]:
    return {
        "head": trained(BITS, block(BITS, 1, 4)),
        "words": trained(WORDS, block(WORDS, 1, 4)),
        "blocks": trained(BITS, block(BITS, 2, 4)),
        "pre-norm": trained(BITS, pre_norm(BITS, 2, 8, "layer", 0.1)),
    }


def measured(trainer: Trainer) -> dict[str, torch.Tensor]:
    whole = trainer.whole
    m = torch.tensor([float(config["task"]["m"]) for config in trainer.problem.configs])
    of_outputs = outputs.of_outputs(trainer.problem, whole.weights, whole.first, m.double(), 3)
    return weights.of_weights(whole.weights, whole.first, m.double()) | of_outputs


def row_of(trainer: Trainer, e: int) -> dict:
    norms = bounds.measured_norms(trainer.whole.weights)
    margins = outputs.outcomes(trainer.problem, trainer.whole.weights, "train")["margins"]
    row = {name: float(values[e]) for name, values in norms.items()}
    least = float(margins[e].nan_to_num(torch.inf).min())
    return row | {"config": trainer.problem.configs[e], "least_margin": least}


def test_measures_of_weights_are_their_formulas(trainers):
    for trainer in trainers.values():
        columns, whole = measured(trainer), trainer.whole
        for e in range(2):
            names = [n for n in whole.weights if not n.endswith(("gain", "bias", ".P"))]
            now = [whole.weights[n][e].detach().double().numpy() for n in names]
            start = [whole.first[n][e].double().numpy() for n in names]
            op = [np.linalg.norm(W, 2) for W in now]
            fro = [np.linalg.norm(W) for W in now]
            col = [np.linalg.norm(W, axis=0).sum() for W in now]
            squares = sum(np.sum((W - S) ** 2) for W, S in zip(now, start, strict=True))
            m = trainer.problem.configs[e]["task"]["m"]
            shares = np.array(col) / op, np.array(fro) / op
            product = math.prod(op) ** 2
            expected = {
                "parameters": sum(W[e].numel() for W in whole.weights.values()),
                "sum of squares": sum(f**2 for f in fro),
                "sum of column norms": sum(col),
                "sum of column norms/√m": sum(col) / math.sqrt(m),
                "product of spectral norms": math.log(math.prod(op)),
                "spectrally normalised": math.log(product * (shares[0] ** (2 / 3)).sum() ** 3),
                "Frobenius over spectral": math.log(product * (shares[1] ** 2).sum()),
                "squared distance": squares,
                "stable rank": (shares[1] ** 2).mean(),
                "reciprocal of m": 1 / m,
            }
            for name, value in expected.items():
                assert float(columns[name][e]) == pytest.approx(value, rel=1e-6), name


def test_a_path_norm_adds_all_paths():
    """Through values and residual branches, one by one."""
    source = torch.Generator().manual_seed(0)
    shapes = {"0.W_E": (2, 2), "2.W_Q": (2, 2), "2.W_v": (2, 2), "2.W_c": (2, 2),
              "2.W_1": (2, 3), "2.W_2": (3, 2), "4.W": (2, 2)}  # fmt: skip
    W = {name: torch.randn(1, *shape, generator=source).double() for name, shape in shapes.items()}
    total = 0.0
    a = {name: M[0].abs().numpy() for name, M in W.items()}
    mixing = np.eye(2) + a["2.W_v"] @ a["2.W_c"]
    mlp = np.eye(2) + a["2.W_1"] @ a["2.W_2"]
    for path in itertools.product(range(2), repeat=5):
        i, j, k, h, o = path
        total += a["0.W_E"][i, j] * mixing[j, k] * mlp[k, h] * a["4.W"][h, o]
    assert float(weights.paths(W, torch.abs)) == pytest.approx(math.log(total))
    plain = {name: M for name, M in W.items() if name in ("2.W_v", "2.W_c", "4.W", "2.W_Q")}
    chain = a["2.W_v"] @ a["2.W_c"] @ a["4.W"]
    assert float(weights.paths(plain, torch.abs)) == pytest.approx(math.log(chain.sum()))


def test_outputs_are_those_of_the_members(trainers):
    """Margins and ramp by hand; flatness and bits keep what they promise; ascent does harm."""
    for trainer in trainers.values():
        problem, now = trainer.problem, trainer.whole.weights
        base = outputs.outcomes(problem, now, "train")
        data = problem.sample
        logits = problem.ensemble.evaluate(now, data.inputs)
        for e, config in enumerate(problem.configs):
            margins = []
            for i in range(config["task"]["m"]):
                place = () if data.labels.ndim == 2 else (int((data.labels[e, i] >= 0).nonzero()),)
                row, label = logits[(e, i, *place)], int(data.labels[(e, i, *place)])
                others = [float(x) for c, x in enumerate(row) if c != label]
                margins.append(float(row[label]) - max(others))
            assert base["margins"][e, : len(margins)].numpy() == pytest.approx(margins, rel=1e-5)
            assert base["margins"][e, len(margins) :].isnan().all()
            ramp = np.clip(1 - np.array(margins), 0, 1).mean()
            assert float(base["ramp"][e]) == pytest.approx(ramp, abs=1e-6)
        columns = measured(trainer)
        assert (columns["sharpness"] > 0).all()
        σ = (-columns["flatness"]).exp()
        draws = [outputs.noise_of(problem, now, draw) for draw in range(3)]
        for factor, holds in ((1.0, True), (math.sqrt(2), False)):
            noisy = [
                {n: W + (factor * σ)[:, None, None].float() * Z[n] for n, W in now.items()}
                for Z in draws
            ]
            ramps = [outputs.outcomes(problem, W, "train")["ramp"] for W in noisy]
            growth = sum(ramps) / 3 - base["ramp"]
            inside = (growth <= outputs.RISE) | (σ >= outputs.SIGMAS[0])
            assert inside.all() if holds else not inside.any()


def test_the_power_law_is_hills():
    λ = np.sort(np.random.default_rng(0).pareto(2.0, 4000) + 1)[::-1]  # density ∝ λ^−3
    assert float(weights.power_law(torch.tensor(np.sqrt(λ))[None])) == pytest.approx(3.0, abs=0.15)


def test_statements_see_the_network_and_say_why_not(trainers):
    head, reasons = bounds.statements(row_of(trainers["head"], 0))
    assert {"trauger2024/corollary-4.1.1 best", "li2026/equation-14 derived"} <= set(head)
    assert "W_c and w" in reasons["edelman2021/theorem-4.2"]
    assert "class.C" in reasons["trauger2024/theorem-4.1"]
    words, _ = bounds.statements(row_of(trainers["words"], 0))
    assert "trauger2024/theorem-5.1 derived" in words and len(words) > len(head)
    deep, reasons = bounds.statements(row_of(trainers["blocks"], 0))
    assert reasons["trauger2024/corollary-4.1.1"] == "its class has one layer"
    assert (
        0 < deep["trauger2024/corollary-4.2.1 best"] <= deep["trauger2024/corollary-4.2.1 derived"]
    )
    none, reasons = bounds.statements(row_of(trainers["pre-norm"], 0))
    assert none == {} and all("residual" in reason for reason in reasons.values())


def test_statements_grow_with_the_norms_they_read(trainers):
    row = row_of(trainers["blocks"], 0)
    base, _ = bounds.statements(row)
    grown, _ = bounds.statements(
        {name: 2 * v if name.startswith("norms.") else v for name, v in row.items()}
    )
    names = [name for name in base if name.endswith(("derived", "best")) and "li2026" not in name]
    assert names and all(grown[name] > base[name] for name in names)
    assert bounds.calculus(row) > 0
    assert bounds.calculus(row_of(trainers["pre-norm"], 1)) > bounds.calculus(row)


def test_idle_projections_leave_the_readout_to_pay(trainers):
    """As a block, W_v and W_c are at most 1 and w pays; the product of the three is that of f."""
    row = row_of(trainers["head"], 0)
    both = {name: one.values for name, one in bounds.readings_of(row).items()}
    assert both["block"]["W_v.op"] <= 1 and both["block"]["W_c.op"] <= 1
    size = {n: v["W_v.op"] * v["W_c.op"] * v["w.l2"] for n, v in both.items()}
    assert size["block"] == pytest.approx(size["head"])
    W = trainers["head"].whole.weights["weights.1.W"][0].detach()
    assert both["head"]["w.l2"] == pytest.approx(float((W[:, 1] - W[:, 0]).norm()), rel=1e-6)


# Planted tables.

TRUTH = {
    "sum of column norms": 0.05, "calculus": 0.4, "flatness": 0.15, "random": np.inf,
    "a/statement-1 printed": 4.0, "a/statement-1 best": 0.9,
}  # fmt: skip


def planted(seed: int = 0, **noise: float) -> dict[str, np.ndarray]:
    """Models whose measures are gaps with noise; depth does nothing to gaps."""
    source = np.random.default_rng(seed)
    cells = itertools.product(("blocks", "pre-norm"), (5, 9), (20, 40, 80), (1, 2), (8, 16))
    rows = [cell for cell in cells for _ in range(4)]
    family, T, m, depth, width = (np.array(column) for column in zip(*rows, strict=True))
    count = len(rows)
    columns = {"family": family, "T": T, "m": m, "depth": depth, "width": width}
    columns |= {axis: np.zeros(count) for axis in AXES if axis not in columns}
    columns["task"] = np.full(count, "and-3")
    gap = 0.3 + 0.02 * T - 0.003 * m + 0.05 * source.normal(size=count)
    columns |= {"gap": gap, "reached": np.r_[np.zeros(3), np.ones(count - 3)]}
    columns |= {"holdout_ramp": gap, "holdout": np.full(count, 10_000)}
    for name, size in (TRUTH | noise).items():
        drawn = source.normal(size=count)
        columns[f"measure.{name}"] = drawn if np.isinf(size) else gap + 0.2 * size * drawn
    return columns


REFUSALS = {
    "family": np.array(["blocks"]), "statement": np.array(["a/statement-2"]),
    "reason": np.array(["its class has one layer"]), "models": np.array([7]),
}  # fmt: skip


def test_planted_rankings_are_found():
    findings = concluded(planted(), REFUSALS, 200, 1)
    rows = finding(findings, "rank the gaps best").numbers["ranking"]
    assert len(rows) == 3 * len(TRUTH)
    blocks = [row for row in rows if row["group"] == "blocks"]
    order = ["sum of column norms", "flatness", "calculus", "a/statement-1 best",
             "a/statement-1 printed", "random"]  # fmt: skip
    assert [row["measure"] for row in blocks] == order
    for row in rows:
        low, high = row["interval"]
        assert low < row["τ"] < high and row["models"] in (96, 93, 48, 45)
        assert set(row["along"]) <= {"T", "m", "depth", "width"}
    assert finding(findings, "H1").verdict == "confirmed"
    assert finding(findings, "Control").verdict == "confirmed"
    assert finding(findings, "H5").verdict == "refuted", "the plain sum errs nowhere"
    assert sum(row["apart"] for row in finding(findings, "did not reach").numbers["reached"]) == 3
    assert finding(findings, "cannot be evaluated").numbers["refusals"][0]["models"] == 7
    chosen = {row["measure"]: row for row in blocks}
    assert chosen["flatness"]["K"] > chosen["a/statement-1 printed"]["K"] > chosen["random"]["K"]
    assert abs(chosen["random"]["within"]) < 0.3 < chosen["flatness"]["within"]


def test_another_planted_truth_turns_the_verdicts():
    better = concluded(planted(**{"a/statement-1 best": 0.02}), REFUSALS, 200, 1)
    assert finding(better, "H1").verdict == finding(better, "H2").verdict == "refuted"
    caught = concluded(planted(random=0.5), REFUSALS, 200, 1)
    assert finding(caught, "Control").verdict == "refuted"


def test_intervals_decide_by_their_ends():
    assert decided([(0.1, 0.2), (-1.0, 0.4)], 0.5) == "confirmed"
    assert decided([(0.1, 0.6)], 0.5) == "undecided"
    assert decided([(0.1, 0.2), (0.6, 0.7)], 0.5) == "refuted"
    assert decided([], 0.5) == decided([(np.nan, np.nan)], 0.5) == "undecided"
    assert quantile(1) == pytest.approx(1.96, abs=0.001) and quantile(100) > 3.4


def test_every_scale_is_a_grid_of_cells():
    experiment = study("which-bound")
    for scale in SCALES:
        config = experiment.config(scale)
        assert config == experiment.config(scale)
        cells = set()
        for part in parts(config["sizes"]):
            m = part["task"]["m"]
            for size in m if isinstance(m, list) else [m]:
                task = part["task"] | {"m": size}
                cells.add(tuple(setting(part | {"task": task}).values()))
    assert len(cells) >= 1200  # at paper scale, the last


@pytest.mark.slow
def test_smoke(smoke):
    results = smoke("which-bound")
    table = results.table("trials")
    assert len(table["gap"]) == 24 and (table["reached"] == 1).sum() > 16
    assert {row["group"] for row in results.number("ranking")} >= {"blocks", "pre-norm"}

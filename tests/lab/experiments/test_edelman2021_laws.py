"""The laws: those that are planted are told apart; rules of verdicts; grids that move with T."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from beyond_cases import finding
from dudley.lab.experiment import EXPERIMENTS, Finding
from dudley.lab.experiments.edelman2021_laws.experiment import law_finding, same_precision
from dudley.lab.experiments.edelman2021_laws.series import grid_of, ratios, some_trials
from dudley.lab.shared.training_table import write
from each import each

SERIES = [{"s": 2, "steps": 1000, "T": [100, 300, 1000, 3000, 10_000, 30_000]}]


def planted(law, trials: int = 400, slope: float = 6.0, seed: int = 0) -> dict[str, list]:
    """A table of trials whose success curves cross ½ at the m of a law."""
    source = np.random.default_rng(seed)
    columns: dict[str, list] = {name: [] for name in ("T", "m", "best", "last")}
    for T, sizes in zip(SERIES[0]["T"], grid_of(SERIES[0]), strict=True):
        for m in sizes:
            p = 1 / (1 + (law(T) / m) ** slope)
            for hit in source.random(trials) < p:
                for name, value in (("T", T), ("m", m), ("best", hit), ("last", hit)):
                    columns[name].append(float(value) if name in ("best", "last") else int(value))
    return columns


def concluded(tmp_path: Path, law: Callable[[float], float]) -> list[Finding]:
    """What is found where this law is planted, and parities drop at once."""
    experiment = EXPERIMENTS["edelman2021-laws"]
    config = experiment.config("paper") | {"series": SERIES, "learnt": 0.5}
    config |= {"bootstrap": {"paper_draws": 5, "draws": 5, "seed": 1}}
    write(tmp_path / "s2-1000.parquet", planted(law))
    for part in config["parity"]:
        curves = [np.array([0.69] * (T // 2) + [0.01] * 3) for T in (10, 10, 15, 15, 20, 20)]
        columns = {"T": [10, 10, 15, 15, 20, 20], "trial": [0, 1] * 3, "loss": curves}
        write(tmp_path / f"parity-{part}.parquet", columns)
    return experiment.analyse(config, tmp_path)


def test_planted_laws_are_told_apart(tmp_path):
    findings = concluded(tmp_path, lambda T: 87 / 2 * (T / 100) ** 0.4)
    assert finding(findings, "is a power of T").verdict == "confirmed"
    assert finding(findings, "a + b·log T").verdict == "refuted"
    assert finding(findings, "a power of log T").verdict == "refuted"
    rows = finding(findings, "How large").numbers["half"]
    assert [row["m"] for row in rows] == pytest.approx(
        [87 / 2 * (T / 100) ** 0.4 for T in SERIES[0]["T"]], rel=0.05
    )


@each("slower, noise, verdict", [
    (1.0, 0.3, "confirmed"), (1.5, 0.1, "refuted"), (1 / 1.5, 0.1, "refuted"),
    (1.0, 3.0, "undecided"), (1.25, 0.1, "undecided"), (1.0, 0.0, "undecided"),
])  # fmt: skip
def test_precisions_are_compared_seed_by_seed(slower, noise, verdict):
    """Pairs tell what unpaired means could not; where all are equal, nothing was compared."""
    source = np.random.default_rng(3)
    rows = {"fast": [], "ieee": []}
    for T in (10, 15, 20):
        for trial in range(20):
            step = 100 * T**2 * source.lognormal(0, 0.5)
            again = step * slower * source.lognormal(0, noise)
            for name, watched in (("fast", step), ("ieee", again)):
                rows[name].append({"T": T, "trial": trial, "watched": watched})
    rows["ieee"].reverse()
    config = EXPERIMENTS["edelman2021-laws"].config("paper")
    assert same_precision(config, rows).verdict == verdict


def grown(power: float, log: float, by: str = "both") -> dict[str, dict]:
    """A series whose tests of the power and log laws have these p; the third law's is 10⁻⁹."""
    p = {"power": power, "log": log, "power of log": 1e-9}
    laws = {
        name: {"θ": 0.4, "interval": [0.3, 0.5], "goodness": {"p": value}}
        for name, value in p.items()
    }
    fine = {name: fitted | {"goodness": {"p": 0.5}} for name, fitted in laws.items()}
    return {"best": {"free": laws}, "last": {"free": laws if by == "both" else fine}}


@each("series, verdict", [
    ([grown(0.5, 1e-9)], "confirmed"),
    ([grown(0.5, 0.5)], "undecided"),  # the log law is not rejected
    ([grown(0.5, 1e-9), grown(1e-9, 0.5)], "refuted"),
    ([grown(0.5, 1e-9), grown(1e-9, 0.5, "best")], "undecided"),  # by one reading alone
    ([grown(0.012, 1e-9), grown(0.5, 1e-9)], "confirmed"),  # the level is .05/6
    ([grown(0.012, 1e-9)], "refuted"),  # … and .05/3
    ([grown(0.5, 1e-9), {"best": None, "last": None}], "undecided"),
])  # fmt: skip
def test_verdicts_on_a_law(series, verdict):
    by_name = {f"s{i}-1000": by for i, by in enumerate(series)}
    assert law_finding("power", by_name).verdict == verdict


def test_grids_move_with_T_and_keep_their_ratios():
    m = grid_of(SERIES[0])
    assert m.shape == (6, 13) and (np.diff(m, axis=1) > 0).all() and (np.diff(m, axis=0) > 0).all()
    assert m[-1] / m[-1, 6] == pytest.approx(ratios(), rel=0.01)


def test_trials_are_those_of_their_cells():
    experiment = EXPERIMENTS["edelman2021-laws"]
    config = experiment.config("paper")
    series = config["series"][0]
    m = grid_of(series)
    first, last = np.zeros(m.shape, int), np.zeros(m.shape, int)
    last[0, 2], first[1, 3], last[1, 3] = 2, 1, 4
    some = [trial.config for trial in some_trials(config, series, m, first, last).trials]
    cells = [(c["task"]["T"], c["task"]["m"], c["trial"]) for c in some]
    assert cells == [(100, m[0, 2], t) for t in (0, 1)] + [(300, m[1, 3], t) for t in (1, 2, 3)]
    assert {c["task"]["s"] for c in some} == {2} and some[0]["training"]["steps"] == 1000

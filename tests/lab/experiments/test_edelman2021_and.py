"""Sparse AND: planted laws are found again, nulls are not, and a record is trained again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dudley.lab.conduct import analyse
from dudley.lab.experiment import EXPERIMENTS
from dudley.lab.experiments.edelman2021_and import experiment as edelman2021_and
from dudley.lab.experiments.edelman2021_and_far import experiment as edelman2021_and_far
from dudley.lab.shared.edelman2021_protocol import LENGTHS, SIZES, sparse_and, sparse_parity
from dudley.lab.shared.growth import crossings, difference, exponent_interval, favoured, growth
from dudley.lab.shared.training_table import write
from dudley.lab.statistics.critical import (
    Cells,
    by_block,
    exponent,
    first_crossing,
    held_out,
    law,
)

ROOT = Path(__file__).resolve().parents[3]
BOOTSTRAP = {"paper_draws": 50, "draws": 60, "seed": 1}
FAR = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000]


def planted(m_c, T=LENGTHS, m=SIZES, n=50, b=5.0, seed=0, tilt=0.0) -> Cells:
    """Successes drawn from a known law."""
    rng = np.random.default_rng(seed)
    T, m = (axis.ravel() for axis in np.meshgrid(T, m, indexing="ij"))
    slope = b * (T / 300.0) ** -tilt
    p = 1 / (1 + np.exp(-slope * (np.log(m) - np.log(m_c(T)))))
    return Cells(T, m, rng.binomial(n, p).astype(float), np.full(len(T), float(n)))


def power(α: float):
    return lambda T: 75 * (T / 100) ** α


def logarithm(T):
    return 60 + 60 * np.log(T / 100)


@pytest.mark.slow
@pytest.mark.parametrize("α", [0.2, 0.5, 1.0])
def test_a_planted_exponent_lies_in_its_interval_and_another_does_not(α: float):
    sizes = [*range(50, 900, 40)] if α == 1.0 else SIZES
    grown = growth(planted(power(α), m=sizes), BOOTSTRAP)
    lowest, highest = exponent_interval(grown)
    assert lowest < α < highest and highest - lowest < 0.25
    assert not lowest < α + 0.3 < highest
    for kind in ("plain", "tilted"):
        assert 0.7 < grown[kind]["power"]["dispersion"] < 1.3


def test_profile_intervals_of_the_exponent_cover():
    inside = 0
    for seed in range(40):
        exponent = law(planted(power(0.5), n=10, m=SIZES[::3], seed=seed), "power").θ
        inside += exponent.lowest <= 0.5 <= exponent.highest
    assert inside >= 34


def test_curves_that_flatten_need_a_slope_of_their_own():
    cells = planted(power(0.5), tilt=0.8)
    plain, tilted = law(cells, "power"), law(cells, "power", "tilted")
    assert tilted.θ.likelihood > plain.θ.likelihood + 20
    assert tilted.θ.lowest < 0.5 < tilted.θ.highest and tilted.b[1] < -2


@pytest.mark.parametrize("name", ["power", "log"])
def test_a_slope_of_their_own_never_fits_worse(name: str):
    for seed in range(4):
        cells = planted(power(1.4), [100, 150, 200, 400], SIZES[::2], 20, 3.0 * (seed + 1), seed)
        plain, tilted = law(cells, name), law(cells, name, "tilted")
        assert tilted.θ.likelihood >= plain.θ.likelihood - 1e-6


@pytest.mark.slow
def test_far_apart_lengths_tell_the_laws_apart_and_near_ones_do_not():
    sizes = [60, 90, 130, 180, 250, 350, 500, 700, 1000, 1500]
    for m_c, name in ((logarithm, "log"), (power(0.4), "power")):
        assert favoured(growth(planted(m_c, FAR, sizes, 30), BOOTSTRAP)) == name
    near = planted(power(0.45), [100, 150, 200, 250], SIZES[::3], 5)
    assert favoured(growth(near, BOOTSTRAP)) == "undecided"


def test_a_held_out_length_is_held_out():
    cells = planted(power(0.5))
    scores = held_out(cells, "power")
    changed, left_out = cells.successes.copy(), cells.T == 100
    changed[left_out] = 0.0
    spoilt = held_out(Cells(cells.T, cells.m, changed, cells.trials), "power")
    assert spoilt[left_out].sum() < scores[left_out].sum() - 100  # its own outcomes are not fitted
    assert difference(cells, scores - scores)["sum"] == 0
    shifted = difference(cells, np.ones(len(scores)))
    assert shifted["sum"] == len(scores) and shifted["by_T"][0]["sum"] == len(SIZES)


def test_crossings_are_the_papers_and_say_where_there_is_none():
    assert first_crossing(np.array([50, 60, 70]), np.array([0.5, 0.52, 0.1])) == 60
    cells = Cells.of([100] * 40 + [800] * 40, ([50] * 20 + [60] * 20) * 2,
                     [0] * 20 + [1] * 20 + [0] * 40)  # fmt: skip
    near, far = crossings(cells, BOOTSTRAP)
    assert near["critical"] == 60 and near["error"] == 0 and near["beyond"] == 0
    assert far["critical"] is None and far["text"] == "> 60" and far["beyond"] == 1
    assert near["information"] == pytest.approx(31.8, abs=0.1)


def test_whole_cells_scatter_more_where_their_trials_are_dependent():
    rng = np.random.default_rng(0)
    cells = planted(power(0.5))
    shaken = np.clip(cells.successes + rng.choice([-12, 12], len(cells.T)), 0, 50)
    loose = Cells(cells.T, cells.m, shaken, cells.trials)
    assert by_block(loose, 150, 0).error > 1.5 * by_block(cells, 150, 0).error
    assert law(loose, "power").dispersion > 3
    assert exponent(cells) == pytest.approx(law(cells, "power").θ.value, abs=1e-4)


def table(cells: Cells, fit: float = 1e-5) -> dict:
    """One row a trial, as a run writes it."""
    hits = [
        i < k for k, n in zip(cells.successes, cells.trials, strict=True) for i in range(int(n))
    ]
    times = cells.trials.astype(int)
    accuracy = np.where(hits, 1.0, 0.9)
    return {
        "T": np.repeat(cells.T, times), "m": np.repeat(cells.m, times),
        "trial": np.concatenate([np.arange(n) for n in times]),
        "best": accuracy, "last": accuracy, "train_loss_best": np.full(len(hits), fit),
        "train_loss_last": np.full(len(hits), fit), "train_accuracy_last": np.ones(len(hits)),
        "holdout_accuracy": [np.array([a, a], np.float32) for a in accuracy],
    }  # fmt: skip


def analysed(folder: Path, cells: Cells, fit: float = 1e-5) -> list:
    config = EXPERIMENTS["edelman2021-and"].config("paper") | {"bootstrap": BOOTSTRAP}
    edelman2021_and.keep(config, table(cells, fit), folder)
    return analyse("edelman2021-and", config, folder, "paper")


@pytest.mark.slow
def test_verdicts_follow_the_data(tmp_path: Path):
    lengths, sizes = LENGTHS[::2], SIZES[::5]
    findings = analysed(tmp_path, planted(power(0.5), lengths, sizes))
    growing, rising, fitted, shown, first, _, third, left = findings
    assert [growing.verdict, rising.verdict] == ["reproduced", "reproduced"]
    assert fitted.verdict == "reproduced" and shown.verdict == "reproduced"
    assert first.claim == "The critical m is a power of T." and first.verdict == "undecided"
    assert third.verdict == "undecided" and left.verdict == "measured"
    assert "at this level, .05/3; this rule was fixed after" in first.observation
    assert {one.contrary for one in growing.readings if "last" in one.chosen} == {True}
    few = analysed(tmp_path, planted(power(0.5), LENGTHS[:7:3], SIZES))[-1]
    assert "at T = 100, 250, 400;" in few.observation, "no length is counted twice"
    steep = planted(lambda T: 60 * (T / 100) ** 1.4, [100, 150, 200, 400], SIZES)
    never = "not reproduced under any reading tried"
    growing = analysed(tmp_path, steep, 1e-3)[0]  # between the ends there is no curve at T = 400
    outcomes = {reading.chosen.split()[-1]: reading.outcome for reading in growing.readings}
    assert outcomes == {"outcomes": "fails", "range": "undecided"}
    flat, _, fitted = analysed(tmp_path, planted(lambda T: 90.0 + 0 * T, lengths, sizes), 1e-3)[:3]
    low, high = flat.numbers["α_interval"]
    assert low < 0 < high and fitted.verdict == never and fitted.numbers["best"]["share"] == 1


def far_config(n: int) -> dict:
    config = EXPERIMENTS["edelman2021-and-far"].config("paper")
    return config | {"bootstrap": BOOTSTRAP, "trials": n}


def test_equivalence_is_shown_only_where_it_holds():
    config, cells = far_config(50), planted(power(0.5), seed=0)
    same = edelman2021_and_far.same(config, cells, planted(power(0.5), seed=1))
    assert same.verdict == "confirmed"
    assert same.numbers["rate"]["verdict"] == same.numbers["exponent"]["verdict"] == "same"
    moved = edelman2021_and_far.same(config, cells, planted(lambda T: 0.6 * power(0.5)(T)))
    assert moved.numbers["rate"]["verdict"] == "apart" and moved.verdict == "refuted"
    few = [planted(power(0.5), LENGTHS[:3], SIZES[::5], 3, seed=s) for s in (0, 1)]
    assert edelman2021_and_far.same(config, *few).verdict == "undecided"


def test_not_to_fit_is_told_apart_from_not_to_generalise():
    far = table(planted(power(0.5), [1000, 3000], [100, 400], 10))
    missed = np.flatnonzero(far["best"] < 0.99)
    far["train_accuracy_last"][missed[:4]] = 0.99
    finding = edelman2021_and_far.fits(far_config(50), far)
    assert finding.numbers["did_not_fit"] == 4
    assert sum(row["did_not_generalise"] for row in finding.numbers["cells"]) == len(missed) - 4


def test_a_record_of_the_same_protocol_is_used_and_no_other(tmp_path: Path):
    config = EXPERIMENTS["edelman2021-and-far"].config("paper")
    near, far = (tmp_path / name / "paper" for name in ("edelman2021-and", "edelman2021-and-far"))
    far.mkdir(parents=True)
    assert edelman2021_and_far.recorded(config, far) is None
    write(near / "trials.parquet", table(planted(power(0.5))))
    settings = {"protocol": config["printed"], "seed": 0, "trials": 50}
    (near / "provenance.json").write_text(json.dumps({"config": settings}))
    known = edelman2021_and_far.recorded(config, far)
    assert known is not None and len(known["T"]) == 8800 and "holdout_accuracy" not in known
    (near / "provenance.json").write_text(json.dumps({"config": settings | {"trials": 49}}))
    assert edelman2021_and_far.recorded(config, far) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["edelman2021-and", "edelman2021-and-far"])
def test_smoke_finds_numbers(name: str, smoke):
    findings = smoke(name).findings
    assert len(findings) >= 4
    json.dumps([f.as_json() for f in findings], allow_nan=False)


def test_the_protocol_is_the_one_that_was_benchmarked(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import protocols

    assert sparse_and(LENGTHS, SIZES) == protocols.AND
    assert sparse_parity([10, 15, 20]) == protocols.PARITY

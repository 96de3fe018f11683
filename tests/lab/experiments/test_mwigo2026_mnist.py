"""The experiment on MNIST: planted effects are found and absent ones are not."""

from __future__ import annotations

import numpy as np
import pytest

from dudley.lab.experiment import SCALES
from dudley.lab.experiments.mwigo2026_mnist import bounds, choices, losses, protocol
from dudley.lab.experiments.mwigo2026_mnist.experiment import MnistDescent, summary
from dudley.lab.experiments.mwigo2026_mnist.protocol import THEIRS, of_scale
from dudley.theorems.mwigo2026.convergence import EXAMPLE

NAME = MnistDescent.name


def test_an_epoch_is_one_pass_at_every_scale():
    for scale in SCALES:
        for grid in of_scale(scale)["grids"]:
            how, m = grid["training"], grid["task"]["m"]
            steps = -(-m[0] // how["batch"]) if how["batch"] else 1
            assert grid["steps_of_epoch"] == steps and how["evaluate_every"] % steps == 0
            assert len(m) == 1 or how["batch"] is None
            pixels = protocol.split(grid["reading"])[0]
            assert grid["task"].get("pixels", "unit") == pixels
            assert ("pixels" in grid["task"]) == (pixels != "unit")  # keys of records stay
    for reading in ("printed", "standardised", "standardised-longer", "signed"):
        grids = [grid for grid in of_scale("paper")["grids"] if grid["reading"] == reading]
        ours = {(grid["model"]["d_m"], N) for grid in grids for N in grid["task"]["m"]}
        assert ours == {(row["d_m"], row["N"]) for row in THEIRS}
        assert all(grid["trials"] >= 10 for grid in grids)


def planted(exponent, noise, trials=10, scale=1.0, end=False, seed=0):
    """Trainings whose lowest loss is scale·(paper's at N = 400)·(N/400)^exponent, with noise."""
    generator, rows = np.random.default_rng(seed), []
    for tokens in ("flat", "patches"):
        for row in THEIRS:
            for trial in range(trials):
                best = scale * 0.1 * (row["N"] / 400) ** exponent
                best *= np.exp(noise * generator.normal())
                rows.append(
                    {"reading": "printed", "tokens": tokens, "d_m": row["d_m"], "N": row["N"]}
                    | {"trial": trial, "epochs": 600, "best": best, "last": 1.1 * best}
                    | {"best_epoch": 600 if end else 300, "last_accuracy": 0.9}
                )  # fmt: skip
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


CONFIG = of_scale("paper")
NEVER = "not reproduced under any reading tried"


def test_planted_exponents_are_covered_at_once():
    """All six intervals of a run hold together in 95 % of runs at least."""
    runs = [losses.exponents(CONFIG, planted(-0.5, 0.1, seed=seed), "best") for seed in range(60)]
    covered = [all(low < -0.5 < high for low, high in (o["interval"] for o in run)) for run in runs]
    assert 0.88 < np.mean(covered) < 1
    assert all(o["interval"][1] - o["interval"][0] < 0.15 for run in runs for o in run)


def test_the_rate_is_compared_with_the_papers():
    known = losses.rate(CONFIG, like_the_papers(0.3))
    assert known.kind == "question" and "computed by us" in known.claim, "the paper has no slopes"
    assert "in 6 of 6 cases; all do under 2 of 2 readings" in known.observation
    assert "all do under 0 of 2" in losses.rate(CONFIG, planted(0.0, 0.02)).observation
    half = like_the_papers(0.3)
    flat = half["tokens"] == "flat"
    half["best"] = np.where(flat, half["best"], 0.1)
    assert "in 3 of 6 cases; all do under 1 of 2" in losses.rate(CONFIG, half).observation


@pytest.mark.parametrize(
    "exponent, noise, word, verdict",
    [
        (-0.5, 0.1, "falls", "reproduced"),
        (0.5, 0.1, "rises", NEVER),
        (0.0, 0.02, "same", NEVER),
        (0.0, 1.0, "undecided", "undecided"),
    ],
)
def test_falls_rises_same_undecided(exponent, noise, word, verdict):
    said = []
    for seed in range(20):
        finding = losses.falls(CONFIG, planted(exponent, noise, seed=seed))
        steps = [step["says"] for step in finding.numbers["steps"]["best"]]
        assert len(steps) == 2 * 3 * 2
        assert finding.verdict == verdict or set(steps) != {word}
        said += steps
    # Where nothing changes: .05 of the runs, not of the steps, in theory.
    assert np.mean([one != word for one in said]) < (0.02 if exponent == 0 else 1e-9)


def test_a_change_within_the_margin_is_none():
    """Though the interval excludes 1."""
    trials = planted(-0.04, 0.001)
    (first, *_) = losses.steps_in_N(CONFIG, trials, "best")
    assert first["interval"][1] < 1 and first["says"] == "same"


def test_one_step_that_does_not_fall_refutes_all():
    steps = [{"says": "falls"}] * 5
    assert losses.verdict_on(steps) == "holds"
    assert losses.verdict_on([*steps, {"says": "same"}]) == "fails"
    assert losses.verdict_on([*steps, {"says": "undecided"}]) == "undecided"
    assert losses.verdict_on([]) == "undecided"


def like_the_papers(noise: float) -> dict[str, np.ndarray]:
    """Trainings with the losses and the epochs of Table 1."""
    trials = planted(0.0, noise)
    cells = [*zip(trials["d_m"], trials["N"], strict=True)]
    for column, name in (("best", "lowest"), ("best_epoch", "epoch")):
        theirs = {(row["d_m"], row["N"]): row[name] for row in THEIRS}
        papers = np.array([theirs[cell] for cell in cells])
        trials[column] = trials["best"] / 0.1 * papers if column == "best" else papers
    return trials


def test_the_table_is_compared_with_the_papers():
    like = like_the_papers(0.3)
    assert losses.table(CONFIG, like).verdict == "reproduced"
    assert losses.table(CONFIG, like | {"best": 5 * like["best"]}).verdict == NEVER
    lines = losses.table(CONFIG, like).numbers["cells"]
    assert len(lines) == 18 and all(line["selected"] > 0 for line in lines)
    few = losses.of(like, N=400)  # three cells of nine: the other six could agree or not
    assert losses.table(CONFIG, few).verdict == "undecided"
    assert losses.table(CONFIG, few | {"best": 5 * few["best"]}).verdict == NEVER


def test_the_reading_that_has_losses_and_epochs_is_named():
    like = like_the_papers(0.3)
    printed = losses.beside(CONFIG, like | {"best": 5 * like["best"]})

    def why(epochs: np.ndarray):
        other = losses.beside(CONFIG, like | {"best_epoch": epochs})
        [answer] = losses.why(CONFIG, {"printed": printed, "mini-batches": other})
        assert answer.numbers["readings"][0]["both"] == 0
        return answer.observation

    assert "mini-batches of 32 gives it" in why(like["best_epoch"])
    assert why(like["best_epoch"] + 1000).endswith("no reading reaches 8 of 9.")
    some = np.where(like["N"] == 400, like["best_epoch"], 0)
    assert "mini-batches of 32 comes nearest, with 6 of 18" in why(some)
    assert losses.why(CONFIG, {"printed": losses.beside(CONFIG | {"theirs": []}, like)}) == []


def test_another_loss_is_not_set_beside_the_papers():
    like = like_the_papers(0.3)
    square = like | {"reading": np.full(len(like["N"]), "square")}
    assert losses.in_both(losses.beside(CONFIG, like))
    assert not losses.in_both(losses.beside(CONFIG, square))


def joined(*parts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Trainings of several readings."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def as_reading(trials, reading, factor=1.0, epochs=600):
    """The same trainings under another name, their lowest losses times a factor."""
    count, scaled = len(trials["N"]), {kind: factor * trials[kind] for kind in losses.KINDS}
    names = {"reading": np.full(count, reading), "epochs": np.full(count, epochs)}
    return trials | scaled | names


def test_a_claim_is_judged_under_every_scaling():
    like = like_the_papers(0.3)
    far = as_reading(like, "printed", 5)

    def table(*parts):
        return losses.table(CONFIG, joined(*parts))

    assert table(far).verdict == table(far, as_reading(like, "signed", 5)).verdict == NEVER
    assert table(far, as_reading(like, "standardised")).verdict == "depends on pixels"
    assert table(far, as_reading(like, "longer", epochs=6000)).verdict == "depends on epochs"
    mini = as_reading(like, "mini-batches", epochs=300)
    assert table(far, mini).verdict == "depends on epochs, batches"
    assert table(like, as_reading(like, "signed")).verdict == "reproduced"
    unknown = as_reading(like, "signed") | {"d_m": like["d_m"] + 1}  # no cell is in both tables
    outcomes = [reading.outcome for reading in table(like, unknown).readings]
    assert outcomes == ["holds", "holds", "undecided", "undecided"]  # flat and patches of each


@pytest.mark.parametrize(
    "factor, noise, word", [(0.2, 0.1, "matters"), (1.0, 0.02, "no"), (1.0, 1.0, "undecided")]
)
def test_a_choice_matters_makes_no_difference_or_is_undecided(factor, noise, word):
    plain, other = (planted(-0.5, noise, seed=seed) for seed in (0, 1))
    trials = joined(plain, as_reading(other, "standardised", factor))
    rows = {row["choice"]: row for row in choices.findings(CONFIG, trials)[0].numbers["choices"]}
    assert rows["pixels"][word] == 18  # two tokenisations, nine cells
    low, high = rows["pixels"]["ratios"]
    assert low / factor < 1 < high / factor
    assert rows["tokens"]["matters"] == 0 and sum(rows["tokens"][w] for w in choices.WORDS) == 18


def test_intervals_of_a_choice_hold_at_once():
    """A factor that is planted lies in all eighteen intervals of most runs."""
    covered = []
    for seed in range(40):
        plain, other = (planted(-0.5, 0.2, seed=2 * seed + i) for i in (0, 1))
        lines = choices.comparisons(CONFIG, joined(plain, as_reading(other, "signed", 0.5)))
        intervals = [line["interval"] for line in lines if line["choice"] == "pixels"]
        assert len(intervals) == 18
        covered.append(all(low < 0.5 < high for low, high in intervals))
    assert np.mean(covered) > 0.85


def test_only_one_choice_differs_in_a_comparison():
    plain = planted(-0.5, 0.1)
    readings = ("standardised-longer", "standardised", "mini-batches", "square", "longer")
    epochs = {"standardised-longer": 2400, "longer": 6000}
    trials = joined(plain, *(as_reading(plain, r, 1.0, epochs.get(r, 600)) for r in readings))
    compared = {
        (line["choice"], *sorted((line["from"], line["to"])))
        for line in choices.comparisons(CONFIG, trials)
    }
    assert compared == {
        ("tokens", "flat", "patches"),
        ("pixels", "printed", "standardised"),  # not the longer ones: their epochs differ
        ("epochs", "longer", "printed"),
        ("epochs", "standardised", "standardised-longer"),
        ("batches", "mini-batches", "printed"),
    }
    assert "square" not in choices.judged(trials)
    assert choices.findings(CONFIG, plain) == []


def test_ours_are_multiples_of_the_papers():
    trials = as_reading(like_the_papers(0.1), "standardised", 0.5)
    rows = choices.multiples(CONFIG, trials)
    assert len(rows) == 18 and all(0.4 < row["ratio"] < 0.6 for row in rows)
    assert all(row["interval"][0] < row["ratio"] < row["interval"][1] < 1 for row in rows)


def test_minima_outside_the_printed_epochs_are_flagged():
    late = planted(-0.5, 0.1)
    late |= {"best_epoch": late["best_epoch"] + 5000, "epochs": late["epochs"] + 5400}
    assert losses.epoch(CONFIG, late).verdict == NEVER, "before the end, and not as printed"
    turned, falling = (losses.epoch(CONFIG, planted(-0.5, 0.1, end=end)) for end in (False, True))
    assert (turned.verdict, falling.verdict) == ("reproduced", NEVER)
    assert falling.numbers["at_last_epoch"] == 180


def test_the_lowest_loss_is_over_numbers_only():
    values = dict.fromkeys("QKVO", np.array([0.1, 0.3, 0.2]))
    values |= {"test": np.array([0.5, 0.2, np.nan]), "train": np.ones(3)}
    row = summary(np.array([1, 2, 3]), values)
    assert (row["best"], row["best_epoch"], row["moved_V"]) == (0.2, 2, 0.3)


def known_start(**changed):
    """A training for which the hypotheses of Lemma 4 hold, width apart (`EXAMPLE`)."""
    row = {"N": 2, "T": 1, "d_m": 4_000_000, "X_fro": 1.0, "features_fro": 10.0, "epochs": 2}
    row |= {"alpha": EXAMPLE["features.smin"], "loss_initial": EXAMPLE["loss.initial"]}
    row |= {"train_last": 0.0, "O_l2": 1.0, "moved_O": 0.2}
    for block, name in (("Q", "W_Q"), ("K", "W_K"), ("V", "W_v")):
        R = EXAMPLE[f"{name}.moved"]
        row |= {f"moved_{block}": R, f"{block}_fro": EXAMPLE[f"{name}.fro"] - R}
        row[f"{block}_op"] = EXAMPLE[f"{name}.op"] - R
    return row | changed


def test_hypotheses_that_hold_are_said_to_hold():
    cell = {"tokens": "flat", "d_m": 4_000_000, "N": 2}
    holds = bounds.lemma_4(CONFIG, [(cell, [known_start()])], 0.1)
    assert holds.numbers["valid"] == 1 and "hold in 1 of 1 trainings" in holds.observation
    fails = bounds.lemma_4(CONFIG, [(cell, [known_start(loss_initial=10.0)])], 0.1)
    assert fails.numbers["valid"] == 0 and fails.verdict == "measured"
    [line] = fails.numbers["cells"]
    assert line["features"]["short_by"][0] > line["whatever_radii"][0] > 0
    nought = bounds.lemma_4(CONFIG, [(cell, [known_start(alpha=0.0)])], 0.1)
    assert nought.numbers["cells"][0]["features"]["short_by"] is None

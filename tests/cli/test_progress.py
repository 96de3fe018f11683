"""Long commands say what they do, and what they left out: nothing else changes a number."""

from __future__ import annotations

import io
import json
import sys
from contextlib import nullcontext
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from dudley.certificates.data import Dataset, read
from dudley.certificates.files import load
from dudley.certificates.fit import quantised
from dudley.certificates.fit.quantised import compress, prune
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.standing import standing
from dudley.cli import lab_run, progress
from dudley.cli.commands import audit, derive, measure
from dudley.core.errors import InputError
from dudley.core.watch import Watch
from dudley.lab import forecast
from dudley.networks.files import EXAMPLES
from live import until
from shown import complaints

SHIPPED = EXAMPLES / "sparse-and"


def off_the_grid() -> tuple[Hypothesis, Dataset]:
    """The shipped model with a little noise on its weights, which no short code describes."""
    model, rng = load(SHIPPED / "model.safetensors"), np.random.default_rng(0)
    noisy = {name: W + 1e-3 * rng.standard_normal(W.shape) for name, W in model.weights.items()}
    return Hypothesis(model.tables, model.encoding_table, noisy), read(SHIPPED / "train.npz")


def without_time(*_) -> Watch:
    """A watch of one second, which every look at its clock takes."""
    ticks = count()
    return Watch(1.0, clock=lambda: float(next(ticks)))


def test_a_long_step_is_told_again_and_again(capfd):
    said = ""

    def two_lines() -> bool:
        nonlocal said
        said += capfd.readouterr().err
        return said.count("\n") >= 2

    with progress.watch_steps(0, every=0.01) as watch:
        watch.begin("compression")
        watch.do("levels up to 4", lambda: until(two_lines))
    lines = said.splitlines()
    assert lines[-1].startswith("… compression: levels up to 4 (") and complaints(said) == ""


def test_a_short_command_is_silent(capfd):
    with progress.watch_steps(5.0) as watch:
        watch.do("short", lambda: None)
    assert capfd.readouterr().err == ""


def test_a_measurement_in_a_pipe_is_told_too(capfd, monkeypatch):
    monkeypatch.setattr(measure, "watch_steps", partial(progress.watch_steps, every=0.01))
    with measure.progress() as tell:
        tell("W_E", 1, 3)
        until(lambda: capfd.readouterr().err.endswith(" s)\n"))
        until(lambda: capfd.readouterr().err.startswith("… W_E, 1 of 3 ("))


def test_an_audit_says_how_many_attacks_have_ended(monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(audit, "watch_steps", lambda: nullcontext(Watch(say=said.append)))
    ended = [("heads", []), ("linear maps", [])]
    assert list(audit.shown(iter(ended), 2)) == ended
    assert said == [
        "attacks",
        "attacks: 1 of 2 ended, heads the last",
        "attacks: 2 of 2 ended, linear maps the last",
    ]


def test_a_derivation_and_a_forecast_are_told(dudley, monkeypatch):
    said: list[str] = []

    def nothing(config, bench, tell) -> list[forecast.ForecastPart]:
        tell("packing")
        return []

    monkeypatch.setattr(forecast, "forecast", nothing)
    for module in (derive, lab_run):
        monkeypatch.setattr(module, "watch_steps", lambda: nullcontext(Watch(say=said.append)))
    for command in ("derive single-head", "lab run edelman2021-and --scale smoke --dry-run"):
        assert dudley(*command.split()).code == 0
    assert said[0] == "deriving the bound" and said[-1] == "edelman2021-and, smoke: packing"


def test_a_terminal_sees_each_step_in_one_place(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.watch_steps() as watch:
        watch.begin("a run")
        watch.say("part 1 of 2")
    assert "a run: part 1 of 2" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_compression_without_time_leaves_out_every_step_and_says_so():
    model, data = off_the_grid()
    watch = without_time()
    small = compress(model, data, levels=(2, 4), ranks=(1,), watch=watch)
    assert {"levels up to 2", "levels up to 4", "rank 1 on levels up to 4"} <= set(watch.left_out)
    assert len(np.unique(small.weights["0.v"])) <= 5


def test_a_step_that_is_given_up_leaves_no_trace(monkeypatch):
    """Pruning that time cuts short counts for nothing, however far it came."""
    model, data = off_the_grid()
    now = [0.0]

    def long_pruning(search, state, looks):
        search_result, now[0] = prune(search, state, looks=looks), 2.0
        search.watch.look()
        return search_result

    monkeypatch.setattr(quantised, "prune", long_pruning)
    watch = Watch(1.0, clock=lambda: now[0])
    cut = compress(model, data, levels=(4,), ranks=(), watch=watch)
    assert watch.left_out == ["pruning of levels up to 4"]
    assert cut.sha256 == compress(model, data, levels=(4,), ranks=(), watch=without_time()).sha256
    assert cut.sha256 != compress(model, data, levels=(4,), ranks=()).sha256


def test_a_model_that_is_too_large_to_compress_is_refused_at_once(monkeypatch):
    model, data = off_the_grid()
    monkeypatch.setattr(quantised, "LARGEST", 10)
    with pytest.raises(InputError, match=r"at most 10 weights, got 66; train a model"):
        compress(model, data)


def test_the_command_says_what_it_left_out_and_how_to_get_it(dudley, tmp_path: Path, monkeypatch):
    model, _ = off_the_grid()
    model.save(tmp_path / "own.safetensors")
    monkeypatch.setattr(progress, "Watch", without_time)
    args = ["--train", SHIPPED / "train.npz", "--out", tmp_path / "own.json"]
    done = dudley("certify", "model", tmp_path / "own.safetensors", *args)
    assert done.code == 0 and complaints(done.err) == ""
    said = " ".join(done.out.split())
    assert "left out after 1 s: levels up to 1, " in said and "--budget SECONDS gives" in said
    assert json.loads((tmp_path / "own.compressed.json").read_text(encoding="utf-8"))["value"] <= 1


def test_a_picture_has_a_row_for_what_was_left_out():
    model, data = off_the_grid()
    picture = standing(model, data, papers=("mwigo2026",), watch=without_time())
    rows = {row.name: row for row in picture.rows}
    assert rows["norm-cover"].value is not None  # is never left out
    assert rows["occam"].value is not None and "left out after 1 s" in rows["occam"].note
    late = [rows["pac-bayes"], rows["mwigo2026/lemma-2"]]
    assert all(row.culprit == "time" and "--budget SECONDS" in row.refused for row in late)


@pytest.mark.parametrize("budget", ["-1", "nan"])
def test_a_budget_is_a_number_of_seconds(dudley, tmp_path, monkeypatch, budget):
    monkeypatch.chdir(tmp_path)
    for args in (("train", "and", "--T", "4"), ("model", "sparse-and"), ("picture", "sparse-and")):
        refused = dudley("certify", *args, "--budget", budget, "--out", tmp_path / "made.json")
        assert "seconds ≥ 0" in refused.refused() and list(tmp_path.iterdir()) == []

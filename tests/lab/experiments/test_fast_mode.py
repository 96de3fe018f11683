"""Fast mode: what it keeps, what it leaves out, and that it says so everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dudley.core.errors import InputError
from dudley.lab.conduct import analyse, digests_of
from dudley.lab.experiment import EXPERIMENTS
from dudley.lab.experiments.edelman2021_and_far.experiment import recorded
from dudley.lab.shared.edelman2021_protocol import sparse_and
from dudley.lab.shared.fast_mode import (
    CAVEAT,
    fast_columns,
    fast_mode,
    fast_protocol,
    least_success,
    missed,
)
from dudley.lab.shared.sequential import design_of, designed
from dudley.lab.shared.training_table import write

AND = EXPERIMENTS["edelman2021-and"]


def outcomes(scale: str) -> dict[str, np.ndarray]:
    """A table of trials as fast mode writes it, whose success rises with m and falls with T."""
    config = designed(AND, scale, "fast")
    task, n = config["protocol"]["task"], config["trials"]
    T, m, trial = (
        axis.ravel() for axis in np.meshgrid(task["T"], task["m"], range(n), indexing="ij")
    )
    generator = np.random.default_rng(0)
    success = generator.random(len(T)) < 1 / (1 + (8 * np.sqrt(T) / m) ** 6)
    steps = np.where(success, generator.integers(1, 100, len(T)) * 10, 1000)
    best = np.where(success, 0.995, 0.9)
    columns = {"T": T, "m": m, "trial": trial, "best": best, "last": best, "steps": steps}
    return fast_columns(config, columns | {"train_loss_last": best})


def test_the_paper_scale_in_fast_mode():
    config = designed(AND, "paper", "fast")
    training = config["protocol"]["training"]
    assert training["stop"] == {"metric": "holdout_accuracy", "at_least": 0.9901}
    assert training["screen"] == {"split": "holdout", "rows": 1024, "at_least": 0.97}
    assert missed(config) == pytest.approx(6.4e-9, rel=0.01)
    assert design_of(AND, config) == "fast" and design_of(AND, AND.config("paper")) == "full"
    assert design_of(AND, designed(AND, "paper", "sequential")) == "sequential"
    assert AND.caveat(config) == CAVEAT and not AND.caveat(AND.config("paper"))


def test_a_success_is_above_the_number_and_nothing_else_is():
    for size in (10_000, 2000, 500, 7):
        least = least_success(size, 0.99)
        assert least > 0.99 >= (round(least * size) - 1) / size


def test_it_is_no_record_of_the_full_run(tmp_path: Path):
    """Another config, another store; and the far experiment does not copy such trials."""
    full, fast = AND.config("smoke"), designed(AND, "smoke", "fast")
    assert digests_of(full, [])["config_sha256"] != digests_of(fast, [])["config_sha256"]
    far = EXPERIMENTS["edelman2021-and-far"].config("smoke")
    folder = tmp_path / "edelman2021-and" / "smoke"
    write(folder / "trials.parquet", {"T": [1]})
    for config, known in ((full, True), (fast, False)):
        far |= {"printed": full["protocol"], "trials": full["trials"]}
        (folder / "provenance.json").write_text(json.dumps({"config": config}))
        beside = recorded(far, tmp_path / "edelman2021-and-far" / "smoke")
        assert (beside is not None) == known


def test_findings_and_captions_say_it_and_tables_have_no_ends(tmp_path: Path):
    from dudley.lab.experiments.edelman2021_and.figures import figures
    from dudley.lab.pages.results import Results

    config, table = designed(AND, "laptop", "fast"), outcomes("laptop")
    config["bootstrap"]["draws"] = 60
    assert set(table) == {"T", "m", "trial", "steps", "success"}
    write(tmp_path / "trials.parquet", table)
    findings = analyse("edelman2021-and", config, tmp_path, "laptop")
    assert all(one.observation.startswith("Fast mode. ") for one in findings)
    assert not any("last" in name for one in findings for name in one.numbers)
    (what,) = [one for one in findings if "missed_at_most" in one.numbers]
    assert what.numbers["stopped"] == table["success"].sum() and what.numbers["missed_at_most"] == 0
    (tmp_path / "provenance.json").write_text(
        json.dumps(
            {
                "experiment": "edelman2021-and",
                "scale": "laptop",
                "config": config,
                "machine": {},
                "precision": "float32",
                "src_sha256": "",
            }
        )
    )
    drawn = figures(Results(tmp_path))
    assert [sketch.name for sketch in drawn] == ["success"] and CAVEAT in drawn[0].shows


def test_a_protocol_with_rules_of_its_own_is_refused():
    protocol = sparse_and(10, 20)
    for rules in ({"stop": {"metric": "loss", "at_most": 1}}, {"evaluate": ["train"]}):
        ruled = protocol | {"training": protocol["training"] | rules}
        with pytest.raises(InputError, match="protocol for fast mode"):
            fast_protocol(ruled, 0.99)
    with pytest.raises(InputError, match="full"):
        designed(EXPERIMENTS["edelman2021-parity"], "smoke", "fast")
    assert fast_mode({"protocol": protocol, "learnt": 0.99})["mode"] == "fast"


@pytest.mark.slow
def test_the_smoke_scale_agrees_with_the_full_run(tmp_path: Path):
    from dudley.lab.conduct import conduct
    from dudley.lab.experiment import Bench
    from dudley.lab.shared.training_table import read

    tables = {}
    for design in ("full", "fast"):
        conduct("edelman2021-and", "smoke", tmp_path / design, Bench(progress=False), design)
        tables[design] = read(tmp_path / design / "trials.parquet")
    assert np.array_equal(tables["full"]["best"] > 0.99, tables["fast"]["success"])
    assert tables["fast"]["steps"].min() < 60

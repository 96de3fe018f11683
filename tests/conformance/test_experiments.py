"""Every experiment: three scales, JSON configs, a smoke run with findings, figures, a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dudley.lab.experiments
from dudley.lab import summary
from dudley.lab.catalogue import EXPERIMENTS
from dudley.lab.conduct import analyse
from dudley.lab.experiment import SCALES, VERDICTS, Finding
from dudley.lab.figures import draw
from dudley.lab.figures.catalogue import SKETCHES
from dudley.lab.pages import page
from dudley.lab.pages.results import Results, committed
from dudley.lab.store.find import stores
from smoke_runs import SmokeRuns

ROOT = Path(__file__).resolve().parents[2]
NAMES = list(EXPERIMENTS)
COMMITTED = [held for name in NAMES for held in committed(name, ROOT / "results").values()]


def test_every_folder_of_experiments_is_one_experiment_with_figures():
    folder = Path(dudley.lab.experiments.__file__).parent
    names = {path.parent.name.replace("_", "-") for path in folder.glob("*/__init__.py")}
    assert names == set(NAMES) == set(SKETCHES)


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_is(name: str):
    one = EXPERIMENTS[name]
    assert one.name == name and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name)
    assert one.question.rstrip().endswith("?") and one.source and type(one).__doc__


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_a_config_is_json_and_always_the_same(name: str, scale: str):
    config = EXPERIMENTS[name].config(scale)
    text = json.dumps(config, allow_nan=False)
    assert json.loads(text) == json.loads(json.dumps(EXPERIMENTS[name].config(scale)))
    assert "seed" in text, "seeds are chosen beforehand"


@pytest.mark.parametrize("name", NAMES)
def test_scales_differ(name: str):
    configs = [json.dumps(EXPERIMENTS[name].config(scale), sort_keys=True) for scale in SCALES]
    assert len(set(configs)) == len(SCALES)


@pytest.mark.parametrize("name", NAMES)
def test_smoke_runs_and_finds(name: str, smoke: SmokeRuns):
    held = smoke(name)
    assert held.findings and held.tables
    for finding in held.findings:
        assert finding.verdict in VERDICTS and finding.claim and finding.found
    for place in stores(held.folder).values():
        assert set(summary(place).batches) == {"done"}
    assert held.provenance["config"] == json.loads(json.dumps(EXPERIMENTS[name].config("smoke")))


@pytest.mark.parametrize("name", NAMES)
def test_the_analysis_is_a_function_of_the_tables(name: str, smoke: SmokeRuns, tmp_path: Path):
    held = smoke.copy(name, tmp_path)
    before = (held.folder / "findings.json").read_text(encoding="utf-8")
    analyse(name, held.config, held.folder)
    assert (held.folder / "findings.json").read_text(encoding="utf-8") == before


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_has_figures_of_its_own_that_can_be_drawn(name: str, smoke: SmokeRuns, tmp_path: Path):
    assert name in SKETCHES
    drawn = draw.draw(smoke(name), tmp_path, (".svg",))
    assert drawn
    for sketch, (svg,) in drawn:
        assert svg.stat().st_size > 3_000 and sketch.shows
    names = [sketch.name for sketch, _ in drawn]
    assert len(set(names)) == len(names)
    assert any(sketch.findings for sketch, _ in drawn), "a figure says the claim and the finding"


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_page(name: str, smoke: SmokeRuns):
    text = (ROOT / "docs" / "lab" / f"{name}.md").read_text(encoding="utf-8")
    assert EXPERIMENTS[name].question[:20] in text
    if not committed(name, ROOT / "results"):
        assert "No results are committed yet" in text
    held = smoke(name)
    with_smoke = page.page(EXPERIMENTS[name], {"smoke": held})
    assert all(f"**{finding.verdict}**" in with_smoke for finding in held.findings)


@pytest.mark.slow  # thousands of bootstraps
@pytest.mark.parametrize("held", COMMITTED, ids=lambda held: f"{held.name}-{held.scale}")
def test_committed_findings_follow_from_committed_tables(held: Results, tmp_path: Path):
    """Numbers that a library computes may differ in their last digits between machines."""
    for table in held.folder.glob("*.parquet"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    found = analyse(held.name, held.config, tmp_path)
    assert [(f.claim, f.verdict) for f in found] == [(f.claim, f.verdict) for f in held.findings]
    same(list(map(Finding.as_json, found)), list(map(Finding.as_json, held.findings)))


def same(one, other) -> None:
    """Equal, floats to six digits; raises where they are not."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, float) and isinstance(other, int | float):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-9, nan_ok=True)
    else:
        assert one == other


def test_the_comparison_sees_a_difference():
    same({"a": [1.0, 2]}, {"a": [1.0 + 1e-12, 2]})
    with pytest.raises(AssertionError):
        same({"a": [1.0, 2]}, {"a": [1.001, 2]})

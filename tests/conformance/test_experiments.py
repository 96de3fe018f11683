"""Every experiment: three scales, JSON configs, a smoke run with findings, figures, a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dudley.lab.experiments
from dudley.lab import summary
from dudley.lab.conduct import analyse
from dudley.lab.experiment import EXPERIMENTS, SCALES
from dudley.lab.figures import draw
from dudley.lab.figures.sketch import SKETCHES
from dudley.lab.finding import SMOKE
from dudley.lab.pages import page
from dudley.lab.pages.results import committed
from dudley.lab.store.find import stores
from smoke_runs import SmokeRuns

ROOT = Path(__file__).resolve().parents[2]
NAMES = list(EXPERIMENTS)
QUICK = ("beyond-masked",)
RUN = [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in NAMES]


def test_every_folder_of_experiments_is_one_experiment_with_figures():
    folder = Path(dudley.lab.experiments.__file__).parent
    names = {path.parent.name.replace("_", "-") for path in folder.glob("*/__init__.py")}
    assert names == set(NAMES) == set(SKETCHES)


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_is(name: str):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name)
    assert (
        experiment.question.rstrip().endswith("?")
        and experiment.source
        and type(experiment).__doc__
    )


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


@pytest.mark.parametrize("name", RUN)
def test_smoke_runs_and_finds(name: str, smoke: SmokeRuns):
    results = smoke(name)
    assert results.findings and results.tables
    for finding in results.findings:
        assert finding.verdict == SMOKE and finding.claim and finding.observation
    for location in stores(results.folder).values():
        assert set(summary(location).batches) == {"done"}
    assert results.provenance["config"] == json.loads(json.dumps(EXPERIMENTS[name].config("smoke")))


@pytest.mark.parametrize("name", RUN)
def test_the_analysis_is_a_function_of_the_tables(name: str, smoke: SmokeRuns, tmp_path: Path):
    results = smoke.copy(name, tmp_path)
    before = (results.folder / "findings.json").read_text(encoding="utf-8")
    analyse(name, results.config, results.folder, "smoke")
    assert (results.folder / "findings.json").read_text(encoding="utf-8") == before


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
def test_it_has_a_page(name: str):
    text = (ROOT / "docs" / "lab" / f"{name}.md").read_text(encoding="utf-8")
    assert EXPERIMENTS[name].question[:20] in text
    if not committed(name, ROOT / "results"):
        assert "No results are committed yet" in text


@pytest.mark.parametrize("name", RUN)
def test_a_page_has_every_finding(name: str, smoke: SmokeRuns):
    results = smoke(name)
    with_smoke = page.page(EXPERIMENTS[name], {"smoke": results})
    assert all(f"**{finding.verdict}**" in with_smoke for finding in results.findings)

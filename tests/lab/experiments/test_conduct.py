"""A record says of which starts it is: what was broken off and gone on with is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dudley.core.sources import code_digest
from dudley.lab import BatchFailed
from dudley.lab.conduct import conduct, starts
from dudley.lab.experiment import EXPERIMENTS, Bench
from dudley.lab.pages.page import made
from dudley.lab.pages.results import Results
from lab_toy import Toy
from tiny_run import tiny


def test_earlier_starts_and_their_sources_are_told(tmp_path: Path, monkeypatch):
    fails: list[int] = [6]

    class Trained(Toy):
        """The same, with a grid that is trained first."""

        def run(self, config, folder: Path, bench: Bench) -> None:
            for part in ("near", "far"):
                tiny(bench.location(folder) / part, fails=tuple(fails) if part == "far" else ())
            super().run(config, folder, bench)

    monkeypatch.setitem(EXPERIMENTS._units, Toy.name, Trained())
    monkeypatch.setattr("dudley.lab.runners.launch.code_digest", lambda: "5" * 64)
    with pytest.raises(BatchFailed):
        conduct(Toy.name, "smoke", tmp_path)
    fails.clear()
    monkeypatch.setattr("dudley.lab.runners.launch.code_digest", code_digest)
    conduct(Toy.name, "smoke", tmp_path)
    provenance = json.loads((tmp_path / "provenance.json").read_text())
    (earlier,) = provenance["earlier_starts"]
    assert earlier["src_sha256"] == "5" * 64 and earlier["at"].startswith("20")
    assert provenance["packing"] == {"near": [2, 2], "far": [2, 2]}
    line = made(Results(tmp_path))
    assert "(the last of 2 starts)" in line and f"`{'5' * 12}`, `{code_digest()[:12]}`" in line


def test_of_one_start_nothing_is_told(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS._units, Toy.name, Toy())
    conduct(Toy.name, "smoke", tmp_path)
    provenance = json.loads((tmp_path / "provenance.json").read_text())
    assert "earlier_starts" not in provenance and provenance["packing"] == {}
    assert starts(Bench().location(tmp_path)) == [] and "starts)" not in made(Results(tmp_path))

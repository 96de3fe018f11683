"""Which quantity tracks the generalisation of trained Transformers? The plan, written before a run.

The models are every combination of task, T, m, depth, width, learning rate and, in practice's
family, norm layer and dropout, with two seeds each, trained by Adam on all examples until the
training loss is .05. Models that do not reach it are kept apart: they are counted, and ranked
nowhere. There are two families, never mixed:

- blocks are the papers' networks, for which the statements are; heads are those of depth 1, which
  most statements are for;
- pre-norm are Transformers of practice, of which no statement speaks, and the calculus does.

The gap is the mean on held-out examples less that on training examples of the ramp loss at
margin 1.

The measures are every statement of the registry on whole networks in its printed, derived and best
form; the calculus; parameter counts; norm sums and products; distances from the start; margins;
sharpness and flatness; path norms; spectra; terms of a PAC-Bayes and of an Occam certificate; and a
random number as a control. All are oriented so that more means a larger gap. A statement that
cannot be evaluated on a model says why.

The statistics of each measure are these:

- Kendall's τ over pairs of models from different cells (only the seed differs within a cell);
- granulated ψ (Jiang et al., 2020): τ over pairs that differ in one setting, averaged over
  settings;
- K, the share of the information about the gap's sign that no two settings have (Jiang et al.,
  2020);
- the largest sign error over environments, two values of one setting with all else the same, with
  pairs left out whose gaps differ by less than two standard errors (Dziugaite et al., 2020).

For intervals cells are drawn again, whole; a standard error is multiplied by the normal quantile
at 1 − .05/2M for M rankings (measures times groups), so that all intervals hold at once with 95 %
confidence. Differences of two measures are drawn together, and their number is M too.

The hypotheses, each decided by such intervals:

- control: τ of the random number, and of every measure with shuffled gaps, has 0 in its interval;
- H1: the plain sum of column norms ranks gaps better than every published bound (heads, blocks);
- H2: no published bound, derived or best, reaches τ = .5 (heads, blocks);
- H3: along depth alone, no published bound orders the gaps of blocks rightly (ψ_depth below .1);
- H4: flatness ranks the gaps of pre-norm Transformers better than every measure of weights alone;
- H5: every measure errs in at least half of the pairs of some environment.

Asked after the laptop's record had been seen, and no hypothesis of it: does a published bound rank
gaps better than 1/m alone?

A hypothesis is confirmed if all intervals that it speaks of lie on its side, refuted if one lies on
the other, and undecided else.

Jiang, Neyshabur, Mobahi, Krishnan, Bengio: Fantastic generalization measures, ICLR 2020.
Dziugaite et al.: In search of robust measures of generalization, NeurIPS 2020.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from dudley.lab.experiment import Bench, Experiment, Finding, experiment
from dudley.lab.experiments.which_bound.grid import SIZES
from dudley.lab.planned import PlannedGrid
from dudley.lab.shared.training_table import read, write


@experiment
class WhichBound(Experiment):
    """Tables: ``trials``, a row a model; ``refusals``, why statements have no number."""

    name: ClassVar[str] = "which-bound"
    source: ClassVar[str] = "beyond the papers; Jiang et al. (2020), Dziugaite et al. (2020)"
    question: ClassVar[str] = "Which quantity tracks the generalisation of trained Transformers?"

    def config(self, scale: str) -> dict[str, Any]:
        draws, noises = {"smoke": (50, 4), "laptop": (1000, 4), "paper": (2000, 10)}[scale]
        return {
            "seed": 0, "trials": 2, "sizes": SIZES[scale], "noises": noises, "draws": draws,
            "bootstrap_seed": 1,
        }  # fmt: skip

    def planned(self, config: dict[str, Any]) -> list[PlannedGrid]:
        from dudley.lab.experiments.which_bound.measures import grid_of

        return [PlannedGrid("", grid_of(self.name, config))]

    def run(self, config: dict[str, Any], folder: Path, bench: Bench) -> None:
        from dudley.lab.experiments.which_bound.measures import tabulated, trained
        from dudley.lab.shared.beyond_trained import columns_of

        rows, refusals = tabulated(trained(self.name, config, folder, bench), bench)
        write(folder / "trials.parquet", columns_of(rows))
        write(folder / "refusals.parquet", columns_of(refusals))

    def analyse(self, config: dict[str, Any], folder: Path) -> list[Finding]:
        from dudley.lab.experiments.which_bound.findings import concluded

        table, refusals = (read(folder / f"{name}.parquet") for name in ("trials", "refusals"))
        return concluded(table, refusals, config["draws"], config["bootstrap_seed"])

"""The papers' trainings that the benchmarks run, in full or in part: those of the experiments."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from dudley.lab.experiments.trauger2024_majority import protocol as trauger
from dudley.lab.shared import edelman2021_protocol as edelman

LENGTHS = edelman.LENGTHS
AND = edelman.sparse_and(LENGTHS, edelman.SIZES)
AND_TRIALS = 50
PARITY = edelman.sparse_parity([10, 15, 20])
PARITY_TRIALS = 10
MAJORITY = trauger.majority(trauger.LENGTHS, epochs=200_000, points=500)
MAJORITY_TRIALS = 5

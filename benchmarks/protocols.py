"""The papers' trainings that the benchmarks run, in full or in part: those of the experiments."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from dudley.experiments import edelman2021_protocol as edelman
from dudley.experiments import trauger2024_protocol as trauger

LENGTHS = edelman.LENGTHS
AND = edelman.sparse_and(LENGTHS, edelman.SIZES)
AND_TRIALS = 50
PARITY = edelman.sparse_parity([10, 15, 20])
PARITY_TRIALS = 10
MAJORITY = trauger.majority(trauger.LENGTHS, epochs=200_000, points=500)
MAJORITY_TRIALS = 5

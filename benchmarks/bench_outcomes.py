"""A million outcomes with fifty slices: seconds, and memory against the table.

A CSV file with labels, predictions and a column of fifty groups is read and certified in a process
of its own. Memory is the process's highest, less what it needs for a table of ten rows, against the
size of the file. The record is ``results/certificates/outcomes-speed.json``:

    python benchmarks/bench_outcomes.py
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from dudley.core.provenance import provenance

ROWS, SLICES = 1_000_000, 50
SECONDS, TIMES = 5.0, 3.0  # allowed: seconds, and memory over the size of the file
RECORD = Path(__file__).resolve().parents[1] / "results/certificates/outcomes-speed.json"
CERTIFY = """
import resource, sys, time
start = time.perf_counter()
from dudley.certificates.certify_outcomes import outcomes
certificate = outcomes(sys.argv[1], groups=["site"])
slices = len(certificate.facts.slices)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, slices)
"""


def write(path: Path, rows: int) -> None:
    """Labels among eight, predictions that are wrong in five of a hundred rows, fifty groups."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 8, rows)
    prediction = np.where(rng.random(rows) < 0.05, (y + 1) % 8, y)
    site = rng.integers(0, SLICES, rows)
    with path.open("w", encoding="utf-8") as file:
        file.write("row,y,prediction,site\n")
        lines = zip(range(rows), y.tolist(), prediction.tolist(), site.tolist(), strict=True)
        file.writelines(f"{i},class {a},class {b},site {s:02}\n" for i, a, b, s in lines)


def measured(path: Path) -> tuple[float, int, int]:
    """Seconds, KiB and slices of one process."""
    words = [sys.executable, "-c", CERTIFY, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    seconds, memory, slices = done.stdout.split()
    return float(seconds), int(memory), int(slices)


def row() -> dict[str, float]:
    """The least seconds of three runs, and the memory of the first."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.csv"), Path(folder, "large.csv")
        write(small, 10)
        write(large, ROWS)
        size = large.stat().st_size
        _, before, _ = measured(small)
        runs = [measured(large) for _ in range(3)]
    return {
        "rows": ROWS,
        "slices": runs[0][2],
        "bytes": size,
        "seconds": round(min(seconds for seconds, _, _ in runs), 2),
        "memory_over_table": round((runs[0][1] - before) * 1024 / size, 2),
    }


def test_a_million_rows_with_fifty_slices():
    table = row()
    print("\n", table)
    assert table["slices"] == SLICES
    assert table["seconds"] < SECONDS and table["memory_over_table"] < TIMES


if __name__ == "__main__":
    record = {"benchmark": "outcomes", "provenance": provenance(), **row()}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(record)

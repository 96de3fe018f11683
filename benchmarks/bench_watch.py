"""Watching a stream of 10⁵ lines, with an alarm and a state: at least 10⁵ lines a CPU second.

The lines are JSON of three kinds: what was correct, losses, and labels with predictions. The
record, ``results/certificates/watch-speed.json``, has the best of three runs of each:

    python benchmarks/bench_watch.py
"""

import json
import tempfile
import time
from pathlib import Path

import numpy as np

from dudley.certificates.stream.alarm import ALARMS
from dudley.certificates.stream.stream import StreamDeclared
from dudley.certificates.stream.watching import StreamWatcher
from dudley.core.provenance import provenance

ROWS, LEAST = 100_000, 100_000  # lines, and lines a second
RECORD = Path(__file__).resolve().parents[1] / "results/certificates/watch-speed.json"
LINES = {
    "correct": ('{"id": 1, "correct": true}\n', '{"id": 1, "correct": false}\n'),
    "loss": ("0.0\n", "1.0\n"),
    "labels": ('{"y": "cat", "prediction": "cat"}\n', '{"y": "cat", "prediction": "dog"}\n'),
}


def seconds(path: Path, kind: str) -> float:
    """CPU seconds of one run to the end."""
    with tempfile.TemporaryDirectory() as folder:
        declared = StreamDeclared(alarm_at=0.02, alarm=kind)
        watcher = StreamWatcher(str(path), declared, Path(folder) / "state.json")
        begin = time.process_time()
        look = watcher.run()
        taken = time.process_time() - begin
        assert look.n == ROWS
    return taken


def rates() -> dict[str, dict[str, int]]:
    """Lines a second, by what a line holds and by the kind of the alarm."""
    errors = np.random.default_rng(0).random(ROWS) < 0.019
    table: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in LINES.items():
            path = Path(folder) / f"{name}.jsonl"
            path.write_text("".join(lines[error] for error in errors.tolist()))
            runs = {kind: min(seconds(path, kind) for _ in range(3)) for kind in sorted(ALARMS)}
            table[name] = {kind: round(ROWS / run) for kind, run in runs.items()}
    return table


def test_a_hundred_thousand_lines_a_second():
    table = rates()
    print("\n", table)
    assert min(rate for kinds in table.values() for rate in kinds.values()) >= LEAST


if __name__ == "__main__":
    record = {"benchmark": "watch", "provenance": provenance(), "rows": ROWS}
    record["lines_a_second"] = rates()
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(record)

"""CPU time of watching a stream of 10⁵ lines, with an alarm and a state: at most a second."""

import tempfile
import time
from pathlib import Path

import numpy as np

from dudley.certificates.stream.stream import StreamDeclared
from dudley.certificates.stream.watching import StreamWatcher

ROWS, ALLOWED = 100_000, 1.0


def test_a_hundred_thousand_lines_take_at_most_a_second():
    errors = np.random.default_rng(0).random(ROWS) < 0.019
    line = {False: '{"id": 1, "correct": true}\n', True: '{"id": 1, "correct": false}\n'}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outcomes.jsonl"
        path.write_text("".join(line[bool(error)] for error in errors))
        for kind in ("ever", "mean"):
            declared = StreamDeclared(alarm_at=0.02, alarm=kind)
            watcher = StreamWatcher(str(path), declared, Path(folder) / f"{kind}.json")
            begin = time.process_time()
            look = watcher.run()
            seconds = time.process_time() - begin
            print(f"\n{kind}: {ROWS / seconds:,.0f} lines a second, at most {look.upper:.4f}")
            assert look.n == ROWS and seconds <= ALLOWED

"""A watched stream: lines, places, states, kills, and whatever else a file may hold."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dudley.certificates.stream.source import LONGEST, StreamPosition, StreamReader
from dudley.certificates.stream.state import read_state, sealed
from dudley.certificates.stream.stream import OutcomeStream, StreamDeclared
from dudley.certificates.stream.watching import LineReading, StreamWatcher
from dudley.core.errors import InputError
from each import each

ALARMED = StreamDeclared(alarm_at=0.02)


def watched(path: Path, state: Path | None = None, **rest) -> StreamWatcher:
    watcher = StreamWatcher(str(path), rest.pop("declared", None), state, **rest)
    watcher.run()
    return watcher


def text_of(outcomes, correct: bool = False) -> str:
    return "".join(f"{int(not x) if correct else int(x)}\n" for x in outcomes)


@each(
    "name, text, losses",
    [
        ("numbers", "0\n1\n0.25\n", 1.25),
        ("spaces, blank lines, line ends of Windows", " 1 \r\n\n0\r\n", 1.0),
        ("a mark of UTF-8", "\ufeff1\n1\n", 2.0),
        ("correct", '{"correct": true}\n{"correct": false}\n{"correct": 0}\n', 2.0),
        ("a loss among other keys", '{"id": [1], "loss": 0.5}\n{"loss": 1, "id": null}\n', 1.5),
        ("label and prediction", '{"y": "a", "prediction": "b"}\n{"prediction": 1, "y": 1}\n', 1.0),
        ("a table", "id;correct\n1;1\n2;0\n", 1.0),
        ("quoted", 'text,error\n"a, b",1\n"""c""",0\n', 1.0),
        ("labels that are numbers", "y,prediction\n1,1\n2,3\n007,007\n", 1.0),
    ],
)
def test_lines_become_losses(name: str, text: str, losses: float, tmp_path: Path):
    path = tmp_path / "stream"
    path.write_bytes(text.encode())
    assert watched(path).stream.total == losses


def test_long_labels_that_differ_are_no_right_answer(tmp_path: Path):
    path = tmp_path / "stream"
    path.write_text("y,prediction\n12345678901234567,12345678901234568\n")
    assert watched(path).stream.total == 1


def test_a_column_and_its_meaning_can_be_named(tmp_path: Path):
    path = tmp_path / "stream"
    path.write_text("good,bad\n1,0\n1,0\n0,1\n")
    assert watched(path, reading=LineReading(column="bad")).stream.total == 1
    assert watched(path, reading=LineReading(column="good", correct=True)).stream.total == 1
    path.write_text("1\n1\n0\n")
    assert watched(path, reading=LineReading(correct=True)).stream.total == 1


HOSTILE = {
    "binary": (b"1\n\x00\x01\n", "line 2: expected text, got a zero byte"),
    "another encoding": ("1\n0\n".encode("utf-16"), "line 1: expected text in UTF-8"),
    "a wrong byte": (b"1\n0\n\xff\n", "line 3: expected text in UTF-8, got the byte 0xff"),
    "NaN": (b"1\nnan\n", "line 2: expected a loss in [0, 1], got nan"),
    "NaN first": (b"nan\n", "line 1: expected a loss in [0, 1], got nan"),
    "NaN in JSON": (b'{"loss": NaN}\n', "line 1: expected a loss in [0, 1], got nan"),
    "too large": (b"0\n2\n", "line 2: expected a loss in [0, 1], got 2"),
    "a huge integer": (b'{"loss": 1' + b"0" * 400 + b"}\n", "line 1: expected a loss in [0, 1]"),
    "more digits than Python reads": (b'{"loss": 1' + b"0" * 5000 + b"}\n", "a JSON object"),
    "a word": (b"0\nno idea\n", "line 2: expected a loss in [0, 1], got 'no idea'"),
    "half a JSON object": (b'{"loss": 0}\n{"loss": \n', "line 2: expected a JSON object"),
    "a list": (b'{"loss": 0}\n[1]\n', "line 2: expected a JSON object"),
    "deep": (b'{"loss": 0}\n' + b"[" * 100_000 + b"\n", "line 2: expected a JSON object"),
    "a key twice": (b'{"loss": 0}\n{"loss": 0, "loss": 1}\n', "expected every key once"),
    "another key": (b'{"loss": 0}\n{"error": 0}\n', "expected a plain value of loss, got none"),
    "no such keys": (b'{"a": 0}\n', "expected a column loss, error or correct, or y and predict"),
    "a ragged row": (b"id,loss\n1,0\n2\n", "line 3: expected 2 fields, got 1"),
    "a field with a line break": (b'id,loss\n"a\nb",0\n', "line 2: expected"),
    "many columns": (b",".join(b"%d" % i for i in range(20_000)) + b"\n", "at most 10,000 col"),
    "heads twice": (b"loss,loss\n0,1\n", "got a name twice"),
    "one number, written in two ways": (b"y,prediction\n007,7\n", "line 2: expected a label and a"),
    "long numbers": (b"y,prediction\n12345678901234567,12345678901234567.0\n", "written alike"),
    "labels that are NaN": (b"y,prediction\nnan,nan\n", "line 2: expected a label and a"),
    "a truth value and a number": (b'{"y": 1, "prediction": true}\n', "a prediction of one kind"),
    "an underscore": (b"0\n0_1\n", "line 2: expected a loss in [0, 1], got"),
    "two columns that say it": (b"correct,loss\n1,1\n", "or y and prediction: one of these"),
    "labels of two kinds": (b'{"y": 1, "prediction": "1"}\n', "a prediction of one kind"),
    "an escape": (b"0\n\x1b[31m\n", "line 2: expected a loss in [0, 1], got '\\x1b[31m'"),
}  # fmt: skip


@each("name", HOSTILE)
def test_hostile_streams_get_a_sentence(name: str, tmp_path: Path):
    content, words = HOSTILE[name]
    path, state = tmp_path / "stream", tmp_path / "state.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        watched(path, state)
    message = str(refused.value)
    assert words in message and "\n" not in message and len(message) < 500, message
    assert not state.exists()


def test_an_endless_line_ends_after_a_mebibyte(tmp_path: Path):
    class Endless(io.RawIOBase):
        size = 0

        def read1(self, size: int) -> bytes:
            self.size += size
            return b"1" * size

    file = Endless()
    with pytest.raises(InputError, match="lines of at most 1 MiB"):
        list(StreamReader(file, "endless", StreamPosition()).blocks())
    assert file.size <= 3 * LONGEST


def test_half_a_line_waits_for_its_end(tmp_path: Path):
    path, state = tmp_path / "stream", tmp_path / "state.json"
    path.write_text("1\n0\n0.")
    first = watched(path, state)
    assert (first.stream.tally.m, first.waiting) == (2, 2)
    path.write_text("1\n0\n0.5\n")
    second = watched(path, state)
    assert (second.stream.tally.m, second.stream.total, second.waiting) == (3, 1.5, 0)


def test_a_line_is_counted_once_however_often_it_is_read(tmp_path: Path):
    path, state = tmp_path / "stream", tmp_path / "state.json"
    rng, outcomes = np.random.default_rng(0), []
    for _ in range(20):
        outcomes += list(rng.random(50) < 0.05)
        path.write_text(text_of(outcomes))
        look = watched(path, state, declared=ALARMED).stream.look()
        assert look.n == len(outcomes) and look.total == sum(outcomes)
    whole = OutcomeStream(ALARMED)
    whole.add(np.array(outcomes) * 1.0)
    assert whole.look().alarm == look.alarm and abs(whole.look().upper - look.upper) < 1e-9
    assert json.loads(state.read_text())["position"]["lines"] == 1000


@each(
    "name, after, words",
    [
        ("truncated", "0\n", "expected the 8 bytes that were counted, and more, got 2 bytes"),
        ("edited", "0\n0\n1\n0\n1\n", "expected a stream that begins with what was counted"),
    ],
)
def test_a_file_that_was_changed_is_refused(name: str, after: str, words: str, tmp_path: Path):
    path, state = tmp_path / "stream", tmp_path / "state.json"
    path.write_text("0\n0\n0\n0\n")
    watched(path, state)
    before = state.read_bytes()
    path.write_text(after)
    with pytest.raises(InputError, match=words):
        watched(path, state)
    assert state.read_bytes() == before


def test_a_stream_goes_on_in_another_file(tmp_path: Path):
    first, second, state = tmp_path / "log.1", tmp_path / "log", tmp_path / "state.json"
    first.write_text("id,correct\n" + "".join(f"{i},1\n" for i in range(50)))
    second.write_text("id,correct\n" + "".join(f"{i},0\n" for i in range(50, 60)))
    watched(first, state)
    with pytest.raises(InputError, match="another file than before, got the same beginning"):
        watched(first, state, next_part=True)
    with pytest.raises(InputError, match="--next goes on with another file"):
        watched(second, state)
    assert watched(second, state, next_part=True).stream.total == 10
    second.write_text(second.read_text() + "60,0\n")
    assert watched(second, state).stream.look().n == 61  # it is this part that goes on
    third = tmp_path / "third"
    third.write_text("correct,id\n1,61\n")
    with pytest.raises(InputError, match="expected the heads of the parts before"):
        watched(third, state, next_part=True)


def test_another_declaration_needs_another_state(tmp_path: Path):
    path, state = tmp_path / "stream", tmp_path / "state.json"
    path.write_text("0\n")
    watched(path, state, declared=ALARMED)
    with pytest.raises(InputError, match="goes on as it was declared"):
        watched(path, state, declared=StreamDeclared(alarm_at=0.03))
    with pytest.raises(InputError, match="--next: expected a state with the parts before"):
        watched(path, next_part=True)


@each(
    "name, change, words",
    [
        ("another file", lambda t: {"schema": "dudley/1"}, "a state of dudley watch"),
        ("a sum too few", lambda t: t["sums"].update(logs=[0.0]), "those that a watch wrote"),
        ("more errors than outcomes", lambda t: t["sums"].update(total=9), "a watch wrote"),
        ("an alarm without a level", lambda t: t.update(declared={"delta": 0.05}), "was declared"),
        ("a format", lambda t: t["format"].update(name="pickle"), "unknown format of a stream"),
        ("no number", lambda t: t["position"].update(bytes="many"), "a whole number"),
    ],
)
def test_a_state_that_no_watch_wrote_is_refused(name: str, change, words: str, tmp_path: Path):
    path, state = tmp_path / "stream", tmp_path / "state.json"
    path.write_text("0\n")
    watched(path, state, declared=ALARMED)
    table = json.loads(state.read_text())
    table = change(table) or table
    state.write_text(json.dumps(table))
    with pytest.raises(InputError, match="a state"):  # by its hash
        watched(path, state)
    table.pop("sha256", None)
    schema = {"schema": table.pop("schema")}
    state.write_text(json.dumps(schema | sealed(table)))
    with pytest.raises(Exception, match=words) as refused:
        watched(path, state)
    assert "\n" not in str(refused.value)


def test_a_state_with_other_counts_is_refused(tmp_path: Path):
    """Ten times as many outcomes would make the bound a tenth, and no sum would contradict."""
    path, state = tmp_path / "stream", tmp_path / "state.json"
    path.write_text("0\n" * 9)
    watched(path, state)
    state.write_text(state.read_text().replace('"outcomes": 9', '"outcomes": 90'))
    with pytest.raises(InputError, match="expected a state as a watch wrote it"):
        watched(path, state)
    state.write_bytes(state.read_bytes()[:200])
    with pytest.raises(InputError, match="JSON"):
        watched(path, state)


def test_two_watches_of_one_state_leave_a_whole_one(tmp_path: Path):
    path, state = tmp_path / "stream", tmp_path / "state.json"
    path.write_text("0\n" * 50)
    watched(path, state)
    early, late = (StreamWatcher(str(path), None, state) for _ in range(2))
    path.write_text("0\n" * 50 + "1\n" * 10)
    early.run()
    path.write_text("0\n" * 50 + "1\n" * 20)
    late.run()
    early.save()  # the older one writes last
    look = watched(path, state).stream.look()
    assert (look.n, look.total) == (70, 20)


def test_lines_are_read_on_as_the_first_one_was(tmp_path: Path):
    path, state = tmp_path / "stream", tmp_path / "state.json"
    path.write_text("0\n1\n")
    watched(path, state)
    for reading in (LineReading(correct=True), LineReading("csv"), LineReading(column="loss")):
        with pytest.raises(InputError, match="a watch goes on as it began"):
            watched(path, state, reading=reading)


def test_heads_after_blank_lines_that_came_alone_are_heads(tmp_path: Path):
    path, state = tmp_path / "stream", tmp_path / "state.json"
    path.write_text("\n\n")
    watched(path, state)
    path.write_text("\n\nid,correct\n1,0\n")
    assert watched(path, state).stream.total == 1


KILLED = """
import sys
from pathlib import Path
from dudley.certificates.stream import watching
watching.EVERY = 0.0
from dudley.certificates.stream.state import read_state
from dudley.certificates.stream.stream import StreamDeclared
watcher = watching.StreamWatcher(sys.argv[1], StreamDeclared(alarm_at=0.3), Path(sys.argv[2]))
print("on", flush=True)
watcher.run(follow=True)
"""


def test_a_kill_at_any_time_counts_no_line_twice(tmp_path: Path):
    path, state = tmp_path / "stream", tmp_path / "state.json"
    rng, written = np.random.default_rng(3), 0
    path.write_text("")
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path), str(state)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None and process.stdout.readline() == b"on\n"
        with path.open("a") as file:
            for _ in range(int(rng.integers(20, 60))):
                file.write("0\n" * 7 + "1\n")
                file.flush()
                written += 8
                time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    look = watched(path, state, declared=StreamDeclared(alarm_at=0.3)).stream.look()
    assert (look.n, look.total) == (written, written / 8)
    assert read_state(state).position.lines == written


def test_following_ends_with_the_alarm_and_with_a_rotation(tmp_path: Path, monkeypatch):
    from dudley.certificates.stream import watching

    monkeypatch.setattr(watching, "EVERY", 0.0)
    path, turns = tmp_path / "stream", []
    path.write_text("0\n" * 10)

    def write(_: float) -> None:
        turns.append(1)
        with path.open("a") as file:
            file.write("1\n")

    monkeypatch.setattr(watching.time, "sleep", write)
    look = StreamWatcher(str(path), ALARMED).run(follow=True)
    assert look.alarm == 10 + len(turns)
    monkeypatch.setattr(watching.time, "sleep", lambda _: path.rename(tmp_path / "stream.1"))
    with pytest.raises(InputError, match="the file that was opened"):
        StreamWatcher(str(path)).run(follow=True)

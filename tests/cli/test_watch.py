"""``dudley watch``: exit codes, the page, JSON, pipes, and one line for what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_alarm_is_exit_code_1(dudley, tmp_path: Path):
    page = tmp_path / "stream.html"
    done = dudley("watch", "drifting", "--alarm-at", ".05", "--out", page)
    assert done.code == 1
    assert "Alarm: at some time within the first 2,368 outcomes" in done.out
    assert "alarm at outcome 2,368" in page.read_text() and "alarm at 0.05" in page.read_text()
    assert dudley("watch", "drifting", "--alarm-at", ".05", "--alarm", "mean").code == 0
    assert dudley("watch", "drifting").code == 0


def test_json_has_the_number_and_what_it_is_about(dudley, tmp_path: Path):
    done = dudley("watch", "drifting", "--alarm-at", ".05", "--json")
    (item,) = done.json()["items"]
    assert done.code == 1 and item["alarm"] == 2368 and item["outcomes"] == 3000
    assert "running mean of the conditional error" in item["quantity"]
    assert item["mean"] < item["upper"] < 0.08 and item["share"] == 0.025
    (tmp_path / "stream.json").write_text(done.out)
    report = dudley("report", tmp_path / "stream.json")
    assert report.code == 0 and "what the file claims" in " ".join(report.out.split())


def test_a_pipe_is_read_to_its_end(tmp_path: Path):
    state = str(tmp_path / "state.json")
    words = [sys.executable, "-m", "dudley", "watch", "-", "--alarm-at", ".1", "--state", state]

    def piped(text: str, *more: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*words, *more], input=text, capture_output=True, text=True, encoding="utf-8"
        )

    first = piped("0\n" * 50)
    assert first.returncode == 0 and "first 50 outcomes" in first.stdout, first.stderr
    assert "first 60 outcomes" in piped("0\n" * 60).stdout  # the same stream, grown
    assert "begins with what was counted" in piped("1\n" * 60).stderr
    last = piped("1\n" * 60, "--next")  # new lines alone
    assert last.returncode == 1 and "Alarm" in last.stdout


def test_refusals_are_one_line(dudley, tmp_path: Path):
    path = tmp_path / "stream"
    path.write_text("0\nsecret\n")
    assert "line 2: expected a loss in [0, 1]" in dudley("watch", path).refused()
    assert "no such file" in dudley("watch", tmp_path / "absent").refused()
    assert "a folder" in dudley("watch", tmp_path).refused()
    assert "unknown alarm 'sometimes'" in dudley("watch", path, "--alarm", "sometimes").refused()
    assert "in (0, 1)" in dudley("watch", path, "--alarm-at", "2").refused()
    assert "in (0, 1)" in dudley("watch", path, "--delta", "0").refused()
    assert "unknown format" in dudley("watch", path, "--format", "xml").refused()
    assert "a file that ends in .json" in dudley("watch", path, "--state", "a.txt").refused()
    path.write_text("")
    assert dudley("watch", path).code == 0  # nothing is known, and the bound is 1

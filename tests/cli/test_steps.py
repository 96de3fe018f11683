"""What a long command is at: in place on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import io

from dudley.cli.steps import PATIENCE, Steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def said(stream: io.StringIO, times: list[float]) -> str:
    clock = iter([0.0, *times])
    with Steps("run", stream, lambda: next(clock)) as steps:
        for i, _ in enumerate(times):
            steps(f"step {i}")
    return stream.getvalue()


def test_a_quick_command_says_nothing_in_a_pipe():
    assert said(io.StringIO(), [1.0, 2.0, PATIENCE - 1]) == ""


def test_a_long_command_says_a_line_now_and_then():
    times = [1.0, PATIENCE, PATIENCE + 1, 2 * PATIENCE]
    assert said(io.StringIO(), times) == "run: step 1\nrun: step 3\n"


def test_a_terminal_sees_every_step():
    shown = said(Terminal(), [1.0, 2.0])
    assert "run" in shown

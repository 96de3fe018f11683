"""Commands run in process: exit code, stdout and stderr of `dudley …`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import pytest
from jsonschema import Draft202012Validator

from dudley.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> dict:
        """stdout as one strict JSON document that obeys the shipped schema."""

        def refuse(word: str):
            raise AssertionError(f"not strict JSON: {word}")

        document = json.loads(self.out, parse_constant=refuse)
        schema = resources.files("dudley") / "schemas" / "envelope.schema.json"
        Draft202012Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(document)
        return document

    def refused(self) -> str:
        """The one line of a refusal; anything else fails."""
        assert self.code == 2, f"exit {self.code}: {self.err or self.out}"
        assert self.out == "", "a refusal prints nothing on stdout"
        assert self.err.endswith("\n") and self.err.count("\n") == 1, self.err
        assert self.err.startswith("dudley: ")
        return self.err


@pytest.fixture
def dudley(capsys: pytest.CaptureFixture) -> Callable[..., Done]:
    """`dudley("derive", "single-head")` runs the command in this process."""

    def run(*args: object) -> Done:
        capsys.readouterr()
        code = 0
        try:
            main([str(arg) for arg in args])
        except SystemExit as leaving:
            code = 0 if leaving.code is None else leaving.code
        assert isinstance(code, int), code
        return Done(code, *capsys.readouterr())

    return run

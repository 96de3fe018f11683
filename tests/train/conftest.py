"""What the Triton kernels answer, by Triton's interpreter on a processor and on a GPU; whether
numba is there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import attention_cases


class Interpreted(dict):
    """`attention_cases.of_kernels` by the interpreter: the quick cases, and others when asked for.

    The interpreter must be chosen before Triton is imported: a process of its own.
    """

    def __init__(self, folder: Path):
        super().__init__()
        self.folder = folder
        self.answer(attention_cases.QUICK)

    def __missing__(self, key: tuple[str, str]):
        self.answer([name for name in attention_cases.CASES if name not in attention_cases.QUICK])
        return dict(self)[key]

    def answer(self, names: Iterable[str]) -> None:
        path = self.folder / "answers.pt"
        command = [sys.executable, attention_cases.__file__, str(path), *names]
        environment = os.environ | {"TRITON_INTERPRET": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.update(torch.load(path))


@pytest.fixture(scope="session", params=["interpreter", "gpu"])
def kernels(request, require, tmp_path_factory) -> dict:
    """What `attention_cases.of_kernels` answers."""
    require("triton", find_spec("triton") is not None, "Triton is not installed")
    if request.param == "gpu":
        require("cuda", torch.cuda.is_available(), "no GPU")
        return attention_cases.of_kernels("cuda")
    return Interpreted(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="session")
def numba(require) -> None:
    """Functions can be compiled for the processor."""
    require("numba", find_spec("numba") is not None, "pip install '.[compiled]'")

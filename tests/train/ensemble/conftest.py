"""What the Triton kernels answer: by Triton's interpreter on a processor, and on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

import attention_cases


@pytest.fixture(scope="session", params=["interpreter", "gpu"])
def kernels(request, require, tmp_path_factory) -> dict:
    """`attention_cases.of_kernels`. The interpreter must be chosen before Triton is imported."""
    require("triton", find_spec("triton") is not None, "Triton is not installed")
    if request.param == "gpu":
        require("cuda", torch.cuda.is_available(), "no GPU")
        return attention_cases.of_kernels("cuda")
    path = tmp_path_factory.mktemp("kernels") / "answers.pt"
    command = [sys.executable, attention_cases.__file__, str(path)]
    done = subprocess.run(
        command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return torch.load(path)

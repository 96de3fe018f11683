"""A process that keeps freed memory asks the system once for arrays that come and go."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import resource
import numpy as np
from dudley.lab.runners.freed_memory import keep_freed_memory

def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        np.ones(1 << 22)  # 32 MiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

usual = faults(8)
assert keep_freed_memory()
faults(1)
print(usual, faults(8))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="settings of glibc")
def test_arrays_that_come_and_go_take_the_same_pages():
    out = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    usual, after = map(int, out.stdout.split())
    assert after < usual / 4

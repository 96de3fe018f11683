"""CPU time of `import dudley` against `import numpy`, both in fresh interpreters.

The runs alternate, so that a busy machine slows both alike, and the least of each counts.
"""

import subprocess
import sys

ROUNDS = 12
ALLOWED = 2.0

CODE = """
import time
start = time.process_time()
import {module}
print(time.process_time() - start)
"""


def cpu_seconds(module: str) -> float:
    """CPU seconds that one fresh interpreter spends on importing `module`."""
    command = [sys.executable, "-c", CODE.format(module=module)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_import_costs_at_most_twice_numpy():
    modules = ("numpy", "dudley")
    for module in modules:
        cpu_seconds(module)  # writes the byte code and warms the file cache
    runs = {module: [] for module in modules}
    for _ in range(ROUNDS):
        for module in modules:
            runs[module].append(cpu_seconds(module))
    numpy, dudley = (min(runs[module]) for module in modules)
    print(f"\nimport dudley {dudley:.3f} s / import numpy {numpy:.3f} s = {dudley / numpy:.2f}")
    assert dudley <= ALLOWED * numpy

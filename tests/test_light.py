"""The calculus answers on a machine without torch, flint, matplotlib or scipy."""

import subprocess
import sys

HEAVY = ("torch", "flint", "matplotlib", "scipy")
README = """
import dudley as du
head = du.Head(d=64, W_QK=du.L11(20.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
net = head >> du.Readout(w=du.L1(1.0))
cap = du.capacity(net, du.Tokens(row2inf=1.0, T=128), n=1_000_000)
assert 0 < float(cap.gap(delta=0.05)) < 1
"""
ALL_OF_IT = README + "cap.needed_n(0.5), cap.explain(), cap.proof(), cap.elasticities()\n"
# Whoever asks for one of them gets an error, as if it were not installed.
ABSENT = f"import sys\nfor name in {HEAVY}: sys.modules[name] = None\n"


def run(code: str) -> list[str]:
    """The modules that a fresh interpreter holds after running the code."""
    code += "\nimport sys\nprint('\\n'.join(name for name, m in sys.modules.items() if m))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout.split()


def heavy(modules: list[str]) -> list[str]:
    return [name for name in modules if name.split(".")[0] in HEAVY]


def test_a_gap_loads_nothing_heavy():
    assert heavy(run(README)) == []


def test_nothing_heavy_is_needed():
    assert heavy(run(ABSENT + ALL_OF_IT)) == []


def test_the_check_sees_what_is_heavy():
    assert "scipy.special" in heavy(run(README + "import scipy.special"))

"""An assertion on the error: what passes is proved, and what fails says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.outcomes.table import OutcomeTable
from dudley.core.errors import InputError
from dudley.testing import assert_error_below

δ = 0.05


def truths(errors: int, n: int) -> np.ndarray:
    return np.arange(n) >= errors


def test_a_pass_is_the_exact_bound():
    proved = assert_error_below(0.02, correct=truths(1, 400), delta=δ)
    assert proved.upper == pytest.approx(binomial_upper(1, 400, -np.log(δ)), rel=1e-12)
    assert proved.text.startswith("error at most 0.0118")
    y = np.r_[0, np.ones(399, int)]
    assert assert_error_below(0.02, y=y, prediction=np.ones(400, int)) == proved
    assert assert_error_below(0.02, OutcomeTable(correct=truths(1, 400))) == proved
    assert assert_error_below(0.2, loss=np.full(400, 0.05)).upper < 0.2


def test_a_failure_says_which_it_is():
    few = "too few outcomes; about 113 more with the same share of errors would do"
    with pytest.raises(AssertionError, match=few):
        assert_error_below(0.02, correct=truths(1, 200))
    for errors in (5, 30):
        with pytest.raises(AssertionError, match="the observed mean is not below the level"):
            assert_error_below(0.02, correct=truths(errors, 200))


def test_so_many_more_would_do():
    """The number in the message, tried."""
    assert assert_error_below(0.02, correct=truths(0, 149)).upper <= 0.02
    with pytest.raises(AssertionError, match="about 49 more"):
        assert_error_below(0.02, correct=truths(0, 100))


def test_what_is_no_sample_is_refused():
    with pytest.raises(InputError, match="a table of outcomes, or y= and prediction="):
        assert_error_below(0.02, [True, False])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="got 2 of them"):
        assert_error_below(0.02, correct=[True], loss=[0.0])
    with pytest.raises(InputError, match="true or false"):
        assert_error_below(0.02, correct=[0.3])
    with pytest.raises(InputError, match="ids that repeat"):
        assert_error_below(0.02, OutcomeTable(correct=truths(0, 9), ids=np.zeros(9, int)))
    for level, delta in ((0, δ), (1.0, δ), (0.02, 0), (0.02, float("nan"))):
        with pytest.raises(InputError, match=r"a number in \(0, 1\)"):
            assert_error_below(level, correct=truths(0, 9), delta=delta)


TEST = """
def test_good(assert_error_below):
    assert_error_below(0.02, correct=[True] * 300)


def test_bad(assert_error_below):
    assert_error_below(0.02, correct=[True] * 100)
"""


def test_the_plugin_has_the_fixture(tmp_path: Path):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["dudley.testing.plugin"]\n')
    (tmp_path / "test_model.py").write_text(TEST)
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)]
    options = "PYTEST_ADDOPTS"  # are for the run around this one
    environment = {name: value for name, value in os.environ.items() if name != options}
    done = subprocess.run(
        [sys.executable, *words, f"--rootdir={tmp_path}"], capture_output=True, text=True,
        encoding="utf-8", cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "about 49 more" in done.stdout
    assert "verdict_of" not in done.stdout  # the traceback ends at the test

"""Exit codes: 2 and one line for bad input, 70 for our own faults, 130 when interrupted."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from dudley.cli.commands import derive as derive_module
from each import each

NET = """\
schema = "dudley.net/1"
[input]
T = 8
d = 8
X.row2inf = 1.0
[[layer]]
node = "head"
W_QK.l11 = 2.0
W_v.l11 = 1.0
W_c.l11 = 1.0
[output]
node = "readout"
w.l1 = 1.0
"""
BLOCK = """\
schema = "dudley.net/1"
[input]
T = 8
d = 8
X.row2inf = 1.0
[[layer]]
node = "pre-ln-block"
H = 2
W_Q.op = 1.0
W_K.op = 1.0
W_v.op = 1.0
W_c.op = 1.0
ln = { eps = 1e-5, gain.linf = 1.0 }
mlp = { k = 16, sigma = "gelu", W_1.op = 1.0, W_2.op = 1.0 }
[output]
node = "readout"
w.l2 = 1.0
"""
HUGE = "1" + "0" * 400
NARROW = '[[layer]]\nnode = "dense"\nd = 5\nW.op = 1.0\n[output]'
FEW = '[[layer]]\nnode = "positions"\nT = 4\nP.row2inf = 1.0\n[output]'
RAMP = "[loss]\nmargin = 1.0\n"

# name=value words that are refused, and what the line must say
WORDS = {
    "negative radius": (["W_QK.l11=-1"], "W_QK.l11: expected a finite number ≥ 0"),
    "negative input radius": (["X.row2inf=-0.5"], "X.row2inf"),
    "NaN radius": (["W_v.l11=nan"], "W_v.l11"),
    "infinite radius": (["W_v.l11=inf"], "W_v.l11"),
    "infinite by overflow": (["W_v.l11=1e999"], "W_v.l11"),
    "not a number": (["W_v.l11=two"], "W_v.l11: expected a number, got 'two'"),
    "no value": (["W_v.l11="], "W_v.l11"),
    "no equals sign": (["n"], "name=value"),
    "n = 0": (["n=0"], "n: expected an integer ≥ 1"),
    "n = 1.5": (["n=1.5"], "n: expected an integer ≥ 1"),
    "n = -3": (["n=-3"], "n:"),
    "n = NaN": (["n=nan"], "n:"),
    "n = inf": (["n=inf"], "n:"),
    "delta = 0": (["n=1e5", "delta=0"], "delta: expected a number strictly between 0 and 1"),
    "delta = 1": (["n=1e5", "delta=1"], "delta"),
    "delta = 2": (["n=1e5", "delta=2"], "delta"),
    "delta < 0": (["n=1e5", "delta=-0.1"], "delta"),
    "delta = NaN": (["n=1e5", "delta=nan"], "delta"),
    "epsilon = 0": (["epsilon=0"], "epsilon"),
    "margin = 0": (["margin=0"], "margin"),
    "T = 0": (["T=0"], "T:"),
    "T = 2.5": (["T=2.5"], "T:"),
    "T past 2^53": (["T=1e30"], "T:"),
    "given twice": (["n=1e5", "n=1e6"], "n: expected one value"),
    "unknown name": (["m=5"], "unknown name 'm'"),
    "misspelt name": (["detla=0.1"], "did you mean delta"),
    "misspelt norm": (["W_QK.l12=3"], "W_QK.l11?"),
    "matrix not there": (["W_Q.op=3"], "did you mean W_QK.l11"),
    "another command's name": (["tail.nu=1"], "tail.nu"),
    "width of another": (["d=32", "k=64", "w.l1=-1"], "w.l1"),
    "layers without repeat": (["L=5"], "L"),
}


@each("case", WORDS)
def test_a_bad_word_is_refused(dudley, case: str):
    words, says = WORDS[case]
    assert says in dudley("derive", "single-head", *words).refused()


# changes (old → new) to a good network file that make it bad, and what the line must say
FILES = {
    "unknown section": (NET, "[output]", "[ouput]", "did you mean output"),
    "unknown key of input": (NET, "T = 8", "T = 8\nTT = 9", "[input]"),
    "unknown norm of X": (NET, "X.row2inf", "X.row2inf = 1.0\nX.row2ing", "did you mean row2inf"),
    "unknown key of a layer": (NET, "W_v.l11", "W_vv.l11", "did you mean W_v"),
    "unknown norm": (NET, "W_v.l11", "W_v.l12", "or l11?"),
    "unknown key of the output": (NET, "w.l1 = 1.0", "w.l1 = 1.0\npol = 'cls'", "pool"),
    "unknown key of the loss": (NET, "[output]", "[loss]\nmargn = 1.0\n[output]", "margin"),
    "unknown key of ln": (BLOCK, "eps = 1e-5", "epz = 1e-5", "did you mean eps"),
    "unknown norm in ln": (BLOCK, "gain.linf", "gain.linff", "did you mean linf"),
    "unknown key of mlp": (BLOCK, "sigma =", "sigmma =", "did you mean sigma"),
    "unknown matrix of mlp": (BLOCK, "W_2.op", "W_22.op", "did you mean W_2"),
    "unknown node": (NET, '"head"', '"haed"', "did you mean head"),
    "unknown nested node": (BLOCK, "k = 16", 'node = "mpl", k = 16', "mlp"),
    "unknown activation": (BLOCK, '"gelu"', '"gellu"', "did you mean gelu"),
    "unknown attention": (NET, "W_QK", 'attention = "sofmax"\nW_QK', "did you mean softmax"),
    "unknown query": (NET, "W_QK", 'query = "clz"\nW_QK', "'cls'"),
    "unknown key of query": (NET, "W_QK", "query.norm = 1.0\nW_QK", "norm2"),
    "unknown key of sigma": (NET, "W_QK", "sigma.lip = 1.0\nW_QK", "lipschitz"),
    "unknown key of attention": (NET, "W_QK", "attention.lip = 1.0\nW_QK", "lipschitz"),
    "unknown norm of a centre": (NET, "w.l1 = 1.0", "w = { l1 = 1.0, center.fr = 1.0 }", "fro"),
    "query where none is": (BLOCK, "H = 2", 'H = 2\nquery = "cls"', "query"),
    "score where none is": (NET, "w.l1 = 1.0", "w.l1 = 1.0\nscore.scale = 1.0", "score"),
    "heads do not divide": (BLOCK, "H = 2", "H = 3", "a divisor of d = 8"),
    "groups do not divide": (BLOCK, "H = 2", "H = 4\ngroups = 3", "a divisor of H = 4"),
    "rope on odd heads": (BLOCK, "H = 2", "H = 8\nrope = true", "even"),
    "widths do not fit": (NET, "[output]", NARROW, "width"),
    "narrowed without return": (NET, 'node = "head"', 'node = "head"\nd = 4', "4"),
    "list too short": (NET, "W_v.l11 = 1.0", "W_v.l11 = [1.0, 2.0]\nrepeat = 3", "3 values, got 2"),
    "list too long": (NET, "W_v.l11 = 1.0", "W_v.l11 = [1.0, 2.0]", "expected 1 values, got 2"),
    "empty list": (NET, "W_v.l11 = 1.0", "W_v.l11 = []", "got 0"),
    "nested list too long": (BLOCK, "W_1.op = 1.0", "W_1.op = [1.0, 2.0]", "expected 1 values"),
    "too few positions": (NET, "[output]", FEW, "at most 4 rows"),
    "both one-hot and X": (NET, "T = 8", "T = 8\nV = 10", "either V"),
    "no T": (NET, "T = 8\n", "", "T:"),
    "no d": (NET, "d = 8\n", "", "d:"),
    "no input radius": (NET, "X.row2inf = 1.0\n", "", "X.row2inf"),
    "no score matrix": (NET, "W_QK.l11 = 2.0\n", "", "W_QK"),
    "no value matrix": (NET, "W_v.l11 = 1.0\n", "", "W_v"),
    "no readout": (NET, "w.l1 = 1.0\n", "", "keys w"),
    "no node": (NET, 'node = "head"\n', "", "node"),
    "no mlp": (BLOCK, "mlp =", "# mlp =", "mlp"),
    "no layer": (NET, "[[layer]]", "[output.x]", ""),
    "no norm": (NET, "W_v.l11 = 1.0", "W_v = {}", "W_v: expected at least one norm"),
    "no Lipschitz constant of sigma": (NET, "W_QK", "sigma.at0 = 1.0\nW_QK", "lipschitz"),
    "negative radius": (NET, "W_v.l11 = 1.0", "W_v.l11 = -1.0", "W_v.l11"),
    "NaN radius": (NET, "W_v.l11 = 1.0", "W_v.l11 = nan", "W_v.l11"),
    "infinite radius": (NET, "X.row2inf = 1.0", "X.row2inf = inf", "X.row2inf"),
    "negative centre": (NET, "w.l1 = 1.0", "w = { l1 = 1.0, center.fro = -1.0 }", "center"),
    "centre in words": (NET, "w.l1 = 1.0", "w = { l1 = 1.0, center = 'origin' }", "center"),
    "rank zero": (NET, "w.l1 = 1.0", "w = { l1 = 1.0, rank = 0 }", "rank"),
    "epsilon of ln zero": (BLOCK, "eps = 1e-5", "eps = 0.0", "eps"),
    "epsilon of ln NaN": (BLOCK, "eps = 1e-5", "eps = nan", "eps"),
    "norm in words": (NET, "W_v.l11 = 1.0", "W_v.l11 = 'one'", "W_v.l11"),
    "norm true": (NET, "W_v.l11 = 1.0", "W_v.l11 = true", "W_v.l11"),
    "norm without name": (NET, "W_v.l11 = 1.0", "W_v = 1.0", "W_v: expected a table"),
    "T a date": (NET, "T = 8", "T = 2020-01-01", "T:"),
    "T a fraction": (NET, "T = 8", "T = 8.5", "T:"),
    "flag in words": (NET, "W_QK", "causal = 'no'\nW_QK", "true or false"),
    "clipped in words": (NET, "T = 8", "T = 8\nclipped = 'no'", "clipped"),
    "multiclass in words": (NET, "[output]", RAMP + "multiclass = 'no'\n[output]", "multiclass"),
    "loss in words": (NET, "[output]", "[loss]\nlipschitz = 'x'\n[output]", "lipschitz"),
    "two losses": (NET, "[output]", RAMP + "clip = 2.0\n[output]", "clip"),
    "repeat zero": (NET, 'node = "head"', 'node = "head"\nrepeat = 0', "repeat"),
    "repeat in words": (NET, 'node = "head"', 'node = "head"\nrepeat = "2"', "repeat"),
    "input not a table": (NET, "[input]", "input = 3\n[elsewhere]", ""),
    "other schema": (NET, "dudley.net/1", "dudley.net/2", "'dudley.net/1'"),
    "no schema": (NET, 'schema = "dudley.net/1"\n', "", "schema"),
    "schema not a string": (NET, '"dudley.net/1"', "1", "schema"),
    "huge radius": (NET, "X.row2inf = 1.0", f"X.row2inf = {HUGE}", "X.row2inf"),
    "huge weight": (NET, "W_v.l11 = 1.0", f"W_v.l11 = {HUGE}", "W_v.l11"),
    "huge T": (NET, "T = 8", f"T = {HUGE}", "T:"),
    "huge repeat": (NET, 'node = "head"', f'node = "head"\nrepeat = {HUGE}', "repeat"),
    "an integer of 5000 digits": (NET, "T = 8", "T = " + "9" * 5000, "TOML"),
    "broken TOML": (NET, "[output]", "[output", "valid TOML"),
    "a key twice": (NET, "T = 8", "T = 8\nT = 9", "valid TOML"),
}  # fmt: skip


@each("case", FILES)
def test_a_bad_file_is_refused(dudley, tmp_path, case: str):
    text, old, new, says = FILES[case]
    assert old in text
    file = tmp_path / "net.toml"
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    line = dudley("derive", file, "n=1e5").refused()
    assert says in line
    assert not re.search(r"\d{60}", line), "a refusal is no wall of digits"


@pytest.mark.parametrize("text", [NET, BLOCK])
def test_the_unchanged_files_are_fine(dudley, tmp_path, text: str):
    file = tmp_path / "net.toml"
    file.write_text(text, encoding="utf-8")
    assert dudley("derive", file, "n=1e5").code == 0


OVERRIDES = {
    "T of no table": ("[input]", "input = 3\n[x]", "T=3"),
    "X of no table": ("X.row2inf = 1.0", "X = 3", "X.row2inf=1"),
    "loss of no table": ("[input]", "loss = 3\n[input]", "margin=1"),
    "L of no tables": ("[[layer]]", "[layer]", "L=3"),
}


@pytest.mark.parametrize("case", OVERRIDES)
def test_an_override_of_a_bad_file_is_refused(dudley, tmp_path, case: str):
    old, new, word = OVERRIDES[case]
    file = tmp_path / "net.toml"
    file.write_text(NET.replace(old, new, 1), encoding="utf-8")
    dudley("derive", file, word).refused()


HOSTILE = {
    "binary": bytes(range(256)),
    "pickle": b"\x80\x04\x95\x1a\x00\x00\x00\x8c\x05posix\x8c\x06system",
    "empty": b"",
    "truncated": NET.encode()[:-8],
    "deeply nested": b"x = " + b"[" * 20_000 + b"]" * 20_000,
    "NUL bytes": NET.encode().replace(b"8", b"\0"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused(dudley, tmp_path, case: str):
    file = tmp_path / "net.toml"
    file.write_bytes(HOSTILE[case])
    dudley("derive", file, "n=1e5").refused()


def test_a_path_that_is_no_file_is_refused(dudley, tmp_path):
    assert f"--checkpoint {tmp_path}" in dudley("derive", tmp_path).refused()
    assert "single-head" in dudley("derive", "no-such-network").refused()
    dudley("derive", "a" * 300).refused()


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["nope"],
        ["derive"],
        ["derive", "single-head", "--nope"],
        ["derive", "single-head", "-n"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line(dudley, args):
    if not args:  # the help, as for any command group
        done = dudley()
        assert done.code == 2 and done.out == "" and "derive" in done.err
        return
    dudley(*args).refused()


def test_an_internal_error_is_70_and_never_a_traceback(dudley, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(derive_module, "capacity", broken)
    monkeypatch.delenv("DUDLEY_DEBUG", raising=False)
    done = dudley("derive", "single-head", "n=1e5")
    assert (done.code, done.out) == (70, "")
    assert "internal error (ZeroDivisionError: a fault of ours)" in done.err
    assert done.err.count("\n") == 1 and "Traceback" not in done.err
    monkeypatch.setenv("DUDLEY_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        dudley("derive", "single-head", "n=1e5")


def test_an_interrupt_is_130(dudley, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(derive_module, "capacity", interrupted)
    done = dudley("derive", "single-head", "n=1e5")
    assert (done.code, done.out) == (130, "")
    assert "Traceback" not in done.err


def test_help_and_version_are_fine(dudley):
    assert dudley("--help").code == 0
    done = dudley("--version")
    assert done.code == 0 and re.fullmatch(r"dudley \d+\.\d+\.\d+\n", done.out)


def subprocess_of(*args: str, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "dudley", *args],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        env=os.environ | env,
    )


def test_a_process_of_its_own_leaves_with_the_same_codes():
    done = subprocess_of("derive", "single-head", "n=1.5")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "expected an integer ≥ 1" in done.stderr
    done = subprocess_of("derive", "single-head", "n=1e5", "--json")
    assert done.returncode == 0 and done.stdout.startswith("{") and done.stderr == ""

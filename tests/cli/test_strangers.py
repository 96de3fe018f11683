"""What strangers give, through the commands: refused in one line, and shown without effect."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dudley.core import files as core_files
from dudley.core.errors import InputError
from dudley.networks.files import EXAMPLES
from each import each

EXAMPLE = EXAMPLES / "sparse-and"
OSC = "\x1b]52;c;aGk=\x07"  # writes a terminal's clipboard
LIE = "\x1b[2J\x1b[Hholds: a fine certificate\x1b[8m"
HEAD = 'schema = "dudley.net/1"\n[input]\nT = 4\nd = 4\nX.row2inf = 1.0\n'
MLP = '[[layer]]\nnode = "mlp"\nk = 4\nsigma = "relu"\nW_1.op = 1.0\nW_2.op = 1.0\n'
GATED = '[[layer]]\nnode = "swiglu"\nk = 4\nW_1.op = 2.0\nW_3.op = 2.0\nW_2.op = 2.0\nrepeat = 96\n'
OUT = "[output]\nw.l2 = 1.0\n"


def plain(text: str) -> bool:
    """Nothing in it steers a terminal."""
    return all(sign.isprintable() or sign == "\n" for sign in text)


# -- networks -----------------------------------------------------------------------------------

NETWORKS = {
    "a thousand million layers": (MLP + "repeat = 1000000000\n", "at most 4096"),
    "as a float": (MLP + "repeat = 1e9\n", "at most 4096"),
    "many tables": (MLP * 600, "at most 512 that differ"),
    "very many tables": (MLP * 100_000, "bytes of TOML"),
    "lists for every repeat": (MLP + f"W_1.op = {[1.0] * 600}\nrepeat = 600\n", "differ"),
    "many heads": (MLP + '[[layer]]\nnode = "heads"\nH = 1000000000\n', "at most 4096 heads"),
    "nested tables": (MLP + "x" + ".x" * 500 + " = 1\n", "64 deep"),
    "nested lists": (MLP + "x = " + "[" * 500 + "]" * 500 + "\n", "64 deep"),
    "near the end of the floats": (MLP.replace("W_1.op = 1.0", "W_1.op = 1e308"), "W_1.op"),
    "near zero": (MLP.replace("W_1.op = 1.0", "W_1.op = 1e-308"), "W_1.op"),
}


@each("case", NETWORKS)
def test_networks_beyond_reach_are_refused(dudley, tmp_path: Path, case: str):
    layers, words = NETWORKS[case]
    if "W_1.op = [" in layers:
        layers = layers.replace("W_1.op = 1.0\n", "")
    (tmp_path / "net.toml").write_text(HEAD + layers + OUT, encoding="utf-8")
    assert words in dudley("derive", tmp_path / "net.toml", "n=1e5").refused()


def test_radii_far_beyond_the_floats_have_an_answer(dudley, tmp_path: Path):
    """Each gated layer squares the radius: after 96 its logarithm has thirty digits."""
    (tmp_path / "net.toml").write_text(HEAD + GATED + OUT, encoding="utf-8")
    done = dudley("derive", tmp_path / "net.toml", "n=1e5")
    assert done.code == 0 and "vacuous" in done.out
    (item,) = dudley("derive", tmp_path / "net.toml", "n=1e5", "--json").json()["items"]
    assert item["value"] == 1.0 and item["lipschitz_log10"] > 1e28


# -- names and paths ----------------------------------------------------------------------------


@each("words", [["measure"], ["derive"], ["verify"], ["report"], ["certify", "model"]])
@each("name", ["", "n" * 5000, "\udcff\ud800"])
def test_names_that_no_file_has_are_refused(dudley, words: list[str], name: str):
    line = dudley(*words, name).refused()
    assert plain(line) and len(line) < 600


@pytest.mark.parametrize("name", ["absent/sparse-and", "absent/..", "../examples/sparse-and"])
def test_only_a_plain_name_means_an_example(dudley, tmp_path: Path, monkeypatch, name: str):
    monkeypatch.chdir(tmp_path)
    for words in (["verify"], ["report"], ["certify", "model"]):
        assert "sparse-and" in dudley(*words, name).refused() or name.endswith("..")


def test_a_torch_file_is_refused_with_what_to_do(dudley, tmp_path: Path):
    torch = pytest.importorskip("torch", reason="makes the file")
    torch.save({"W": torch.zeros(2, 2)}, tmp_path / "model.pt")
    line = dudley("certify", "model", tmp_path / "model.pt").refused()
    assert "a file of torch.save" in line and "safetensors.torch.save_file" in line


# -- data ---------------------------------------------------------------------------------------


def test_a_bomb_is_not_unpacked(dudley, tmp_path: Path):
    np.savez_compressed(
        tmp_path / "bomb.npz", X=np.zeros((1, 80 << 20), np.uint8), y=np.zeros(1, int)
    )
    words = [EXAMPLE / "certificate.json", "--model", EXAMPLE / "model.safetensors"]
    assert "64 MiB unpacked" in dudley("verify", *words, "--data", tmp_path / "bomb.npz").refused()


@pytest.mark.parametrize("method", ["norm-cover", "occam", "pac-bayes"])
@pytest.mark.parametrize("T", [5, 7])
def test_rows_of_another_length_are_refused(dudley, tmp_path: Path, method: str, T: int):
    X = np.random.default_rng(0).integers(0, 2, (20, 6))
    np.savez(tmp_path / "a.npz", X=X, y=X[:, 0])
    encoding = json.dumps({"name": "bits", "T": T})
    words = [
        tmp_path / "a.npz",
        "--encoding",
        encoding,
        "--method",
        method,
        "--out",
        tmp_path / "o",
    ]
    assert f"shape (n, {T})" in dudley("certify", "train", *words).refused()
    assert not (tmp_path / "o").exists()


def test_an_encoding_of_endless_rows_is_refused(dudley, tmp_path: Path):
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 6), int), y=np.array([0, 1]))
    for odd in ({"name": "codes", "V": 10**12, "T": 6}, {"name": "bits", "T": 10**5}):
        words = ["--encoding", json.dumps(odd), "--out", tmp_path / "o"]
        line = dudley("certify", "train", tmp_path / "a.npz", *words).refused()
        assert "at most 16,777,216 numbers" in line


def test_one_example_is_too_few_to_quantise(dudley, tmp_path: Path):
    words = ["and", "--T", 4, "--s", 2, "--n", 1, "--method", "occam", "--out", tmp_path / "o"]
    assert "at least 2 examples" in dudley("certify", "train", *words).refused()


@each(
    ("word", "says"),
    [
        ("norm-cover.ratio=null", "a finite number"),
        ("norm-cover.ratio=1e300", "a finite number"),
        ("norm-cover.margin_ratio=1.0000000001", "from 1.001"),
        ("norm-cover.norms=[[1]]", "a list of texts"),
        ("occam.networks=[{}]", "a list of texts"),
        ("occam.among=true", "a whole number"),
        ("occam.population=\udcff", "a text"),
        ('occam.population="\\ud800"', "Unicode"),
        ("occam.seed=1e999", "a finite number"),
        ("occam.seed=" + "9" * 5000, "a whole number"),
    ],
)
def test_declarations_of_another_kind_are_refused(dudley, word: str, says: str):
    method = word.partition(".")[0]
    words = ["sparse-and", "--method", method, "--declare", word]
    assert says in dudley("certify", "model", *words).refused()


# -- text ---------------------------------------------------------------------------------------


def test_names_of_tensors_steer_no_terminal(dudley, tmp_path: Path):
    pytest.importorskip("torch", reason="measures")
    from safetensors.numpy import load_file, save_file

    arrays = load_file(EXAMPLES / "tiny-bert" / "model.safetensors")
    arrays[f"odd{OSC}\u202e\nlayer 9"] = np.zeros((2, 2), np.float32)
    save_file(arrays, tmp_path / "model.safetensors")
    config = (EXAMPLES / "tiny-bert" / "config.json").read_text(encoding="utf-8")
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    done = dudley("measure", tmp_path)
    assert plain(done.out + done.err) and "\nlayer 9" not in done.out
    assert plain(dudley("measure", tmp_path, "--json").out)


@pytest.mark.parametrize("field", ["population", "quantity", "method"])
def test_a_certificate_cannot_say_that_it_holds(dudley, tmp_path: Path, field: str):
    certificate = json.loads((EXAMPLE / "certificate.json").read_text(encoding="utf-8"))
    table = certificate["declared"] if field == "population" else certificate
    table[field] = f"x\nholds: all is well{LIE}{OSC}\u202e"
    (tmp_path / "c.json").write_text(json.dumps(certificate), encoding="utf-8")
    parts = ["--model", EXAMPLE / "model.safetensors", "--data", EXAMPLE / "train.npz"]
    for as_json in ([], ["--json"]):
        done = dudley("verify", tmp_path / "c.json", *parts, *as_json)
        assert done.code in (0, 1, 2) and plain(done.out + done.err)
        assert done.code == 0 or "\nholds" not in f"\n{done.out}"


def test_a_population_on_two_lines_stays_on_one(dudley, tmp_path: Path):
    words = ["sparse-and", "--method", "occam", "--out", tmp_path / "c.json"]
    done = dudley("certify", "model", *words, "--declare", f"occam.population=x\nholds{LIE}")
    assert done.code == 0 and "\nholds" not in done.out and plain(done.out)


@pytest.mark.parametrize("ending", [".md", ".tex", ".html"])
def test_reports_hold_strangers_text_as_text(dudley, tmp_path: Path, ending: str):
    result = dudley("theorems", "show", "trauger2024/lemma-3.6", "--json").json()
    (item,) = result["items"]
    item["id"] = f"x\n\\input{{/etc/passwd}}{OSC}"
    item["says"] = f"``a\n``` `` <script>{LIE}\u202e"
    item["latex"]["printed"] = "x\n\\]\\input{/etc/passwd}\n```\n# ours"
    (tmp_path / "r.json").write_text(json.dumps(result), encoding="utf-8")
    out = tmp_path / f"r{ending}"
    assert dudley("report", tmp_path / "r.json", "--out", out).code == 0
    text = out.read_text(encoding="utf-8")
    assert all(sign.isprintable() or sign in "\n\t" for sign in text)
    assert "<script>\\x1b" not in text and "\n# ours" not in text.replace("\n```\n# ours", "")
    if ending == ".tex":
        active = [line for line in text.splitlines() if not line.startswith("%")]
        assert not any("\\input" in line for line in active)


def test_json_stays_json_whatever_stands_in_it(dudley, tmp_path: Path):
    name = tmp_path / "\x9b31m\u202e.toml"
    name.write_text(HEAD + MLP + OUT, encoding="utf-8")
    done = dudley("derive", name, "n=1e5", "--json")
    assert plain(done.out) and done.json()["items"][0]["id"] == str(name)


# -- pipes and disks ----------------------------------------------------------------------------


def deserted(*words: object) -> int:
    """The exit code of a command whose reader left before the first line."""
    command = [sys.executable, "-m", "dudley", *map(str, words)]
    read, write = os.pipe()
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE) as process:
        os.close(write)
        os.close(read)
        _, err = process.communicate()
    assert err == b"", err
    return process.returncode


def test_a_reader_who_leaves_changes_no_verdict(tmp_path: Path):
    assert deserted("verify", "sparse-and") == 0
    certificate = json.loads((EXAMPLE / "certificate.json").read_text(encoding="utf-8"))
    (tmp_path / "c.json").write_text(json.dumps(certificate | {"value": 1e-9}), encoding="utf-8")
    parts = ["--model", EXAMPLE / "model.safetensors", "--data", EXAMPLE / "train.npz"]
    assert deserted("verify", tmp_path / "c.json", *parts) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_no_fault_of_ours():
    command = [sys.executable, "-m", "dudley", "verify", "sparse-and"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("dudley: ") and "No space left on device" in done.stderr


@pytest.mark.parametrize(("streams", "word", "code"), [
    (">&-", "theorems", 0), (">&- 2>&-", "theorems", 0), ("2>&-", "derive nowhere", 2),
    ("2>/dev/full", "derive nowhere", 2), (">/dev/full 2>/dev/full", "theorems", 2),
])  # fmt: skip
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_streams_that_are_closed_or_full_change_no_exit_code(streams: str, word: str, code: int):
    command = f"{sys.executable} -m dudley {word} {streams}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize("words", [["report"], ["construct", "table", "--T", 4]])
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(dudley, tmp_path: Path, words: list):
    os.mkfifo(tmp_path / "pipe")
    dudley(*words, tmp_path / "pipe").refused()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_to_its_end(dudley, tmp_path: Path):
    """The writer is there before the command opens the pipe: there is nothing to race."""
    os.mkfifo(pipe := tmp_path / "pipe")
    other_end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # else a writer waits for a reader
    with open(pipe, "wb") as stream:
        stream.write((EXAMPLE / "certificate.json").read_bytes())
    assert "sparse" in dudley("report", pipe).out
    os.close(other_end)


@pytest.fixture
def small_disk():
    """Files may not grow past a hundred bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    "words",
    [
        ["certify", "model", "sparse-and", "--method", "occam", "--out", "{}/c.json"],
        ["report", "sparse-and", "--out", "{}/r.html"],
        ["construct", "and", "--T", "4", "--s", "2", "--save", "{}/w.safetensors"],
        ["measure", "tiny-bert", "--csv", "{}/m.csv"],
    ],
)
def test_a_full_disk_is_refused_and_nothing_is_left(dudley, tmp_path, small_disk, words):
    line = dudley(*(word.format(tmp_path) for word in words)).refused()
    assert "can be written" in line and not list(tmp_path.iterdir())


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_place_that_may_not_be_written_is_refused(dudley, tmp_path, monkeypatch, code: int):
    def refuse(*_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(core_files.tempfile, "mkstemp", refuse)
    line = dudley("report", "sparse-and", "--out", tmp_path / "r.md").refused()
    assert os.strerror(code) in line and not list(tmp_path.iterdir())


def test_three_files_or_none(tmp_path: Path):
    """The last of three files fails: the first two are not there either."""
    from dudley.certificates.data import Dataset
    from dudley.cli.folder import keep_all

    class Model:
        def save(self, path: Path) -> None:
            path.write_bytes(b"weights")

    class Certificate:
        def text(self) -> str:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    train = Dataset(np.zeros((2, 3), int), np.array([0, 1]))
    with pytest.raises(InputError, match="No space left"):
        keep_all(Model(), train, Certificate(), tmp_path / "o")  # pyright: ignore
    assert not list((tmp_path / "o").iterdir())

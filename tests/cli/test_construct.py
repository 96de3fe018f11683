"""``dudley construct`` as a user meets it: answers, exit codes, refusals, saved weights."""

import json
import subprocess
import sys

import numpy as np
import pytest

from dudley.cli import main
from dudley.core.extras import ExtraMissing
from dudley.theorems.constructions import saving
from dudley.theorems.constructions.assemble import build
from dudley.theorems.constructions.targets import all_bits, target
from each import each


@pytest.fixture
def dudley(capsys):
    def run(*words):
        with pytest.raises(SystemExit) as left:
            main(["construct", *map(str, words)])
        captured = capsys.readouterr()
        return left.value.code, captured.out, captured.err

    return run


def test_repaired_answers_yes(dudley):
    code, out, _ = dudley("majority", "--T", 10, "--s", 3, "--coherence", 0.05)
    assert code == 0
    assert "every input is right" in out and "all 1,024 inputs" in out
    assert "W_Q.fro" in out and "0.05 (measured)" in out


def test_printed_answers_no(dudley):
    code, out, _ = dudley("majority", "--T", 10, "--s", 3, "--coherence", 0.05, "--form", "printed")
    assert code == 1 and "inputs are wrong" in out and "NO" in out


@pytest.mark.parametrize("mapping", ["positions", "trainable", "bag"])
@pytest.mark.parametrize("heads", ["one", "s"])
def test_every_mapping_and_number_of_heads(dudley, mapping, heads):
    code, out, _ = dudley(
        "threshold", "--k", 2, "--T", 7, "--s", 3, "--mapping", mapping, "--heads", heads,
        "--indices", "1,4,7", "--json",
    )  # fmt: skip
    construction = json.loads(out)
    assert (
        code == 0 and construction["schema"] == "dudley/1" and construction["kind"] == "construct"
    )
    (item,) = construction["items"]
    assert item["right"] and item["exhaustive"] and item["inputs"] == 128
    assert item["indices"] == [1, 4, 7] and item["head_error"] <= item["stated_error"]
    assert {"name", "true", "claimed", "holds", "proved"} == set(item["norms"][0])


def test_sampling_states_its_confidence(dudley):
    code, out, _ = dudley("and", "--T", 30, "--s", 2, "--samples", 200)
    assert code == 0 and "with confidence 0.999" in out and "200 drawn" in out


def test_tables_come_from_files(dudley, tmp_path):
    file = tmp_path / "xor.txt"
    file.write_text("0\n1\n1\n0\n")
    assert dudley("table", file, "--T", 5)[0] == 0
    assert dudley("table", "--file", file, "--T", 5, "--s", 2)[0] == 0
    file.write_text("[0, 1, 0, 0]")
    assert dudley("table", file, "--T", 5, "--mapping", "bag")[0] == 0
    code, _, err = dudley("table", file, "--T", 5)
    assert code == 2 and "--heads s" in err


BAD = [
    ("nand", "--T", 5, "--s", 2),
    ("and", "--T", 5),
    ("and", "--s", 2),
    ("and", "--T", 2, "--s", 3),
    ("and", "--T", -1, "--s", 1),
    ("and", "--T", 5000, "--s", 2),
    ("and", "--T", 5, "--s", 0),
    ("and", "--T", 5, "--s", 2, "--k", 1),
    ("threshold", "--T", 5, "--s", 2),
    ("threshold", "--T", 5, "--s", 2, "--k", 9),
    ("table", "--T", 5, "--s", 2),
    ("table", "/nonexistent", "--T", 5),
    ("and", "/dev/null", "--T", 5, "--s", 2),
    ("and", "--T", 5, "--s", 3, "--coherence", 0.3),
    ("and", "--T", 5, "--s", 2, "--coherence", -0.1),
    ("and", "--T", 5, "--s", 2, "--coherence", "nan"),
    ("and", "--T", 5, "--s", 2, "--coherence", "inf"),
    ("and", "--T", 5, "--s", 2, "--gamma", 0),
    ("and", "--T", 5, "--s", 2, "--gamma", "nan"),
    ("and", "--T", 5, "--s", 2, "--indices", "1,x"),
    ("and", "--T", 5, "--s", 2, "--indices", "0,1"),
    ("and", "--T", 5, "--s", 2, "--indices", "1,2,3"),
    ("and", "--T", 5, "--s", 2, "--mapping", "rope"),
    ("and", "--T", 5, "--s", 2, "--heads", "two"),
    ("and", "--T", 5, "--s", 2, "--form", "corrected"),
    ("and", "--T", 5, "--s", 2, "--samples", 0),
    ("and", "--T", 5, "--s", 2, "--mapping", "bag", "--heads", "s", "--form", "printed"),
]


@each("words", BAD, ids=lambda words: " ".join(map(str, words)))
def test_bad_input_is_one_line_and_no_number(dudley, words):
    code, out, err = dudley(*words)
    assert code == 2 and out == ""
    assert err.startswith("dudley: ") and err.count("\n") == 1


def test_saved_weights_compute_the_function(dudley, tmp_path):
    from safetensors import safe_open
    from safetensors.numpy import load_file

    path = tmp_path / "weights.safetensors"
    code, out, _ = dudley("parity", "--T", 6, "--s", 2, "--heads", "s", "--save", path)
    assert code == 0 and str(path) in out
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with safe_open(path, framework="numpy") as file:
        facts = file.metadata()
    indices, read = json.loads(facts["indices"]), load_file(path)
    bits = all_bits(6)
    X = np.concatenate(
        [read["input.P"] + read["input.E"][bits], np.tile(read["input.cls"], (64, 1, 1))], axis=1
    )
    y = 0
    for h in range(2):
        W = {name: read[f"head.{h}.{name}"] for name in ("W_Q", "W_K", "W_v", "W_c")}
        z = np.exp(X @ W["W_K"] @ W["W_Q"].T @ read["input.cls"])
        y = y + np.einsum("nt,ntd->nd", z / z.sum(1, keepdims=True), X @ W["W_v"] @ W["W_c"])
    hidden = np.maximum(y @ read["mlp.W_1"] + read["mlp.b_1"], 0)
    hidden = np.maximum(hidden @ read["mlp.W_2"] + read["mlp.b_2"], 0)
    wanted = bits[:, indices].sum(1) % 2
    assert np.abs((hidden @ read["mlp.w"])[:, 0] - wanted).max() < 1e-9


def test_a_failed_save_leaves_nothing_behind(dudley, tmp_path, monkeypatch):
    for bad in (tmp_path, tmp_path / "absent" / "w.safetensors"):
        code, out, err = dudley("and", "--T", 4, "--s", 2, "--save", bad)
        assert code == 2 and out == "" and err.count("\n") == 1

    path = tmp_path / "w.safetensors"
    path.write_bytes(b"before")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    code, _, err = dudley("and", "--T", 4, "--s", 2, "--save", path)
    assert code == 2 and "disk full" in err
    assert path.read_bytes() == b"before" and len(list(tmp_path.iterdir())) == 1


def test_without_safetensors_saving_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    built = build(target("and", 2), 4)
    with pytest.raises(ExtraMissing, match=r"pip install '\.\[lab\]'"):
        saving.save(built, tmp_path / "w.safetensors")


def test_help_has_an_example(dudley):
    code, out, _ = dudley("--help")
    assert code == 0 and "Example: dudley construct" in out


def test_the_command_loads_no_torch():
    code = (
        "import sys; from dudley.cli import main\n"
        "try: main(['construct', 'and', '--T', '4', '--s', '2'])\n"
        "except SystemExit as e: assert e.code == 0\n"
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)

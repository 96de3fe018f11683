"""Targets, truth-table files, and what a sample proves."""

import numpy as np
import pytest
from scipy.stats import binom

from dudley.core.errors import InputError, UnknownName
from dudley.theorems.constructions.assemble import build
from dudley.theorems.constructions.targets import all_bits, read_table, target
from dudley.theorems.constructions.verify import clopper_pearson, verify
from each import each


def test_tasks_are_what_their_names_say():
    bits = all_bits(3)
    r = bits.sum(1)
    for name, wanted in (
        ("and", r == 3),
        ("or", r >= 1),
        ("majority", r >= 2),
        ("parity", r % 2 == 1),
    ):
        assert np.array_equal(target(name, 3)(bits), wanted)
        assert target(name, 3).symmetric
    assert np.array_equal(target("threshold", 3, k=2)(bits), r >= 2)
    first = target("table", 2, table=np.array([0, 0, 1, 1]))  # the first bit leads
    assert np.array_equal(first(all_bits(2)), all_bits(2)[:, 0]) and not first.symmetric


@pytest.mark.parametrize(
    "arguments",
    [("and", 0), ("and", 21), ("threshold", 3), ("threshold", 3, 5), ("and", 3, 2), ("table", 3)],
)
def test_bad_tasks_are_refused(arguments):
    with pytest.raises(InputError):
        target(*arguments)
    with pytest.raises(UnknownName, match="did you mean and"):
        target("an", 3)


@pytest.mark.parametrize("text", ["0110", "0 1\n1 0\n", "[0, 1, 1, 0]", " [0,1,1,0]\n"])
def test_tables_are_read(tmp_path, text):
    path = tmp_path / "table"
    path.write_text(text)
    assert read_table(path).tolist() == [0, 1, 1, 0]


HOSTILE = [
    b"", b"0", b"011", b"01x1", b"[0, 1", b"[0, 2]", b"[true, false]", b"[0.0, 1.0]", b"[[0], [1]]",
    b"[null, 1]", b'["a", "b"]', b'[{"a": 1}, 0]', b"\xff\xfe\x00\x01", b"[" * 100_000, b"NaN",
    b"[NaN, 1]", b"[1e999, 0]", b"\x80\x04\x95",
]  # fmt: skip


@each("raw", HOSTILE)
def test_hostile_tables_are_refused_in_one_line(tmp_path, raw):
    path = tmp_path / "table"
    path.write_bytes(raw)
    with pytest.raises(InputError) as error:
        read_table(path)
    assert "\n" not in str(error.value)


def test_missing_files_and_folders_are_refused(tmp_path):
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(InputError, match="readable"):
            read_table(path)


@pytest.mark.parametrize("wrong, total, α", [(0, 50, 0.05), (3, 50, 0.05), (49, 50, 0.001)])
def test_the_confidence_bound_is_clopper_and_pearsons(wrong, total, α):
    assert binom.cdf(wrong, total, clopper_pearson(wrong, total, α)) == pytest.approx(α, rel=1e-6)
    assert clopper_pearson(total, total, α) == 1.0


def test_a_sample_says_what_it_proves():
    seen = verify(build(target("and", 3), 40, coherence=0.1), samples=500, seed=1)
    assert seen.right and not seen.exhaustive and seen.inputs == 500
    assert seen.wrong_fraction == pytest.approx(clopper_pearson(0, 500, 0.001))
    failed = verify(build(target("parity", 3), 40, form="printed"), samples=500, seed=1)
    assert failed.wrong / 500 < failed.wrong_fraction <= 1 and len(failed.example) == 40
    with pytest.raises(InputError, match="samples"):
        verify(build(target("and", 3), 40), samples=0)


def test_a_planted_error_is_found():
    """A check must be able to fail: one wrong weight, and some input comes out wrong."""
    built = build(target("and", 2), 6)
    built.mlp[2]["w"][0, 0] += 1e-6
    assert not verify(built).right

"""Data sets: what is read, what is hashed, what is refused; nothing in a file is executed."""

import hashlib
import os
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from dudley.certificates.data import Dataset, read, sha256_of
from dudley.core.errors import InputError
from each import each

X = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]], np.uint8)
y = np.array([0, 1, 1])


class Trap:
    """Pickled, it would make a folder when it is read."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return (os.mkdir, (str(self.folder),))


def one_line(error) -> bool:
    return "\n" not in str(error.value) and len(str(error.value)) < 400


def test_the_hash_is_of_types_shapes_and_bytes():
    by_hand, order = hashlib.sha256(), sorted(range(3), key=lambda i: X[i].tobytes())
    by_hand.update(
        b"X u1 (3, 3);" + X[order].tobytes() + b"y i8 (3,);" + y[order].astype("<i8").tobytes()
    )
    assert Dataset(X, y).sha256 == by_hand.hexdigest()


@given(st.permutations(range(3)))
def test_the_hash_does_not_know_the_order(order):
    assert Dataset(X, y).part(np.array(order)).sha256 == Dataset(X, y).sha256
    labels = np.arange(3)
    if list(order) != [0, 1, 2]:  # other labels for the same rows
        assert Dataset(X[order], labels).sha256 != Dataset(X, labels).sha256


def test_the_hash_does_not_know_the_machine():
    big = Dataset(X.astype(">i4"), y.astype(">i8"))
    fortran = Dataset(np.asfortranarray(X.astype("<i4")), y)
    assert big.sha256 == fortran.sha256 == Dataset(X.astype("<i4"), y).sha256
    assert big.sha256 != Dataset(X.astype("<i8"), y).sha256


def test_the_hash_tells_arrays_apart():
    A, B = np.arange(4.0), np.arange(4.0)[::-1]
    assert sha256_of({"a": A, "b": B}) != sha256_of({"a": B, "b": A})
    assert sha256_of({"a": A}) != sha256_of({"a": A.reshape(2, 2)})


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20))
def test_repeated_rows_are_counted(rows):
    X = np.array(rows)
    expected = sum(1 for i, row in enumerate(rows) if row in rows[:i])
    labels = np.arange(len(rows))
    assert Dataset(X, labels).repeated == expected
    assert Dataset(np.asfortranarray(X.astype(np.float32)), labels).repeated == expected


def test_classes_are_at_least_two():
    assert Dataset(X, np.zeros(3, int)).classes == 2
    assert Dataset(X, np.array([0, 4, 1], np.uint8)).classes == 5
    assert Dataset(X, np.array([True, False, True])).n == 3


@each(
    ("X", "y"),
    [
        (X[0], y),
        (X[None, None, None], y[:1]),
        (X.astype(object), y),
        (X.astype(complex), y),
        (X.astype(str), y),
        (X.astype(np.longdouble), y),
        (X, y[:2]),
        (X, y.astype(float)),
        (X, y - 1),
        (X, y.astype(object)),
        (X, y[:, None]),
        (X[:0], y[:0]),
        (np.where(X, np.nan, 0.0), y),
        (np.where(X, np.inf, 0.0), y),
    ],
)
def test_odd_arrays_are_refused(X, y):
    with pytest.raises(InputError) as error:
        Dataset(X, y)
    assert one_line(error)


def test_a_group_with_two_examples_is_refused():
    assert Dataset(X, y, np.array(["a", "b", "c"])).n == 3
    with pytest.raises(InputError, match="3 examples of 2 groups"):
        Dataset(X, y, np.array(["a", "b", "a"]))
    with pytest.raises(InputError, match="independent units"):
        Dataset(X, y, np.array([1.0, np.nan, np.nan]))


@pytest.mark.parametrize("group", [np.arange(2), np.array(["a", None, 1], object)])
def test_odd_groups_are_refused(group):
    with pytest.raises(InputError, match="group"):
        Dataset(X, y, group)


# -- files ------------------------------------------------------------------------------------


def test_npz_comes_back(tmp_path):
    for i, kind in enumerate((np.uint8, np.int32, np.float32, np.float64)):
        path = tmp_path / f"{i}.npz"
        np.savez(path, X=X.astype(kind), y=y, group=np.arange(3), other=np.ones(2))
        data = read(path)
        assert data.sha256 == Dataset(X.astype(kind), y).sha256
        assert data.X.dtype == kind


def test_parquet_comes_back(tmp_path):
    path = tmp_path / "data.parquet"
    rows = np.arange(24.0).reshape(3, 4, 2)
    pq.write_table(pa.table({"X": rows.tolist(), "y": y.tolist(), "group": ["a", "b", "c"]}), path)
    data = read(path)
    assert data.sha256 == Dataset(rows, y).sha256
    pq.write_table(pa.table({"X": X.tolist(), "y": y.tolist()}), path)
    assert np.array_equal(read(path).X, X)


def test_groups_in_files_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=y, group=np.array([1, 1, 2]))
    pq.write_table(
        pa.table({"X": X.tolist(), "y": y.tolist(), "group": [1, 1, 2]}), tmp_path / "a.parquet"
    )
    for name in ("a.npz", "a.parquet"):
        with pytest.raises(InputError, match="3 examples of 2 groups"):
            read(tmp_path / name)


def test_pickles_are_not_read(tmp_path):
    folder = tmp_path / "executed"
    hostile = np.array([Trap(folder)] * 3, object)
    np.savez(tmp_path / "objects.npz", X=X, y=hostile)
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps(Trap(folder)))
    with open(tmp_path / "array.npz", "wb") as file:
        np.save(file, hostile, allow_pickle=True)
    for name in ("objects.npz", "pickle.npz", "array.npz"):
        with pytest.raises(InputError) as error:
            read(tmp_path / name)
        assert one_line(error) and not folder.exists()


def test_broken_files_are_refused(tmp_path):
    np.savez(tmp_path / "whole.npz", X=X, y=y)
    pq.write_table(pa.table({"X": X.tolist(), "y": y.tolist()}), tmp_path / "whole.parquet")
    for name in ("whole.npz", "whole.parquet"):
        whole = (tmp_path / name).read_bytes()
        for share in (0, 1, len(whole) // 2, len(whole) - 1):
            path = tmp_path / f"part{(tmp_path / name).suffix}"
            path.write_bytes(whole[:share])
            with pytest.raises(InputError) as error:
                read(path)
            assert one_line(error)


def test_foreign_files_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as file:
        file.writestr("X.npy", "not an array")
        file.writestr("y.npy", "neither")
    np.savez(tmp_path / "names.npz", inputs=X, labels=y)
    ragged = {"X": [[1], [1, 2]], "y": [0, 1]}
    missing = {"X": [[1], None], "y": [0, None]}
    pq.write_table(pa.table(ragged), tmp_path / "ragged.parquet")
    pq.write_table(pa.table(missing), tmp_path / "missing.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "names.parquet")
    (tmp_path / "data.csv").write_text("1,2\n")
    for name in (
        *("text.npz", "names.npz", "ragged.parquet", "missing.parquet", "names.parquet"),
        *("data.csv", "absent.npz"),
    ):
        with pytest.raises(InputError) as error:
            read(tmp_path / name)
        assert one_line(error), name

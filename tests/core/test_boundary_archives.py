"""Archives and tables of strangers: sizes are refused as declared, before anything is unpacked."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dudley.core.boundary import archives, limits, tables
from dudley.core.errors import InputError
from each import each


def header(shape: tuple, descr: str = "|u1") -> bytes:
    """The header of an array that need not be there."""
    file = io.BytesIO()
    fields = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, fields)
    return file.getvalue()


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return path


def refused(path: Path, words: str) -> None:
    """Refused in one line, in less memory than a small array."""
    tracemalloc.start()
    with pytest.raises(InputError, match=words) as caught:
        archives.arrays(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20
    assert str(caught.value).isprintable()


def test_arrays_come_as_they_were_written(tmp_path: Path):
    written = {
        "X": np.arange(24, dtype=">i2").reshape(2, 3, 4),
        "F": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "text": np.array("two words"),
        "none": np.zeros((0, 5)),
        "yes": np.array([True, False]),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **written)
        read = archives.arrays(tmp_path / "a.npz")
        assert set(read) == set(written)
        for name, array in written.items():
            assert read[name].dtype == array.dtype
            np.testing.assert_array_equal(read[name], array)
    assert set(archives.arrays(tmp_path / "a.npz", ["X", "absent"])) == {"X"}


def test_a_bomb_is_not_unpacked(tmp_path: Path):
    zeros = header((256 << 20,)) + bytes(256 << 20)
    path = archive(tmp_path / "a.npz", X=zeros)
    del zeros
    assert path.stat().st_size < 1 << 20
    refused(path, "at most 64 MiB unpacked")


def test_a_large_share_of_equal_bytes_is_fine_in_a_small_file(tmp_path: Path):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((10**6, 4), np.uint8))
    assert archives.arrays(tmp_path / "a.npz")["X"].shape == (10**6, 4)


def test_a_directory_that_understates_a_member_is_refused(tmp_path: Path):
    path = archive(tmp_path / "a.npz", X=header((32 << 20,)) + bytes(32 << 20))
    raw, size = bytearray(path.read_bytes()), 32 << 20
    whole = struct.pack("<I", size + len(header((size,))))
    raw[raw.rindex(whole) : raw.rindex(whole) + 4] = struct.pack("<I", 1000)
    path.write_bytes(raw)
    refused(path, "fits its bytes|readable")


@each(
    ("member", "words"),
    [
        (header((10**12,)), "fits its bytes"),
        (header((10**12,), "|S0"), "plain numbers"),
        (header((2,)) + bytes(3), "fits its bytes"),
        (header((-2, -1)) + bytes(2), "fits its bytes"),
        (header((1,), "|O") + b"cos\nsystem\n", "nothing pickled"),
        (header((1,), "<M8[s]") + bytes(8), "plain numbers"),
        (header((1,), "<c16") + bytes(16), "plain numbers"),
        (b"\x93NUMPY\x03\x00" + header((1,))[8:] + b"0", "version 1.0 or 2.0"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': __imp}", "readable"),
        (b"", "readable"),
    ],
)
def test_members_whose_header_lies_are_refused(tmp_path: Path, member: bytes, words: str):
    refused(archive(tmp_path / "a.npz", X=member), words)


def test_many_members_are_refused(tmp_path: Path):
    some = {f"a{i}": header((1,)) + b"0" for i in range(limits.MEMBERS + 1)}
    refused(archive(tmp_path / "a.npz", **some), "at most 64 arrays")
    many = {f"a{i}": b"" for i in range(3000)}
    refused(archive(tmp_path / "b.npz", **many), "at most 64 arrays")


def test_members_that_are_no_arrays_are_refused(tmp_path: Path):
    for name in ("X.txt", "X.npy/", "../X"):
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
            file.writestr(name, b"")
        refused(tmp_path / "a.npz", "members NAME.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as file:
        file.writestr("X.npy", header((1,)) + b"0")
    refused(tmp_path / "a.npz", "stored or deflated")


@pytest.mark.parametrize("raw", [b"", b"PK", b"\x93NUMPY", bytes(1000), b"PK\5\6" + b"\xff" * 18])
def test_what_is_no_archive_is_refused(tmp_path: Path, raw: bytes):
    (tmp_path / "a.npz").write_bytes(raw)
    refused(tmp_path / "a.npz", "no archive|a larger one")


def parquet(path: Path, **columns) -> Path:
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)
    return path


def test_columns_become_arrays(tmp_path: Path):
    X = np.arange(24).reshape(4, 3, 2)
    lists = {"X": X.tolist(), "y": [0, 1, 0, 1], "group": ["a", "b", "c", "d"], "other": [1.0] * 4}
    read = tables.columns(parquet(tmp_path / "a.parquet", **lists), ("X", "y", "group"))
    np.testing.assert_array_equal(read["X"], X)
    assert read["X"].dtype == np.int64 and read["group"].tolist() == ["a", "b", "c", "d"]
    assert set(read) == {"X", "y", "group"}


def test_small_types_become_wide_ones(tmp_path: Path):
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    X = pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2))
    read = tables.columns(parquet(tmp_path / "a.parquet", X=X, y=pa.array([0, 1], pa.int8())), "Xy")
    assert (read["X"].dtype, read["y"].dtype) == (np.float64, np.int64)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([[1, 2], [3]], "lists of one length"),
        ([[1, 2], None], "a value in every row"),
        ([[1, None], [3, 4]], "a value in every row"),
        ([{"a": 1}, {"a": 2}], "numbers or texts"),
        ([b"a", b"b"], "numbers or texts"),
    ],
)
def test_odd_columns_are_refused(tmp_path: Path, column: list, words: str):
    with pytest.raises(InputError, match=words):
        tables.columns(parquet(tmp_path / "a.parquet", X=column), "X")


def test_a_parquet_of_many_equal_rows_is_not_read(tmp_path: Path):
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    y = pa.array(np.zeros(limits.ROWS + 1, np.int64))
    path = parquet(tmp_path / "a.parquet", y=y)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match="at most 10,000,000 rows"):
        tables.columns(path, "y")


def test_a_parquet_of_wide_rows_is_not_read(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED", 8 * 1000)
    path = parquet(tmp_path / "a.parquet", X=[[0] * 600] * 2)
    with pytest.raises(InputError, match="at most 1,000 values, got 1,200"):
        tables.columns(path, "X")
    path = parquet(tmp_path / "b.parquet", X=["n" * 900] * 3)
    with pytest.raises(InputError, match="short texts"):
        tables.columns(path, "X")


def test_one_long_text_in_every_row_is_not_unpacked(tmp_path: Path):
    """The file holds the text once; all rows together would take 4 GiB."""
    pa = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 4096, pa.int32()), ["n" * 2**20])
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"X": texts}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 4096
    pool = pa.default_memory_pool()
    before = pool.max_memory()
    with pytest.raises(InputError, match="short texts in X, got one of 1,048,576 characters"):
        tables.columns(path, "X")
    assert len({*map(id, tables.table(path)["X"])}) == 1
    assert pool.max_memory() < before + 2**26


def test_a_table_keeps_lists_and_missing_texts(tmp_path: Path):
    path = parquet(tmp_path / "a.parquet", curve=[[1.0], [2.0, 3.0]], name=["a", None], m=[1, 2])
    read = tables.table(path)
    assert [*map(list, read["curve"])] == [[1.0], [2.0, 3.0]]
    assert read["name"].tolist() == ["a", None] and read["m"].tolist() == [1, 2]

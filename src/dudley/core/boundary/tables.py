"""Columns from a stranger's Parquet file, as arrays.

Rows and values are counted in the file's own index before anything is read, and again while it is
read, a few thousand rows at a time: a page of a few bytes may stand for millions of equal values.
Texts stay in the dictionaries of their pages, since one long text may stand in every row.
Integers become int64 and floats float64, lists of equal lengths further axes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.boundary import limits
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import DudleyError
from dudley.core.extras import missing

WIDTH = 8  # bytes of a number in an array
BATCH = 4096  # rows read at once
GROUPS = 10_000  # row groups of a file


def columns(path: Path, names: Collection[str]) -> dict[str, np.ndarray]:
    """The columns of these names that the file has, lists of equal lengths as further axes."""
    with _reading(path):
        parts = _parts(path, names)
        return {name: _array(path, name, parts[name]) for name in parts}


def table(path: Path) -> dict[str, np.ndarray]:
    """All columns; one of lists is an array of arrays."""
    with _reading(path):
        return {name: _flat(column) for name, column in _parts(path, None).items()}


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except DudleyError:
        raise
    except Exception as error:  # whatever a broken file raises
        raise refusal(path, "a readable Parquet file", error) from None


def _parts(path: Path, names: Collection[str] | None) -> dict[str, list[Any]]:
    """The columns of these names, or all, each in pieces; texts as dictionaries."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise missing("pyarrow", f"reading {path}", "lab") from None
    schema = pq.read_schema(regular(path))
    present = schema.names if names is None else [name for name in names if name in schema.names]
    texts = [name for name in present if _is_text(path, name, schema.field(name).type)]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        _expect_size(path, file.metadata, present)
        batches, total = [], 0
        for batch in file.iter_batches(BATCH, columns=present):
            total += batch.nbytes
            if total > limits.UNPACKED:
                raise refusal(path, f"at most {limits.UNPACKED >> 20} MiB as arrays", "more")
            batches.append(batch)
    return {name: [batch[name] for batch in batches] for name in present}


def _is_text(path: Path, name: str, kind: Any) -> bool:
    """Whether a column is of texts; one that is of neither texts nor numbers is refused."""
    import pyarrow as pa

    types, leaf = pa.types, kind
    while _nested(leaf):
        leaf = leaf.value_type
    text = types.is_string(kind) or types.is_large_string(kind)
    numeric = types.is_integer(leaf) or types.is_floating(leaf) or types.is_boolean(leaf)
    if not (text or numeric):
        raise refusal(path, f"numbers or texts in {name}", kind)
    return text


def _expect_size(path: Path, metadata: Any, names: Collection[str]) -> None:
    if metadata.num_rows > limits.ROWS:
        raise refusal(path, f"at most {limits.ROWS:,} rows", f"{metadata.num_rows:,}")
    if metadata.num_row_groups > GROUPS:
        raise refusal(path, f"at most {GROUPS:,} row groups", f"{metadata.num_row_groups:,}")
    values = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema.split(".")[0] in names:
                values += max(column.num_values, group.num_rows)
    if values * WIDTH > limits.UNPACKED:
        expected = f"at most {limits.UNPACKED // WIDTH:,} values"
        raise refusal(path, expected, f"{values:,}")


def _array(path: Path, name: str, parts: list[Any]) -> np.ndarray:
    """The parts of a column one after the other; every list of one axis as long as the others."""
    import pyarrow as pa

    if not parts:
        raise refusal(path, f"rows in the column {name}", "none")
    if pa.types.is_dictionary(parts[0].type):
        return _texts(path, name, parts)
    column, shape = pa.concat_arrays(parts), [sum(map(len, parts))]
    while True:
        if column.null_count:
            raise refusal(path, f"a value in every row of {name}", f"{column.null_count} without")
        if not _nested(column.type):
            break
        lengths = np.unique(column.value_lengths().to_numpy(zero_copy_only=False))
        if len(lengths) > 1:
            raise refusal(path, f"lists of one length in {name}", f"{len(lengths)} lengths")
        shape.append(int(lengths[0]) if len(lengths) else 0)
        column = column.flatten()
    if pa.types.is_boolean(column.type):
        flat = column.to_numpy(zero_copy_only=False)
    else:
        wide = pa.int64() if pa.types.is_integer(column.type) else pa.float64()
        flat = column.cast(wide).to_numpy(zero_copy_only=False)
    if math.prod(shape) != len(flat):
        raise refusal(path, f"lists of one length in {name}", "others")
    return flat.reshape(shape)


def _texts(path: Path, name: str, parts: list[Any]) -> np.ndarray:
    """Texts, which an array keeps as long as the longest of them."""
    texts = _flat(parts)
    absent = sum(part.null_count for part in parts)
    if absent:
        raise refusal(path, f"a value in every row of {name}", f"{absent} without")
    longest = max(map(len, texts), default=0)
    if 4 * longest * len(texts) > limits.UNPACKED:
        raise refusal(path, f"short texts in {name}", f"one of {longest:,} characters")
    return texts.astype(str)


def _flat(parts: list[Any]) -> np.ndarray:
    """The pieces of a column as one array; equal texts are one object."""
    arrays = [np.zeros(0)]
    for part in parts:
        if hasattr(part, "dictionary"):
            words = np.array([*part.dictionary.to_pylist(), None], object)
            arrays.append(words[part.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
        else:
            arrays.append(part.to_numpy(zero_copy_only=False))
    return np.concatenate(arrays[1:] or arrays)


def _nested(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)

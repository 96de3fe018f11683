"""Columns from a stranger's Parquet file, as arrays.

Rows and values are counted in the file's own index before anything is read, and again while it is
read, a few thousand rows at a time: a page of a few bytes may stand for millions of equal values.
Integers become int64 and floats float64, lists of equal lengths further axes.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.boundary import limits
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError
from dudley.core.extras import missing

WIDTH = 8  # bytes of a number in an array
BATCH = 4096  # rows read at once
GROUPS = 10_000  # row groups of a file


def columns(path: Path, names: Collection[str]) -> dict[str, np.ndarray]:
    """The columns of these names that the file has."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise missing("pyarrow", f"reading {path}", "lab") from None
    try:
        with pq.ParquetFile(regular(path)) as file:
            present = [name for name in names if name in file.schema_arrow.names]
            _expect_size(path, file.metadata, present)
            batches, total = [], 0
            for batch in file.iter_batches(BATCH, columns=present):
                total += batch.nbytes
                if total > limits.UNPACKED:
                    raise refusal(path, f"at most {limits.UNPACKED >> 20} MiB as arrays", "more")
                batches.append(batch)
            return {name: _array(path, name, [b[name] for b in batches]) for name in present}
    except InputError:
        raise
    except Exception as error:  # whatever a broken file raises
        raise refusal(path, "a readable Parquet file", error) from None


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
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        whole = pa.types.is_integer(column.type)
        flat = column.cast(pa.int64() if whole else pa.float64()).to_numpy(zero_copy_only=False)
    elif pa.types.is_boolean(column.type):
        flat = column.to_numpy(zero_copy_only=False)
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        flat = _texts(path, name, column)
    else:
        raise refusal(path, f"numbers or texts in {name}", column.type)
    if math.prod(shape) != len(flat):
        raise refusal(path, f"lists of one length in {name}", "others")
    return flat.reshape(shape)


def _texts(path: Path, name: str, column: Any) -> np.ndarray:
    """Texts, which an array keeps as long as the longest of them."""
    texts = column.to_pylist()
    longest = max(map(len, texts), default=0)
    if 4 * longest * len(texts) > limits.UNPACKED:
        raise refusal(path, f"short texts in {name}", f"one of {longest:,} characters")
    return np.array(texts)


def _nested(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)

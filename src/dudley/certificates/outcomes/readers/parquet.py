"""Parquet, by the extra ``lab``: columns of texts and numbers (`dudley.core.boundary.tables`)."""

from __future__ import annotations

from pathlib import Path

from dudley.certificates.outcomes.reader import PART, READERS, Choose, ColumnParts
from dudley.core.boundary import tables
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal
from dudley.core.extras import missing


@READERS.register("parquet")
def parquet_parts(path: Path, choose: Choose) -> ColumnParts:
    """The columns that are used."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise missing("pyarrow", f"reading {path}", "lab") from None
    regular(path)  # pyarrow waits for a pipe
    try:
        header = list(pq.read_schema(path).names)
    except Exception as error:  # whatever a broken file raises
        raise refusal(path, "a readable Parquet file", error) from None
    arrays = tables.columns(path, choose(header))
    count = len(next(iter(arrays.values())))
    for first in range(0, count, PART):
        yield {name: array[first : first + PART].tolist() for name, array in arrays.items()}

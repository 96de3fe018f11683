"""lm-eval (EleutherAI's lm-evaluation-harness): the JSON lines that ``--log_samples`` writes.

Read in version 0.4.13: a line for each document and filter, with ``doc_id``, ``doc_hash``,
``filter``, ``metrics`` (their names) and each metric's value under its name. Metrics that count
right answers are known by name (`BINARY`); others in [0, 1] are grades, and their lack to 1 is the
loss. A log does not say which metrics are better when they are lower: those of lm-eval are known by
name (`LOWER`), and of others ``lower_is_better`` must say it; they are losses themselves. The hash
of a document becomes the id of its row.

lm-eval opens the file to append, so that two runs may stand in it: a document that comes twice is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dudley.certificates.outcomes.logs.base import LOGS, graded, numbered, one_of_names
from dudley.certificates.outcomes.table import OutcomeTable
from dudley.core.boundary import limits
from dudley.core.boundary.documents import value_of
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal

BINARY = ("acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "em")
LOWER = ("ter", "brier_score", "wer", "cer", "bits_per_byte", "perplexity")
LONGEST = 4 * limits.MIB  # bytes of a line, which has the prompt and every answer


@LOGS.register("lm-eval")
def lm_eval_samples(
    path: Path,
    metric: str | None = None,
    filter: str | None = None,
    binary: bool | None = None,
    lower_is_better: bool | None = None,
) -> OutcomeTable:
    """The outcomes of one metric under one filter; ``binary`` says that its values are 0 or 1."""
    values, ids, filters, seen = [], [], {}, set()
    for place, sample in samples(path):
        name = sample.get("filter", "none")
        names = sample.get("metrics")
        if not isinstance(name, str) or not isinstance(names, list) or "doc_id" not in sample:
            raise refusal(place, "a sample with doc_id, filter and metrics", "another object")
        filters[name] = True
        if filter is not None and name != filter:
            continue
        metric = one_of_names(place, "metric", [str(each) for each in names], metric)
        if (key := (str(sample["doc_id"]), name)) in seen:
            fix = "two runs may have been appended: take the lines of one"
            raise refusal(place, "each document once", f"{key[0]} again", fix=fix)
        seen.add(key)
        value = sample.get(metric)
        if not isinstance(value, int | float):
            raise refusal(place, f"a number in {metric}", type(value).__name__)
        values.append(value)
        ids.append(sample.get("doc_hash", sample["doc_id"]))
    one_of_names(path, "filter", list(filters), filter)
    assert metric is not None
    errors = metric in BINARY if binary is None else binary
    if metric in LOWER if lower_is_better is None else lower_is_better:
        values = [1 - value for value in values]
    return graded(path, values, errors, ids=numbered(ids))


def samples(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The object of every line, with its place; a long line is refused before it is read."""
    with regular(path).open("rb") as file:
        number, rows = 0, 0
        while line := file.readline(LONGEST + 1):
            number += 1
            place = Path(f"{path}: line {number}")
            if len(line) > LONGEST:
                raise refusal(place, f"at most {LONGEST >> 20} MiB in a line", "more")
            if line.isspace():
                continue
            rows += 1
            sample = value_of(line.removeprefix(b"\xef\xbb\xbf"), place, finite=False)
            if not isinstance(sample, dict) or rows > limits.ROWS:
                got = f"{rows:,} rows" if rows > limits.ROWS else type(sample).__name__
                raise refusal(place, f"JSON objects, at most {limits.ROWS:,}", got)
            yield place, sample
        if not rows:
            raise refusal(path, "a JSON object a line", "an empty file")

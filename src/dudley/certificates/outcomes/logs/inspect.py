"""Inspect AI: logs of evaluations, in their JSON form or as .eval archives.

Read in the log format 2 (inspect_ai 0.3.285): ``status``, and ``samples`` with ``id``, ``epoch``
and ``scores`` by scorer, each with a ``value``. An .eval file is a zip; what is read of it is
``header.json`` and ``summaries.json``. Archives packed with Zstandard, as newer versions write
them, are refused with what to do.

Values are read as Inspect does: "C", "yes" and true are right, "I", "N", "no" and false wrong. "P"
(partly right) counts as an error, unless ``partial`` says 0.5, which makes all values grades.
Numbers are grades in [0, 1]. A sample without a score (it failed, or could not be graded) is
refused, unless ``unscored="error"`` counts it as one. Epochs are rows of one sample, so its id is
the id of all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dudley.certificates.outcomes.logs.base import LOGS, graded, numbered, one_of_names
from dudley.certificates.outcomes.table import OutcomeTable
from dudley.core.boundary.damage import refusing
from dudley.core.boundary.documents import value_of
from dudley.core.boundary.limits import JSON_BYTES
from dudley.core.boundary.packages import wheel_files
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

RIGHT, WRONG, PARTLY = ("c", "yes", "true"), ("i", "n", "no", "false"), "p"
HEADER, SUMMARIES = "header.json", "summaries.json"
CONVERT = "inspect log convert LOG --to json --output-dir FOLDER makes a log that can be read"


@LOGS.register("inspect")
def inspect_log(
    path: Path,
    scorer: str | None = None,
    partial: float | None = None,
    unscored: str | None = None,
    binary: bool = False,
) -> OutcomeTable:
    """The outcomes of one scorer; ``binary`` says that its numbers are 0 or 1."""
    with refusing(str(path), "a log of Inspect"):
        status, samples = contents(path)
        if status != "success":
            fix = "which samples a run finishes may depend on how hard they are"
            raise refusal(path, "a run with status success", repr(status), fix=fix)
        scorers = list(dict.fromkeys(name for each in samples for name in each["scores"] or {}))
        name = one_of_names(path, "scorer", scorers, scorer)
        values = [grade(path, each, name, partial, unscored) for each in samples]
        words = partial is None and all(isinstance(each, bool) for each in values)
        return graded(path, values, binary or words, ids=numbered([each["id"] for each in samples]))


def contents(path: Path) -> tuple[str, list[dict[str, Any]]]:
    """The status and the samples, or their summaries."""
    if path.suffix == ".json":
        with regular(path).open("rb") as file:
            raw = file.read(JSON_BYTES + 1)
        log = value_of(raw, path, finite=False)
        if not isinstance(log.get("samples"), list):
            raise refusal(path, "a log with samples", "none")
        return log["status"], log["samples"]
    archive = regular(path)
    try:
        files = wheel_files(archive, lambda member: member in (HEADER, SUMMARIES))
    except InputError as error:
        expected = "a log .json, or an .eval archive whose members are stored or deflated"
        raise refusal(path, expected, str(error).rpartition(", got ")[2], fix=CONVERT) from None
    if set(files) != {HEADER, SUMMARIES}:
        raise refusal(path, f"an .eval archive with {HEADER} and {SUMMARIES}", "none", fix=CONVERT)
    header = value_of(files[HEADER], path, finite=False)
    return header["status"], value_of(files[SUMMARIES], path, finite=False)


def grade(
    path: Path, sample: dict[str, Any], scorer: str, partial: float | None, unscored: str | None
) -> bool | float:
    """The grade of a sample: a truth value where it is a word, a number where it is one."""
    value = ((sample["scores"] or {}).get(scorer) or {}).get("value")
    if value is None or value != value:
        if unscored != "error":
            fix = 'unscored="error" counts such samples as errors'
            got = f"none in sample {sample['id']}"
            raise refusal(path, f"a score of {scorer} in every sample", got, fix=fix)
        return False
    word = str(value).strip().lower()
    if isinstance(value, bool) or word in RIGHT or word in WRONG:
        return value if isinstance(value, bool) else word in RIGHT
    if word == PARTLY:
        return False if partial is None else float(partial)
    if isinstance(value, int | float):
        return float(value)
    raise refusal(path, "a word (C, I, P, N, yes, no) or a number as a value", repr(value))

"""Tables of outcomes: what is read, what is refused with one sentence, and what is verified."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dudley.calculus.inversion import binomial_upper
from dudley.certificates import verify
from dudley.certificates.certify_outcomes import outcomes
from dudley.certificates.methods.outcomes.method import OutcomesMethod
from dudley.certificates.outcomes.columns import OutcomeColumns
from dudley.certificates.outcomes.difference import discordant_upper
from dudley.certificates.outcomes.reader import OutcomeFile
from dudley.certificates.outcomes.sizes import certificate_size, comparison_size, slice_size
from dudley.core.errors import DudleyError
from dudley.networks.files import EXAMPLES
from each import each

REVIEWS = EXAMPLES / "reviews" / "outcomes.csv"
GOOD = "y,prediction,site\ncat,cat,A\ndog,cat,A\ndog,dog,B\n"


def read(path: Path, **roles):
    return OutcomeFile(path).read(OutcomeColumns(**roles))[0]


def put(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# -- what is read -----------------------------------------------------------------------------


@each(
    ("name", "content"),
    [
        ("commas.csv", GOOD),
        ("mark.csv", b"\xef\xbb\xbf" + GOOD.encode()),
        ("windows.csv", GOOD.replace("\n", "\r\n") + "\r\n"),
        ("semicolons.csv", GOOD.replace(",", ";")),
        ("tabs.tsv", GOOD.replace(",", "\t")),
        ("quotes.csv", GOOD.replace("cat", '"cat"')),
        ("lines.jsonl", "".join(
            json.dumps(dict(zip(("y", "prediction", "site"), line.split(","), strict=True))) + "\n"
            for line in GOOD.splitlines()[1:]
        )),
    ],
)  # fmt: skip
def test_one_table_in_any_form_has_one_hash(name, content, tmp_path):
    table = read(put(tmp_path, content, name), groups=("site",))
    expected = outcomes(
        y=["cat", "dog", "dog"], prediction=["cat", "cat", "dog"], groups={"site": list("AAB")}
    )
    assert table.losses.tolist() == [0, 1, 0]
    assert table.sha256 == expected.data["sha256"]


def test_parquet_is_read(tmp_path, require):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {"correct": [True, False, True], "site": ["A", "A", "B"]}
    pq.write_table(pa.table(columns), tmp_path / "table.parquet")
    table = read(tmp_path / "table.parquet", groups=("site",))
    assert table.losses.tolist() == [0, 1, 0] and table.groups["site"].names == ("A", "B")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_the_place_of_parquet_is_not_waited_for(tmp_path):
    pytest.importorskip("pyarrow")
    os.mkfifo(tmp_path / "table.parquet")
    reading = "from dudley import outcomes; outcomes('table.parquet')"
    done = subprocess.run(  # what waits in C ends with its process alone
        [sys.executable, "-c", reading], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert "a regular file, got a pipe" in done.stderr


class Frame:
    """What a frame of any library has: columns, and an array for each."""

    columns = ("y", "answer")

    def __getitem__(self, name: str) -> np.ndarray:
        return np.array({"y": [0, 1] * 50, "answer": [0, 1] * 49 + [1, 1]}[name])


def test_frames_dicts_and_arrays_are_the_same():
    frame = Frame()
    table = {name: frame[name] for name in frame.columns}
    numbers = {
        outcomes(frame, prediction="answer").value,
        outcomes(table, prediction="answer").value,
        outcomes(y=table["y"], prediction=table["answer"]).value,
        outcomes(correct=table["y"] == table["answer"]).value,
        binomial_upper(1, 100, float(np.nextafter(-math.log(0.05), 9))),
    }
    assert max(numbers) - min(numbers) < 1e-12


# -- what is refused --------------------------------------------------------------------------

HUGE = "9" * 5000
HOSTILE = [
    ("ragged", "correct,a\n1,2\n0\n", "2 fields in every row, got 1 in row 2"),
    ("too many fields", "correct\n1,2\n", "1 fields in every row, got 2 in row 1"),
    ("NaN", "loss\n0.5\nnan\n", "loss: expected finite numbers, got 'nan' in row 2"),
    ("outside", "loss\n0.5\n1.5\n", "loss: expected numbers in [0, 1], got 1.5 in row 2"),
    ("mixed", "correct\n1\nyes\n", "got 'yes' in row 2"),
    ("missing", "correct,a\n1,2\n,2\n", "got nothing in row 2"),
    ("a huge integer", f"loss\n{HUGE}\n", "expected finite numbers"),
    ("a huge label", f"y,prediction\n{HUGE},1\n", "labels: expected texts"),
    ("a formula", "y,prediction\n=1+1,2\n", "formulas are not evaluated"),
    ("two spellings", "y,prediction\n1,1.0\n", "each written in one way"),
    ("spaces", "y,prediction\ncat,cat \n", "each written in one way"),
    ("bytes", b"correct\n1\n\xff\xfe\n", "text in UTF-8"),
    ("UTF-16", "correct\n1\n".encode("utf-16"), "text in UTF-8"),
    ("zero bytes", b"correct\n1\n\0\n", "a zero byte in line 3"),
    ("a binary file", bytes(range(256)) * 99, "expected"),
    ("columns", ",".join(map(str, range(10_000))) + "\n", "at most 4,096 columns"),
    ("a long line", "correct\n" + "1" * (1 << 20) + "\n", "lines of at most"),
    ("an open quote", 'correct\n"1\n' + "0\n" * 99_999, "rows of CSV"),
    ("names twice", "correct,correct\n1,1\n", "names that differ"),
    ("weights", "correct,weight\n1,2\n", "no weights"),
    ("no rows", "correct\n", "at least one row"),
    ("nothing", "", "a line with the names of columns"),
    ("no outcomes", "a,b\n1,2\n", "y and prediction, or correct, or loss"),
    ("two forms", "correct,loss\n1,0\n", "one of the three"),
    ("underscores", "loss\n0_1\n", "got '0_1' in row 1"),
]


@each(("what", "content", "words"), HOSTILE)
def test_hostile_tables_get_a_sentence(what, content, words, tmp_path):
    with pytest.raises(DudleyError) as refusal:
        read(put(tmp_path, content))
    assert words in str(refusal.value) and len(str(refusal.value)) < 500


@each(
    ("content", "words"),
    [
        ('{"correct": 1}\n[1]\n', "line 2: expected a JSON object"),
        ('{"correct": 1}\n{"correct": {"a": 1}}\n', "a text or a number in correct, got dict"),
        ('{"correct": 1}\n{"wrong": 1}\n', "got nothing in row 2"),
        ('{"loss": NaN}\n', "got 'nan' in row 1"),
        ('{"correct": 1\n', "line 1: expected a JSON object"),
        ('{"a": ' + "[" * 100_000 + "\n", "nested"),
        ('{"loss": ' + HUGE + "}\n", "line 1: expected a JSON object"),
        ("\n\n", "an object a line"),
    ],
)
def test_hostile_lines_get_a_sentence(content, words, tmp_path):
    with pytest.raises(DudleyError) as refusal:
        read(put(tmp_path, content, "table.jsonl"))
    assert words in str(refusal.value) and len(str(refusal.value)) < 500


@each(
    ("declared", "words"),
    [
        ({"groups": ["nothing"]}, "unknown column 'nothing'"),
        ({"margin": 0.1}, "a column of the old model"),
        ({"slices_below": 0.1}, "a column of groups"),
        ({"below": 1.5}, "a number in [0, 1]"),
        ({"chains": 99, "answered_below": 0.1}, "the number of thresholds"),
        ({"thresholds": [0.5, 0.5], "chains": 1}, "numbers that differ"),
        ({"delta": 0}, "a number in (0, 1)"),
        ({"unit": "id", "unit_way": "last"}, "mean or first"),
        ({"weigh": 3}, "declaration of outcomes"),
        ({"time": "score", "unit": "id"}, "none where units are declared"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(declared, words):
    with pytest.raises(DudleyError) as refusal:
        outcomes(REVIEWS, **declared)
    assert words in str(refusal.value)


# -- the numbers ------------------------------------------------------------------------------


def test_every_part_pays_its_share():
    facts = outcomes(REVIEWS, groups=["language"], old="old", answered_below=0.05).facts
    alone = outcomes(REVIEWS, groups=["language"]).facts
    for row, single in zip(facts.slices, alone.slices, strict=True):
        assert row["at_most"] > single["at_most"]
    english = next(row for row in alone.slices if row["label"] == "English")
    errors = round(english["mean_loss"] * english["n"])
    expected = binomial_upper(errors, english["n"], math.log(2 * 5 / 0.05))
    assert english["at_most"] == pytest.approx(expected, rel=1e-9)


def test_the_order_of_rows_changes_no_number():
    rng = np.random.default_rng(0)
    loss, unit = rng.random(200), rng.integers(0, 40, 200)
    shuffle = rng.permutation(200)
    for way in ("mean", "first"):
        values = {
            outcomes(loss=loss[order], unit=unit[order], unit_way=way, seed=5).value
            for order in (np.arange(200), shuffle)
        }
        assert len(values) == 1 or way == "first"
        assert max(values) - min(values) < 1e-9


def test_the_exact_difference_of_equal_models_nears_the_normal_one():
    for b, most in ((60, 2.27), (6000, 1.85)):
        n = b * 2000 // 60
        upper, sd = discordant_upper(b, b, n, -math.log(0.05)), math.sqrt(2 * b) / n
        assert 1.645 * sd < upper < most * sd


def test_sizes_reach_their_power_and_no_smaller_number_does():
    size = certificate_size(0.01, 0.02, 0.05, 0.9)
    assert binomial_upper(size.errors, size.n, -math.log(0.05)) <= 0.02
    assert binomial_upper(size.errors, size.n - 1, -math.log(0.05)) > 0.02
    rng = np.random.default_rng(0)
    new = rng.multinomial(6177, [0.025, 0.025, 0.95], size=300)
    b, M = new[:, 0], new[:, 0] + new[:, 1]
    q = stats.beta.isf(0.9 * 0.05, b + 1, M - b)
    proofs = stats.beta.isf(0.05 * 0.05, M + 1, 6177 - M) * (2 * q - 1) <= 0.01
    assert 0.84 < np.mean(proofs) < 0.95
    assert comparison_size(0.05, 0.0, 0.01, 0.05, 0.9).n == 6177
    whole = slice_size(0.01, 0.02, 0.05, 0.9, 1, 1.0)
    assert abs(whole.n - size.n) <= 60


def test_times_are_numbers_or_dates_and_their_order_is_all_that_counts(tmp_path):
    rng = np.random.default_rng(0)
    day, correct = rng.integers(1, 29, 200), rng.random(200) > 0.1
    shuffle = rng.permutation(200)
    made = [
        outcomes(correct=correct, time=day),
        outcomes(correct=correct[shuffle], time=day[shuffle] * 10.0),
        outcomes({"correct": correct, "at": [f"2026-05-{d:02}" for d in day]}, time="at"),
        outcomes({"correct": correct, "at": [f"2026-05-{d:02}T08:00Z" for d in day]}, time="at"),
    ]
    facts = made[0].facts.over_time
    assert all(certificate.facts.over_time == facts for certificate in made)
    rows = np.cumsum(np.bincount(day))
    assert all(point["rows"] in rows for point in facts["curve"])
    assert facts["curve"][-1]["rows"] == 200 and facts["at_most"] > made[0].value
    path = put(tmp_path, "when,correct\n" + "".join(f"2026-05-{d:02},1\n" for d in day))
    certificate = outcomes(path, time="when")
    file = json.loads(certificate.text())
    assert file["declared"]["columns"]["time"] == "when"
    assert verify.verify(file, None, OutcomesMethod().read_data(path)).holds
    assert "time" not in outcomes(path).to_json()["declared"]["columns"]


@each(
    ("when", "words"),
    [
        (["2026-05-01", "3"], "all of one kind, got '3' in row 2"),
        (["3", "2026-05-01"], "got '2026-05-01' in row 2"),
        (["2026-05-01", ""], "got nothing in row 2"),
        (["nan", "1"], "got 'nan' in row 1"),
        (["2026-13-01", "2026-01-01"], "got '2026-13-01' in row 1"),
    ],
)
def test_times_that_are_refused(when, words):
    with pytest.raises(DudleyError) as refusal:
        outcomes({"correct": [1, 0], "when": when}, time="when")
    assert words in str(refusal.value)


# -- the file ---------------------------------------------------------------------------------


def test_a_certificate_is_verified_from_the_table_alone(tmp_path):
    certificate = outcomes(
        REVIEWS, groups=["language"], old="old", margin=0.01, answered_below=0.05,
        slices_below=0.2, two_sided=True, below=0.1,
    )  # fmt: skip
    file = json.loads(certificate.text())
    method = OutcomesMethod()
    again = verify.verify(file, None, method.read_data(REVIEWS))
    assert again.holds, again.differences
    changed = put(tmp_path, REVIEWS.read_text().replace("r0000,Finnish", "r0000,French"))
    assert not verify.verify(file, None, method.read_data(changed)).holds
    for field in ("at_most", "mean_loss"):
        forged = json.loads(certificate.text())
        forged["facts"]["slices"][0][field] /= 2
        assert not verify.verify(forged, None, method.read_data(REVIEWS)).holds


def test_candidates_are_chosen_and_verified(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    columns = {"y": y} | {f"m{j}": np.where(rng.random(300) < 0.1, 1 - y, y) for j in range(4)}
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    path = put(tmp_path, "\n".join(lines))
    certificate = outcomes(path, candidates=["m0", "m1", "m2", "m3"])
    fewest = min(int((columns[f"m{j}"] != y).sum()) for j in range(4))
    expected = binomial_upper(fewest, 300, math.log(4 / 0.05))
    assert certificate.value == pytest.approx(expected, rel=1e-9)
    file = json.loads(certificate.text())
    assert verify.verify(file, None, OutcomesMethod().read_data(path)).holds
    file["choices"]["candidate"] = "m9"
    assert not verify.verify(file, None, OutcomesMethod().read_data(path)).holds

"""``dudley certify outcomes`` and ``dudley plan-test``: exit codes, warnings, files."""

import json

import numpy as np

from dudley.certificates.certify_outcomes import outcomes
from dudley.networks.files import EXAMPLES

REVIEWS = str(EXAMPLES / "reviews" / "outcomes.csv")


def test_exit_codes_of_a_level(dudley, tmp_path):
    command = ("certify", "outcomes", "reviews")
    assert dudley(*command, "--below", "0.07").code == 0
    larger = dudley(*command, "--below", "0.04", "--two-sided")
    assert larger.code == 1 and "proved to be larger than 0.04" in larger.out
    unpaid = dudley(*command, "--below", "0.04")
    assert unpaid.code == 1 and "proved to be larger" not in unpaid.out
    large = dudley(*command, "--below", "0.055")
    assert large.code == 1 and "more rows of the kind would not help" in large.out
    few = dudley(*command, "--below", "0.06")
    assert few.code == 3 and "more at the same mean loss would do" in few.out


def test_ids_that_repeat_are_named_unless_units_are(dudley, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("id,correct\n" + "".join(f"{min(i, 75)},1\n" for i in range(80)))
    loud = dudley("certify", "outcomes", str(table))
    assert loud.code == 0 and "4 rows have the id of an earlier one" in " ".join(loud.err.split())
    quiet = dudley(
        "certify", "outcomes", str(table), "--unit", "id", "--unit-way", "first", "--seed", "7"
    )
    assert quiet.code == 0 and not quiet.err and "mean over units" in quiet.out


def test_json_is_a_certificate_and_verify_needs_no_model(dudley, tmp_path):
    out = tmp_path / "c.json"
    words = ("certify", "outcomes", REVIEWS, "--group", "language", "--out", str(out), "--json")
    (item,) = json.loads(dudley(*words).out)["items"]
    assert item["value"] == json.loads(out.read_text())["value"]
    assert dudley("verify", str(out), "--data", REVIEWS).code == 0
    assert dudley("verify", str(out), "--data", "reviews").code == 0
    page = tmp_path / "page.html"
    assert dudley("report", str(out), "--out", str(page)).code == 0
    shown = page.read_text(encoding="utf-8")
    assert "language = Icelandic" in shown and "dudley report CERT --data DATA" in shown
    verified = dudley("report", str(out), "--data", "reviews", "--out", str(page))
    assert verified.code == 0 and verified.out.startswith("Verified: at most")
    assert dudley("report", "sparse-and", "--data", "reviews").refused()


def test_a_plan_in_json(dudley):
    (plan,) = json.loads(dudley("plan-test", "--error", "0", "--below", "0.01", "--json").out)[
        "items"
    ]
    assert plan["n"] == 299
    assert (
        "several of them"
        in dudley("plan-test", "--error", "0.01", "--slices", "3", "--stop", "0.1").refused()
    )


def test_a_plan_is_kept_by_the_certificates(dudley):
    """The share of tables with a proof, in which δ is split as the certificates split it."""

    def planned(*words: str) -> int:
        (plan,) = json.loads(dudley("plan-test", *words, "--json").out)["items"]
        return plan["n"]

    rng, runs = np.random.default_rng(0), 60
    n = planned("--error", "0", "--discordant", "0.06", "--margin", "0.02")
    proofs = 0
    for _ in range(runs):
        worse, better = rng.multinomial(n, [0.03, 0.03, 0.94])[:2]
        rows = np.arange(n)
        new, old = rows < worse, (worse <= rows) & (rows < worse + better)
        facts = outcomes(correct=~new, old=~old, margin=0.02).facts
        proofs += facts.comparison["not_worse"]
    assert proofs >= 0.82 * runs, proofs
    n = planned("--error", "0.05", "--below", "0.15", "--slices", "2")
    proofs = 0
    for _ in range(runs):
        correct, group = rng.random(n) > 0.05, rng.integers(0, 2, n)
        facts = outcomes(correct=correct, groups={"group": group}).facts
        proofs += facts.slices[0]["at_most"] <= 0.15
    assert proofs >= 0.82 * runs, proofs
    n = planned("--error", "0.02", "--below", "0.1", "--stop", "0.3")
    proofs = 0
    for _ in range(runs):
        passes, stops = (rng.random(n) > p for p in (0.02, 0.3))
        words = [
            outcomes(correct=correct, below=0.1, two_sided=True).facts.below["verdict"]
            for correct in (passes, stops)
        ]
        proofs += words == ["proved", "larger"]
    assert proofs >= 0.82 * runs, proofs

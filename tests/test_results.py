"""Committed records are whole: each output has the hash that its provenance states."""

from __future__ import annotations

import hashlib
import json
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import binomtest, fisher_exact

from dudley.lab.statistics.discordant import DiscordantPairs

RESULTS = Path(__file__).resolve().parents[1] / "results"
RECORDS = sorted([*RESULTS.glob("*/provenance.json"), *RESULTS.glob("*/*/provenance.json")])
AND, PARITY = "edelman2021-and/paper", "edelman2021-parity/paper"


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda p: str(p.parent.relative_to(RESULTS)))
def test_a_record_is_what_its_provenance_says(path: Path):
    record = read(path)
    assert {"command", "config", "config_sha256", "src_sha256", "machine", "precision"} <= set(
        record
    )
    config = json.dumps(record["config"], sort_keys=True).encode()
    assert hashlib.sha256(config).hexdigest() == record["config_sha256"]
    assert record["outputs"]
    for name, digest in record["outputs"].items():
        assert hashlib.sha256((path.parent / name).read_bytes()).hexdigest() == digest


def test_one_batch_on_the_gpu_is_twenty_times_the_loop():
    record = read(RESULTS / "gpu-ascent/ascent.json")
    assert record["ratio_loop_over_batch"] >= 20
    assert record["values"]["largest_relative_difference"] < 1e-9
    wanted = {"d": 64, "n": 1000, "draws": 32, "restarts": 8}
    assert wanted.items() <= record["config"].items()


def test_certified_norms_on_the_gpu_hold_and_are_faster():
    record = read(RESULTS / "gpu-measure/measure.json")
    assert record["all_certified"] and record["least_ratio"] >= 2
    assert all(case["contained"] for case in record["exact"].values())
    assert all(case["intervals_meet"] for case in record["agreement"].values())


def test_a_checkpoint_measured_on_the_gpu_is_the_one_measured_on_the_cpu():
    record = read(RESULTS / "gpu-checkpoint/checkpoint.json")
    assert record["same_numbers"] and record["largest_relative_difference"] < 1e-9


def test_moves_in_the_explorer_ask_for_less_and_cost_less():
    record = read(RESULTS / "explorer/moves.json")
    before, after = (record[name]["moves"] for name in ("before", "after"))
    for view, sliders in after.items():
        for slider, costs in sliders.items():
            assert costs["requests"][2] <= (1 if view.endswith(f" over {slider}") else 3)
            assert costs["cpu"][1] < before[view][slider]["cpu"][1], (view, slider)


def test_all_bounds_as_gaps_ask_for_no_more_than_one_quantity_did():
    record = read(RESULTS / "explorer-gaps/moves.json")
    before, after = (record[name]["moves"] for name in ("before", "after"))
    assert record["after"]["largest_median"]["cpu"] <= record["before"]["largest_median"]["cpu"]
    for view, sliders in after.items():
        for slider, costs in sliders.items():
            assert costs["requests"] == before[view][slider]["requests"], (view, slider)
            if not view.startswith("risk"):  # these show fewer curves, of one class
                assert costs["cpu"][1] <= before[view][slider]["cpu"][1], (view, slider)


def test_moves_cost_the_server_less_where_sweeps_are_solved_side_by_side():
    """CPU seconds: the clock is that of a machine with other work, whose load is recorded."""
    record = read(RESULTS / "explorer-sweeps/moves.json")
    before, after = (record[name]["moves"] for name in ("before", "after"))
    assert (
        record["after"]["largest_median"]["cpu"] <= 0.5 < record["before"]["largest_median"]["cpu"]
    )
    every = [(view, slider) for view, sliders in after.items() for slider in sliders]
    old, new = (sum(side[v][s]["cpu"][1] for v, s in every) for side in (before, after))
    assert new <= 0.75 * old
    assert all(after[v][s]["requests"] == before[v][s]["requests"] for v, s in every)


def test_a_sweep_of_two_hundred_points_costs_what_is_said_of_it():
    """Twenty evaluations along each axis of the README's head; of others what there is."""
    record = read(RESULTS / "calculus-sweeps/sweeps.json")
    head = record["head of the README"]
    assert max(head["n"], head["T"]["together"], head["W_QK.l11"]["together"]) <= 20
    for name, axes in record.items():
        assert axes["n"] <= 20, name
        for axis, costs in axes.items():
            if isinstance(costs, dict):
                assert costs["together"] < costs["one by one"], (name, axis)


def trials_of(name: str) -> dict[str, np.ndarray]:
    table = pq.read_table(RESULTS / name)
    return {column: table[column].to_numpy() for column in table.column_names}


def successes(trials: dict[str, np.ndarray]) -> dict[tuple[int, int, int], bool]:
    """Did the best hold-out accuracy exceed .99, by T, m and trial?"""
    plain = "best" in trials
    names = (
        ("T", "m", "best") if plain else ("task.T", "task.m", "result.extremes.holdout_accuracy")
    )
    T, m, best = (trials[name] for name in names)
    return dict(zip(zip(T, m, trials["trial"], strict=True), best > 0.99, strict=True))


def differ(row: dict, other: dict, alpha: float) -> list[tuple[int, int]]:
    """The cells whose success rates differ, by Fisher's test at α over the number of cells."""
    cells = sorted({cell[:2] for cell in row})
    pairs = []
    for cell in cells:
        counts = [[hit for key, hit in side.items() if key[:2] == cell] for side in (row, other)]
        table = [[sum(hits), len(hits) - sum(hits)] for hits in counts]
        if fisher_exact(table).pvalue < alpha / len(cells):
            pairs.append(cell)
    return pairs


def test_the_papers_grids_are_trained_in_minutes():
    record = read(RESULTS / "gpu-train/train.json")
    parts = record["parts"]
    assert parts["and"]["trials"] == parts["and-fast"]["trials"] == 8800
    seconds = {"before": parts["and"]["before"]["seconds"]}
    seconds |= {name: parts[name]["seconds"] for name in ("and", "and-fast")}
    assert seconds["and-fast"] < seconds["and"] < 0.6 * seconds["before"] < 0.6 * 360
    assert parts["parity"]["trials"] == 30 and parts["parity"]["seconds"] <= 300
    run = read(RESULTS / "gpu-train/provenance.json")
    config = run["config"]["and"]
    assert config["model"]["dropout"] == [0.1, 0.1, 0.1] and config["training"]["steps"] == 1000
    trials = trials_of(f"{AND}/trials.parquet")
    assert len(successes(trials)) == 8800
    assert all(len(curve) == 100 for curve in trials["holdout_accuracy"])
    assert all(len(curve) == 500 for curve in trials_of(f"{PARITY}/printed.parquet")["loss"])
    record = read(RESULTS / AND / "provenance.json")
    assert record["config"]["protocol"] == config
    assert record["src_sha256"] == run["src_sha256"] and record["machine"] == run["machine"]
    assert record["seconds"] == seconds["before"]
    assert record["src_sha256"] == parts["and"]["before"]["src_sha256"]
    assert (
        read(RESULTS / PARITY / "provenance.json")["config"]["printed"] == run["config"]["parity"]
    )


def test_the_grid_is_many_times_as_fast_as_two_other_ways():
    """The ratios are those of the seconds, and the page has both; of one way they are rough."""
    record = read(RESULTS / "gpu-train/train.json")
    parts, ways = record["parts"], record["baselines"]
    assert ways["ordinary"]["seconds"] == parts["ordinary"]["seconds_of_the_grid"]
    page = (RESULTS.parent / "docs/train.md").read_text(encoding="utf-8")
    runs = {"before": parts["and"]["before"], "and": parts["and"], "and-fast": parts["and-fast"]}
    assert set(record["ratios"]) == set(runs)
    for name, ratios in record["ratios"].items():
        seconds = runs[name]["seconds"]
        assert ratios["ordinary"] == pytest.approx(ways["ordinary"]["seconds"] / seconds)
        assert ratios["batched"] == round(ways["batched"]["seconds"] / seconds, 1)
        about = f"about {ratios['batched']}"
        assert f"| {seconds:.0f} | {ratios['ordinary']:,.0f} | {about} |\n" in page
    assert record["ratios"]["and"]["ordinary"] >= 2000 and ways["batched"]["about"]


def test_fast_mode_on_a_processor_succeeds_alike_and_costs_less():
    """The trials of the record counted again; the margin is the one in the benchmark."""
    record, run = (read(RESULTS / f"fast-mode/{name}.json") for name in ("agreement", "provenance"))
    trials = trials_of("fast-mode/trials.parquet")
    full, fast = (np.asarray(trials[f"{way}_success"]) for way in ("full", "fast"))
    pairs = DiscordantPairs.of(full, fast)
    verdict = pairs.equivalence(run["config"]["margin"], run["config"]["alpha"])
    assert record["trials"] == len(full) == 64 and 0 < full.sum() < 64
    assert record["successes"] == {"full": full.sum(), "fast": fast.sum()}
    assert record["interval"] == [verdict.lowest, verdict.highest] and verdict.equivalent
    steps, m = np.asarray(trials["fast_steps"]), np.asarray(trials["m"])
    whole = run["config"]["protocol"]["training"]["steps"]
    assert record["share_of_token_steps"] == pytest.approx((m * steps).sum() / (m * whole).sum())
    spent, page = record["cpu_seconds"], (RESULTS.parent / "docs/train.md").read_text("utf-8")
    shares = [spent["fast"][part] / spent["full"][part] for part in ("seconds", "evaluations")]
    assert max(shares) < 1 / 3 and list(record["cpu_ratio"].values()) == shares
    words = f"takes {shares[0]:.0%} of the processor time, and its evaluations {shares[1]:.0%}"
    assert words.replace("%", " %") in page and f"; {full.sum()} trials succeed" in page


def test_compiled_attention_is_several_times_as_fast_on_a_processor():
    """Of the same attention trial by trial, in CPU seconds of one run; at most so far off a floor
    that counts products alone."""
    record = read(RESULTS / "cpu-attention/attention.json")
    config = read(RESULTS / "cpu-attention/provenance.json")["config"]
    cells = {(cell["T"], cell["m"]): cell for cell in record["cells"]}
    assert set(cells) == set(product(config["lengths"], config["examples"]))
    assert min(cell["attention"]["ratio"] for cell in cells.values()) >= 3
    assert min(cell["step"]["ratio"] for cell in cells.values()) >= 1.5
    for cell in cells.values():
        assert 1 <= cell["over_floor"]["compiled"] <= 5 < cell["over_floor"]["by_trial"]
        assert cell["attention"]["compiled"] < cell["step"]["compiled"]


def test_the_page_has_the_numbers_of_compiled_attention():
    page = (RESULTS.parent / "docs/train.md").read_text(encoding="utf-8")
    record = read(RESULTS / "cpu-attention/attention.json")
    for cell in record["cells"]:
        numbers = [f"{cell['T']} | {cell['m']}"]
        for part in (cell["attention"], cell["step"]):
            numbers += [f"{1e3 * part['by_trial']:.1f} | {1e3 * part['compiled']:.2f}"]
            numbers += [f"{part['ratio']:.1f}"]
        row = " | ".join([*numbers, f"{cell['over_floor']['compiled']:.1f}"])
        assert f"| {row} |\n" in page
    assert f"({record['products_a_second'] / 1e9:.0f} thousand million" in page


def test_the_majority_runs_are_trained_in_minutes():
    """All 50, each to training accuracy 1 or 200,000 epochs, by one run of the laboratory."""
    record = read(RESULTS / "trauger2024-majority/paper/provenance.json")
    how = record["config"]["protocol"]["training"]
    assert how["steps"] == 200_000 * 3 and how["evaluate_every"] == 3
    assert len(trials_of("trauger2024-majority/paper/trials.parquet")["trial"]) == 50
    assert "gpu" in record["machine"] and record["seconds"] <= 300


def test_parity_is_trained_past_the_paper():
    """To T = 50 and for five times the paper's steps, by one run of the laboratory."""
    record, scan = read(RESULTS / PARITY / "provenance.json"), trials_of(f"{PARITY}/scan.parquet")
    how = record["config"]["scan"]["training"]
    assert how["steps"] == 50_000 and how["batch"] == 2048 and "gpu" in record["machine"]
    assert sorted(set(scan["T"])) == [25, 30, 40, 50] and len(scan["T"]) == 40
    assert all(len(curve) * how["evaluate_every"] == how["steps"] for curve in scan["loss"])


def test_the_cells_of_mnist_are_trained_as_printed():
    """Ten subsets a cell of Table 1, both tokenisations, every reading, by one run on a GPU."""
    record = read(RESULTS / "mwigo2026-mnist/paper/provenance.json")
    assert "gpu" in record["machine"]
    trials = trials_of("mwigo2026-mnist/paper/trials.parquet")
    names, kinds = ("tokens", "d_m", "N", "trial"), ("flat", "patches")
    whole = (kinds, (64, 1024, 4096), (400, 1200, 10_000), range(10))
    some = (kinds, (64, 1024), (400, 1200), range(10))
    wanted = {
        "printed": (600, whole), "square": (600, whole), "mini-batches": (300, whole),
        "longer": (6000, some),
    }  # fmt: skip
    assert set(trials["reading"]) == set(wanted)
    for reading, (epochs, axes) in wanted.items():
        chosen = trials["reading"] == reading
        cells = sorted(zip(*(trials[name][chosen].tolist() for name in names), strict=True))
        assert cells == sorted(product(*axes)) and set(trials["epochs"][chosen]) == {epochs}


def test_fast_products_do_not_move_success_rates():
    """The cells of T = 100, trained with float32 products, against the same trials."""
    exact = successes(trials_of("gpu-train/and-ieee.parquet"))
    whole = successes(trials_of(f"{AND}/trials.parquet"))
    fast = {key: whole[key] for key in exact}
    assert len(exact) == 800 and not differ(exact, fast, 1e-3)
    # The same pairs: as often one as the other (the sign test).
    first = sum(exact[key] and not fast[key] for key in exact)
    second = sum(fast[key] and not exact[key] for key in exact)
    assert binomtest(first, first + second).pvalue > 1e-3
    worse = {key: hit and key[2] % 3 > 0 for key, hit in fast.items()}  # a third of them lost
    assert differ(exact, worse, 1e-3)


def test_new_kernels_and_fast_mode_do_not_move_success_rates():
    """The same trials by earlier kernels, new ones and in fast mode; the margin is fast mode's."""
    record = read(RESULTS / "gpu-train/agreement.json")
    assert record["margin"] == 0.05 and record["alpha"] == 0.05
    tables = {"earlier": f"{AND}/trials.parquet", "full": "gpu-train/and.parquet"}
    tables |= {"fast": "gpu-train/and-fast.parquet", "float32": "gpu-train/and-ieee.parquet"}
    hits = {name: successes(trials_of(table)) for name, table in tables.items()}
    assert {name: sum(won.values()) for name, won in hits.items()} == record["successes"]
    for first, other in (("earlier", "full"), ("full", "fast"), ("float32", "full")):
        stated, pair = record[f"{first} and {other}"], (hits[first], hits[other])
        keys = sorted(pair[0])
        assert set(keys) <= set(pair[1]) and len(keys) == (800 if first == "float32" else 8800)
        pairs = DiscordantPairs.of(*([won[key] for key in keys] for won in pair))
        alone = stated["first_alone"], stated["other_alone"]
        assert alone == (pairs.first_alone, pairs.other_alone)
        verdict = pairs.equivalence(0.05)
        assert verdict.equivalent and stated["equivalent"]
        assert stated["interval"] == pytest.approx([verdict.lowest, verdict.highest])
        assert stated["mcnemar_p"] == pytest.approx(pairs.p) and pairs.p > 0.05
        worst = min(at_T["mcnemar_p"] for at_T in stated["by_T"].values())
        assert worst * len(stated["by_T"]) > 0.05
        worse = [hits[other][key] and key[2] % 5 > 0 for key in keys]  # a fifth of them lost
        lost = DiscordantPairs.of([hits[first][key] for key in keys], worse)
        assert lost.p < 0.05 and not lost.equivalence(0.05).equivalent
    listed = {(row["T"], row["m"], row["trial"]) for row in record["full and fast"]["pairs"]}
    assert listed == {key for key, won in hits["full"].items() if won != hits["fast"][key]}
    page = (RESULTS.parent / "docs/train.md").read_text(encoding="utf-8")
    new, fast = record["earlier and full"], record["full and fast"]
    for words in (
        f"{new['first_alone']} succeed by the earlier kernels alone and {new['other_alone']} by",
        f"{fast['first_alone']} succeed in full length alone and {fast['other_alone']} in fast",
        f"([all {len(listed)} pairs]",
        f"{100 * fast['share_of_token_steps']:.1f} % of the token-steps",
    ):
        assert words in page


def test_fast_mode_trains_what_it_does_not_stop_as_before():
    """Where fewer than half of a batch stop, it never shrinks, and sums are the same bits."""
    full, fast = (trials_of(f"gpu-train/{name}.parquet") for name in ("and", "and-fast"))
    assert all((full[name] == fast[name]).all() for name in ("task.T", "task.m", "trial"))
    tokens, steps = full["task.m"] * (full["task.T"] + 1), fast["result.steps"]
    record = read(RESULTS / "gpu-train/agreement.json")["full and fast"]
    share = (tokens @ steps) / (tokens @ full["result.steps"])
    assert share == pytest.approx(record["share_of_token_steps"]) and 0.65 < share < 0.66
    same = full["result.metrics.train_loss"] == fast["result.metrics.train_loss"]
    for T, counts in record["same_last_loss"].items():
        ended = (full["task.T"] == int(T)) & (steps == 1000)
        assert counts == {"trials": ended.sum(), "same": same[ended].sum()}
        assert (counts["same"] == counts["trials"]) == (ended.sum() > 400)


def test_a_processor_and_a_gpu_have_the_same_success_rates():
    """The same keys: data, first weights and masks are the same, and only rounding differs."""
    processor = successes(trials_of("cpu-train/and-cells.parquet"))
    whole = successes(trials_of(f"{AND}/trials.parquet"))
    gpu = {key: whole[key] for key in processor}
    assert len(processor) >= 40 and not differ(processor, gpu, 1e-3)
    agree = sum(processor[key] == gpu[key] for key in processor)
    assert agree / len(processor) > 0.8  # by chance: about a half


def test_there_are_records():
    assert len(RECORDS) >= 3

"""What stands out in a checkpoint is found where it was put."""

from __future__ import annotations

import math

import numpy as np
import pytest

import checkpoints
import dudley as du
from dudley.show.as_text import text
from dudley.show.pages.measurement import summary
from dudley.weights.judgement import apart, judged, record_of
from each import each

Q = "encoder.layer.1.attention.self.query.weight"


def measured(folder, change=None, made=None, **options) -> du.Measurement:
    config, tensors = (made or checkpoints.bert())[:2]
    tensors = dict(tensors)
    if change is not None:
        tensors[Q] = change(tensors[Q])
    return du.measure(checkpoints.write(folder, config, tensors), **options)


def test_a_large_matrix_is_named(tmp_path):
    judgement = judged(measured(tmp_path, lambda W: 100 * W))
    assert judgement is not None
    assert judgement.largest["fro"].place == judgement.largest["row2inf"].place == "W_Q of layer 1"
    assert judgement.largest["op"].place.startswith("W_QK of layer 1, head ")


def test_a_matrix_of_low_rank_is_named(tmp_path):
    judgement = judged(measured(tmp_path, lambda W: np.outer(W[:, 0], W[0])))
    assert judgement is not None
    least, median, most = judgement.ranks
    assert "layer 1" in least.place and least.value == pytest.approx(1, rel=1e-3)
    assert least.full == 8
    assert least.share <= median.share <= most.share <= 1.001


def test_slopes_are_those_of_the_described_network(tmp_path):
    """A hundred times the query's weights: the attention's slope grows, and no other."""
    before, after = (judged(measured(tmp_path / str(k), lambda W, k=k: k * W)) for k in (1, 100))
    assert before is not None and before.slopes is not None
    assert after is not None and after.slopes is not None
    assert before.slopes.steepest == "LayerNorm" and before.slopes.assumed == {}
    grown = {
        kind: after.slopes.by_kind[kind] - before.slopes.by_kind[kind]
        for kind in after.slopes.by_kind
    }
    assert 0.5 < grown.pop("MultiHeadAttention") < 2.1
    assert all(abs(more) < 1e-9 for more in grown.values())
    assert after.slopes.log10 == pytest.approx(sum(after.slopes.by_kind.values()))
    assert before.slopes.sensitive.place == "W_E"


@each("name, assumed", [("gpt2", {}), ("vit", {"X.row2inf": 1.0}), ("llama", {})])
def test_what_no_file_says_is_assumed_and_said(tmp_path, name, assumed):
    judgement = judged(measured(tmp_path, made=getattr(checkpoints, name)()))
    assert judgement is not None and judgement.slopes is not None
    assert judgement.slopes.assumed == assumed


def test_a_network_that_cannot_be_described_is_said_to_be_none(tmp_path):
    config, tensors = checkpoints.bert()[:2]
    m = measured(tmp_path, made=({**config, "residual_multiplier": 0.5}, tensors))
    record = record_of(m)
    assert (
        record is not None
        and record["slopes"] is None
        and "residual_multiplier" in record["refused"]
    )
    assert "\nno bound " in text(summary(m))


def test_what_moved_is_measured_from_the_start(tmp_path):
    start = measured(tmp_path / "start").source
    m = measured(tmp_path / "end", lambda W: W + np.outer(W[:, 0], W[0]), init=start)
    judgement = judged(m)
    assert judgement is not None and judgement.moved is not None
    moved = judgement.moved
    assert (moved.most.place, moved.median, moved.least.value) == ("W_Q of layer 1", 0.0, 0.0)
    row = m.row("W_Q", 1)
    assert row.distance is not None
    assert moved.most.value == row.distance["fro"] / row.norms["fro"]
    assert moved.stable_rank == pytest.approx(1, rel=1e-3)


def test_a_sibling_is_compared_where_it_is_farthest(tmp_path):
    m = measured(tmp_path / "m", lambda W: 50 * W)
    sibling = measured(tmp_path / "sibling")
    far = apart(m, sibling)
    assert far is not None and far.place == "W_Q of layer 1"
    assert far.value == pytest.approx(50, rel=1e-3)
    back = apart(sibling, m)
    assert back is not None and math.isclose(far.value * back.value, 1, rel_tol=1e-9)
    shown = text(summary(m, sibling=sibling))
    assert "\nfarthest apart       op of W_Q of layer 1: 50 times the sibling's" in shown


def test_the_first_screen_is_ten_lines():
    lines = str(du.measure("tiny-bert")).split("\n")
    assert lines[0].startswith("tiny-bert: ") and lines[1].startswith("largest op ")
    assert 6 <= lines.index("") <= 10
    assert (
        text(summary(du.measure("tiny-bert"))).split("\n")[: lines.index("")]
        == lines[: lines.index("")]
    )

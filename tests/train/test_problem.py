"""A problem: what a trial is given does not depend on its neighbours, nor on how it is packed."""

from __future__ import annotations

import pytest
import torch

import training_toy as toy
from dudley.core.errors import InputError
from dudley.core.philox import Stream, keys_tensor, permutations
from dudley.train import problem as module
from dudley.train.ensemble.rows import Padded, Shared, of_members
from dudley.train.packed import unpack
from dudley.train.problem import Examples, Problem, trial_key
from dudley.train.tasks.planted import Planted
from dudley.train.tasks.registry import task_of

WIDE = {"T": 64, "m": 10}  # rows of 64 random bits are distinct


def step(number: int) -> torch.Tensor:
    return torch.tensor(number)


def rows_of(data: Examples, e: int) -> list[tuple[int, ...]]:
    """The examples of a trial that count."""
    assert isinstance(data.inputs, Padded)
    return [tuple(row) for row in data.inputs.rows[e][data.weights[e] > 0].tolist()]


def held_out(problem: Problem, e: int, split: str = "holdout") -> torch.Tensor:
    inputs = problem.split(split).inputs
    assert isinstance(inputs, Shared)
    return inputs.rows[inputs.cell[e]]


def test_a_sample_is_padded_and_weights_are_of_its_own_examples():
    sizes = (7, 24, 16, 7)
    data = toy.problem(sizes).sample
    assert data.labels.shape == (4, 24) and data.inputs.counts.tolist() == list(sizes)
    for e, m in enumerate(sizes):
        assert data.weights[e].tolist() == pytest.approx([1 / m] * m + [0.0] * (24 - m))
        assert data.inputs.rows[e, m:].eq(0).all()


def test_the_data_of_a_trial_do_not_depend_on_its_neighbours():
    together = toy.problem((16, 24, 24, 10), task={"noise": 0.2, "holdout_noise": True})
    for e, m in enumerate((16, 24, 24, 10)):
        alone = Problem(together.configs[e : e + 1])
        assert alone.keys[0].equal(together.keys[e])
        assert alone.sample.inputs.rows[0].equal(together.sample.inputs.rows[e, :m])
        assert alone.sample.labels[0].equal(together.sample.labels[e, :m])
        for split in ("holdout", "validation", "test"):
            assert held_out(alone, 0, split).equal(held_out(together, e, split))
            assert alone.split(split).labels[0].equal(together.split(split).labels[e])
        for name, W in together.ensemble.start(together.keys).items():
            assert alone.ensemble.start(alone.keys)[name][0].equal(W[e])


def test_functions_of_planted_bits_go_together_as_they_would_alone():
    planted = ({"name": "or"}, {"name": "majority", "s": 5}, {"name": "threshold", "s": 4, "k": 2})
    together = Problem([toy.config(t, 0, task) for t, task in enumerate(planted)])
    for e, config in enumerate(together.configs):
        alone = Problem([config])
        assert alone.sample.inputs.rows[0].equal(together.sample.inputs.rows[e])
        assert alone.sample.labels[0].equal(together.sample.labels[e])
        assert alone.split("holdout").labels[0].equal(together.split("holdout").labels[e])
        assert held_out(alone, 0).equal(held_out(together, e))
    assert len({row.sum().item() for row in together.split("holdout").labels}) == 3


def test_cells_that_differ_in_m_alone_are_drawn_at_once(monkeypatch):
    """A draw is hundreds of small operations, and a GPU starts each of them."""
    draws, drawn = [], Planted.sample
    monkeypatch.setattr(
        Planted, "sample", lambda task, keys: draws.append(task) or drawn(task, keys)
    )
    of_two = [
        toy.config(t, 0, {"m": m, "s": s}) for m in (8, 24, 16) for s in (2, 1) for t in (0, 1)
    ]
    problem = Problem(of_two)
    assert problem.sample.inputs.counts.tolist() == [8] * 4 + [24] * 4 + [16] * 4
    assert [(task.m, task.s) for task in draws] == [(24, 2), (24, 1)]
    for e in range(12):
        alone = Problem(of_two[e : e + 1])
        assert rows_of(problem.sample, e) == rows_of(alone.sample, 0)
        assert held_out(problem, e).equal(held_out(alone, 0))
        labels = problem.split("holdout").labels
        assert labels[e].equal(alone.split("holdout").labels[0])


def test_held_out_inputs_are_those_of_the_cell():
    configs = [toy.config(t, seed, {"m": m}) for seed in (0, 1) for m in (16, 24) for t in (0, 1)]
    problem = Problem(configs)
    turned = Problem([configs[e] for e in (5, 0, 3, 1, 7, 4, 2, 6)])
    for e, f in zip((5, 0, 3, 1, 7, 4, 2, 6), range(8), strict=True):
        assert held_out(problem, e).equal(held_out(turned, f))
        assert problem.split("holdout").labels[e].equal(turned.split("holdout").labels[f])
    cells = [held_out(problem, e) for e in range(8)]
    for e in (0, 2, 4, 6):  # trials of a cell share, cells of other m or seed do not
        assert cells[e].equal(cells[e + 1])
        assert not any(cells[e].equal(cells[f]) for f in (0, 2, 4, 6) if f != e)
    assert not held_out(problem, 0, "test").equal(held_out(problem, 0, "holdout"))


def test_held_out_labels_are_the_trials_function_of_the_shared_bits():
    problem = toy.problem((24, 24))
    task = task_of(problem.configs[0]["task"])
    for e in range(2):
        bits = unpack(held_out(problem, e), 12, torch.bool)
        hidden = task.indices(problem.keys[e : e + 1])[0]  # pyright: ignore[reportAttributeAccessIssue]
        assert problem.split("holdout").labels[e].equal(bits[:, hidden].all(1).long())


def test_a_key_is_of_all_but_the_training():
    here, there = toy.config(3), toy.config(3, steps=99)
    assert trial_key(here) == trial_key(there)
    others = [
        toy.config(4),
        toy.config(3, 1),
        toy.config(3, task={"m": 25}),
        toy.config(3, model={"H": 1}),
    ]
    assert len({trial_key(one) for one in (here, *others)}) == 5


@pytest.mark.parametrize("B", [3, 4, 5, 10, 12])
def test_the_batches_of_an_epoch_visit_every_example_once(B: int):
    problem = toy.problem((10, 10), task=WIDE, batch=B)
    count = -(-10 // B)
    assert problem.steps_of_epoch == count
    orders = []
    for epoch in range(3):
        batches = [problem.batch(step(epoch * count + i)) for i in range(count)]
        for e in range(2):
            seen = [row for data in batches for row in rows_of(data, e)]
            assert sorted(seen) == sorted(rows_of(problem.sample, e))
            orders.append(seen)
        for i, data in enumerate(batches):
            here = min(B, 10 - i * B)
            assert data.weights.sum(1).tolist() == pytest.approx([1.0, 1.0])
            assert data.inputs.counts.tolist() == (data.weights > 0).sum(1).tolist() == [here] * 2
            assert data.inputs.rows.shape[1] == B
    assert len({tuple(order) for order in orders}) == 6
    places = [
        tuple(rows_of(problem.sample, e).index(row) for row in order)
        for e, order in zip([0, 1] * 3, orders, strict=True)
    ]
    assert len(set(places)) == 6, "orders differ by epoch and by trial"


@pytest.mark.parametrize("room", [1, 1 << 22])
def test_orders_do_not_depend_on_where_drawing_ahead_began(room: int, monkeypatch):
    monkeypatch.setattr(module, "ROOM", room)
    toy_problem = toy.problem(
        (10, 10), task=WIDE, batch=4, evaluate_every=7
    )  # three batches an epoch
    expected = permutations(toy_problem.keys, Stream.ORDER, 200, 10)
    for first in (0, 3, 189, 196, 385, 599, 602):  # epochs 0, 1, 63, 65, 128, 199, 200
        fresh = Problem(toy_problem.configs)
        for problem in (toy_problem, fresh):
            problem.refresh(first, 7)
        for i in range(first, first + 7):
            ahead, other = toy_problem.batch(step(i)), fresh.batch(step(i))
            assert ahead.inputs.rows.equal(other.inputs.rows) and ahead.labels.equal(other.labels)
    rows = [row for i in range(600, 603) for row in rows_of(toy_problem.batch(step(i)), 1)]
    assert rows == [rows_of(toy_problem.sample, 1)[index] for index in expected[1]]


def test_labels_go_with_their_inputs_in_every_batch():
    problem = toy.problem((10, 10), task=WIDE, batch=4)
    for i in range(6):
        data = problem.batch(step(i))
        for e in range(2):
            known = dict(
                zip(rows_of(problem.sample, e), problem.sample.labels[e].tolist(), strict=True)
            )
            labels = data.labels[e][data.weights[e] > 0].tolist()
            assert [known[row] for row in rows_of(data, e)] == labels


def test_batches_do_not_depend_on_neighbours():
    problem = toy.problem((10, 10, 10), task=WIDE, batch=4)
    alone = Problem(problem.configs[2:])
    for i in (0, 2, 5):
        together, apart = problem.batch(step(i)), alone.batch(step(i))
        assert apart.inputs.rows[0].equal(together.inputs.rows[2])
        assert apart.labels[0].equal(together.labels[2])


def test_online_batches_are_fresh_and_a_function_of_trial_and_step():
    problem = toy.problem((10, 10), task=WIDE, batch=6, online=True)
    seen = [row for i in range(4) for e in range(2) for row in rows_of(problem.batch(step(i)), e)]
    assert len(set(seen)) == len(seen) == 4 * 2 * 6
    assert not set(seen) & set(rows_of(problem.sample, 0)), "nor are they the sample"
    data = problem.batch(step(3))
    assert data.weights.tolist() == [[pytest.approx(1 / 6)] * 6] * 2
    apart = Problem(problem.configs[1:]).batch(step(3))
    assert apart.inputs.rows[0].equal(data.inputs.rows[1]) and apart.labels[0].equal(data.labels[1])


def test_online_trials_of_several_seeds_go_together():
    configs = [toy.config(0, seed, batch=6, online=True) for seed in (0, 1)]
    data = Problem(configs).batch(step(2))
    assert data.inputs.rows[1].equal(Problem(configs[1:]).batch(step(2)).inputs.rows[0])


def test_sequences_are_held_out_trial_by_trial():
    task = {"name": "masked-tokens", "V": 5, "T": 8, "lag": 3, "holdout": 20}
    configs = [
        toy.config(t) | {"task": task | {"m": m}, "model": {"name": "layers", "d": 4, "L": 1}}
        for t in (0, 1)
        for m in (3, 6)
    ]
    problem = Problem(configs)
    data = problem.split("holdout")
    read = of_members(data.inputs, 3, 4)  # as ensembles read them
    assert problem.sample.labels.shape == (4, 6, 8)
    for e, config in enumerate(configs):
        drawn = task_of(config["task"]).held_out(problem.keys[e : e + 1])
        assert read[e].equal(drawn.inputs[0]) and data.labels[e].equal(drawn.labels[0])


def test_all_are_tested_on_the_same_images():
    configs = [
        toy.config(t)
        | {
            "task": {"name": "mnist01", "m": m},
            "model": {"name": "shallow-encoder", "d": 64, "d_m": 4},
        }
        for m, t in ((20, 0), (30, 1))
    ]
    problem = Problem(configs)
    assert problem.sample.inputs.rows.shape == (2, 30, 13, 64)
    assert held_out(problem, 0).equal(held_out(problem, 1))
    with pytest.raises(InputError, match="split of mnist01"):
        problem.split("test")


def test_which_weights_decay():
    decayed = toy.problem().decayed
    assert decayed["weights.2.0.1.W_Q"] and decayed["weights.4.W"]
    assert not any(decayed[f"weights.{n}"] for n in ("1.P", "0.W_E", "2.0.0.gain", "2.0.1.b_Q"))
    assert all(toy.problem(decay_all=True).decayed.values())


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ([], "trials of a problem"),
        ([toy.config(), toy.config(1, steps=3)], "training of trials in one batch"),
        ([toy.config(), toy.config(1, model={"H": 1})], "model of trials in one batch"),
        ([toy.config(), toy.config(1, task={"T": 13})], "task of trials in one batch"),
        ([toy.config(), toy.config(1, task={"p": 0.25})], "task of trials in one batch"),
    ],
)
def test_what_cannot_go_together_is_refused(configs: list, message: str):
    with pytest.raises(InputError, match=message):
        Problem(configs)


def test_batches_of_trials_of_several_sizes_are_refused():
    with pytest.raises(InputError, match="one number of examples"):
        toy.problem((10, 12), batch=4).batch(step(0))


def test_online_training_of_a_finite_set_is_refused():
    config = toy.config(batch=4, online=True) | {
        "task": {"name": "mnist01", "m": 20},
        "model": {"name": "shallow-encoder", "d": 64, "d_m": 4},
    }
    with pytest.raises(InputError, match="one task that can draw for ever"):
        Problem([config]).batch(step(0))


def test_the_streams_of_splits_are_apart():
    keys = keys_tensor([trial_key(toy.config())])
    task = task_of(toy.config(task={"T": 64, "holdout": 50})["task"])
    drawn = [task.held_out(keys, stream=s).inputs for s in (Stream.HOLDOUT, Stream.TEST)]
    assert not drawn[0].eq(drawn[1]).all(-1).any()

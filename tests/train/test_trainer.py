"""The trainer: the trajectories of ordinary trainings, the rules, and what it hands over."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import training_toy as toy
from dudley.core.errors import DudleyError, UnknownName
from dudley.train import trainer as module
from dudley.train.packed import unpack
from dudley.train.problem import Problem
from dudley.train.state import State
from dudley.train.trainer import Memory, Pace, Trainer

STILL = {"dropout": [0.0, 0.0, 0.0]}
CLIPPED = {"name": "clipped", "limit": 0.5, "optimiser": {"name": "adamw", "weight_decay": 0.1}}


def curve(sink: Memory, metric: str) -> np.ndarray:
    """(evaluations, E)"""
    return np.array([point[metric] for _, point in sink.points])


def steps_of(sink: Memory) -> list[int]:
    return [step for step, _ in sink.points]


def test_a_training_is_torchs_of_the_twin_on_the_same_data():
    """Of several sizes in one batch; clipped AdamW with decay on matrices; a schedule."""
    schedule = {"name": "exponential", "factor": 0.5, "every": 4}
    how = {"optimiser": CLIPPED, "schedule": schedule, "steps": 12}
    problem = toy.problem((10, 24, 16), model=STILL, **how)
    trainer, results, _ = toy.train(problem)
    first = trainer.whole.first
    for e, m in enumerate((10, 24, 16)):
        twin = problem.ensemble.member(first, e)
        decayed, others = twin.decayed()  # pyright: ignore[reportCallIssue]
        adam = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
            lr=1e-3,
        )
        slower = torch.optim.lr_scheduler.StepLR(adam, 4, 0.5)
        X = twin.tokens(unpack(problem.sample.inputs.rows[e, :m], 12, torch.float32))  # pyright: ignore
        loss = torch.tensor(0.0)
        for _ in range(12):
            loss = torch.nn.functional.cross_entropy(twin(X)[:, 0], problem.sample.labels[e, :m])
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(twin.parameters(), 0.5)
            adam.step()
            slower.step()
        assert results[e]["metrics"]["loss"] == pytest.approx(loss.item(), abs=1e-5)
        for name, W in twin.named_parameters():
            torch.testing.assert_close(trainer.whole.weights[name][e], W, rtol=0, atol=2e-6)
        assert (twin.weights[4].W - first["weights.4.W"][e]).abs().max() > 1e-3  # pyright: ignore


@pytest.mark.parametrize("model", [STILL, {}], ids=["still", "dropout"])
def test_padding_and_neighbours_change_nothing(model: dict):
    """Each trial of a mixed batch takes the way that it takes alone."""
    how = {"optimiser": {"name": "sgd", "lr": 0.1}, "steps": 12, "evaluate_every": 3}
    together, results, sink = toy.train(toy.problem((7, 24, 16), model=model, **how))
    for e in range(3):
        alone, results_alone, points = toy.train(Problem(together.problem.configs[e : e + 1]))
        for name, W in alone.whole.weights.items():
            torch.testing.assert_close(together.whole.weights[name][e], W[0], rtol=0, atol=1e-6)
        for metric in ("loss", "train_loss", "holdout_loss", "holdout_accuracy"):
            np.testing.assert_allclose(
                curve(sink, metric)[:, e], curve(points, metric)[:, 0], rtol=0, atol=1e-6
            )
        assert results_alone[0]["steps"] == results[e]["steps"] == 12


def test_majorities_of_several_lengths_and_sizes_change_nothing_for_each_other():
    model = {"name": "majority-classifier", "d": 8, "k": 4, "width": 8}
    how = {"optimiser": {"name": "sgd", "lr": 0.05}, "loss": "binary-cross-entropy"}
    configs = [
        toy.config(T, task={"name": "majority", "T": T, "s": 3, "m": m}, **how) | {"model": model}
        for T, m in ((20, 24), (70, 10), (33, 24))
    ]
    together, _, sink = toy.train(Problem(configs))
    for e in range(3):
        alone, _, points = toy.train(Problem(configs[e : e + 1]))
        for name, W in alone.whole.weights.items():
            torch.testing.assert_close(together.whole.weights[name][e], W[0], rtol=0, atol=1e-6)
        for metric in sink.points[0][1]:
            np.testing.assert_allclose(
                curve(sink, metric)[:, e], curve(points, metric)[:, 0], rtol=0, atol=1e-6
            )


def test_dropout_is_there_and_another_at_every_step():
    losses = []
    for model in (STILL, {}):
        how = {"optimiser": {"name": "gd", "lr": 0.0}, "steps": 6, "evaluate_every": 1}
        losses.append(curve(toy.train(toy.problem(model=model, **how))[2], "loss"))
    assert np.ptp(losses[0], axis=0).max() < 1e-6, "nothing moves at rate 0"
    assert (np.ptp(losses[1], axis=0) > 1e-4).all()


def test_evaluations_come_every_so_often_and_at_the_last_step():
    assert steps_of(toy.train(toy.problem(steps=7, evaluate_every=5))[2]) == [5, 7]
    assert steps_of(toy.train(toy.problem(steps=6, evaluate_every=3))[2]) == [3, 6]
    assert steps_of(toy.train(toy.problem(steps=2, evaluate_every=5))[2]) == [2]


def test_how_often_the_sink_is_told_changes_nothing():
    how = {"steps": 150, "evaluate_every": 1, "evaluate": ["holdout"], "model": STILL}
    often, results, sink = toy.train(toy.problem((16,), **how))
    seldom = Memory()
    assert Trainer(often.problem, seldom, Pace(append=1e9, checkpoint=1e9)).run() == results
    assert steps_of(seldom) == steps_of(sink) == list(range(1, 151))
    for metric in ("loss", "holdout_loss"):
        assert (curve(seldom, metric) == curve(sink, metric)).all()
        assert len(np.unique(curve(sink, metric))) > 100


def test_results_are_of_the_last_evaluation_with_the_best_of_all():
    _, results, sink = toy.train(
        toy.problem(steps=20, evaluate_every=1, evaluate=["train", "test"])
    )
    assert json.loads(json.dumps(results)) == results
    for e, result in enumerate(results):
        assert result["steps"] == 20 and result["metrics"].keys() == sink.points[0][1].keys()
        for name, value in result["metrics"].items():
            assert value == curve(sink, name)[-1, e]
        assert result["extremes"] == {
            name: (np.max if "accuracy" in name else np.min)(curve(sink, name)[:, e])
            for name in ("train_loss", "train_accuracy", "test_loss", "test_accuracy")
        }
    losses = curve(sink, "test_loss")
    assert (losses.argmin(0) < 19).any(), "the best is not the last throughout"


def test_the_best_before_a_trial_diverges_stays():
    how = {
        "optimiser": {"name": "gd", "lr": 1e6},
        "steps": 12,
        "evaluate_every": 1,
        "loss": "square",
    }
    task = {"name": "matrices", "T": 4, "d": 4, "m": 8, "holdout": 10}
    parts = {"task": task, "model": {"name": "shallow-encoder", "d": 4, "d_m": 8}}
    _, (result,), sink = toy.train(Problem([toy.config(**how) | parts]))
    losses = curve(sink, "train_loss")[:, 0]
    assert not np.isfinite(losses[-1]), "it did not diverge"
    assert result["extremes"]["train_loss"] == np.nanmin(losses)


LAST = 34
# Before half of the examples are fitted: later, rounding grows tenfold every few steps.
RULED = {
    "optimiser": {"name": "adam", "lr": 0.006},
    "steps": LAST,
    "evaluate_every": 2,
    "stop": {"metric": "train_loss", "at_most": 0.55},
    "keep": [{"metric": "holdout_loss"}, {"metric": "holdout_accuracy"}],
    "measures": ["l1"],
}
SIZES = (16, 16, 24, 24, 16, 24)


@pytest.fixture(scope="module")
def free(tmp_path_factory) -> tuple[Trainer, list[dict], Memory]:
    """Without a rule: what the rules are judged by."""
    how = {name: value for name, value in RULED.items() if name not in ("stop", "keep")}
    return toy.train(toy.problem(SIZES, **how), tmp_path_factory.mktemp("free"))


@pytest.fixture(scope="module")
def ruled(tmp_path_factory) -> tuple[Trainer, list[dict], toy.Snapshots]:
    """With looks at who is alive at every evaluation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(module.CHECK, "cpu", 1)
        folder = tmp_path_factory.mktemp("ruled")
        trainer, results, sink = toy.train(toy.problem(SIZES, **RULED), folder)
    assert isinstance(sink, toy.Snapshots)
    return trainer, results, sink


def ends(sink: Memory) -> list[int]:
    """The first evaluation where the rule is met, or the last."""
    met = curve(sink, "train_loss") <= 0.55
    met[-1] = True
    return [steps_of(sink)[i] for i in met.argmax(0)]


def test_a_trial_stops_at_the_first_evaluation_that_meets_the_rule(free, ruled):
    _, results, sink = ruled
    assert [result["steps"] for result in results] == ends(free[2])
    assert len(set(ends(free[2]))) > 3 and LAST in ends(free[2]), "the toy is too plain a case"
    for e, end in enumerate(ends(free[2])):
        here = steps_of(sink).index(end)
        for metric in ("train_loss", "holdout_loss", "holdout_accuracy", "l1", "loss"):
            then = curve(free[2], metric)[here, e]
            assert results[e]["metrics"][metric] == pytest.approx(then, rel=1e-5, abs=1e-5)
            assert (curve(sink, metric)[here:, e] == curve(sink, metric)[here, e]).all()


def test_a_trial_that_stopped_stays_bit_by_bit(ruled):
    trainer, results, sink = ruled
    stopped = [e for e, result in enumerate(results) if result["steps"] < LAST]
    assert len(stopped) >= 3
    for e in stopped:
        then = dict(sink.state(results[e]["steps"]).tensors())
        for name, W in trainer.whole.tensors():
            assert W[e].equal(then[name][e]), name
        before = sink.state(results[e]["steps"] - 2).weights
        assert not before["weights.4.W"][e].equal(then["weights/weights.4.W"][e])


def test_finished_trials_leave_the_device_at_half(ruled):
    _, results, sink = ruled
    sizes = [len(State.load(sink.files[step], "cpu")[1]) for step in steps_of(sink)]
    here = 6
    for step, size in zip(steps_of(sink), sizes, strict=True):
        left = sum(result["steps"] > step for result in results) if step < LAST else size
        here = left if 2 * left <= here else here
        assert size == here, step
    assert len(set(sizes)) >= 2, "nobody left"


def test_leaving_changes_nothing(ruled, monkeypatch):
    monkeypatch.setattr(Trainer, "_thin_out", lambda self: None)
    _, whole, _ = toy.train(toy.problem(SIZES, **RULED))
    for W_ruled, other in zip(ruled[1], whole, strict=True):
        assert W_ruled["steps"] == other["steps"] and W_ruled.keys() == other.keys()
        for group in set(W_ruled) - {"steps"}:
            assert W_ruled[group] == pytest.approx(other[group], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("looks", [1, 3])
def test_where_all_are_finished_the_training_ends_at_the_next_look(
    looks: int, monkeypatch, tmp_path: Path
):
    monkeypatch.setitem(module.CHECK, "cpu", looks)
    stop = {"metric": "train_loss", "at_most": 100.0}
    problem = toy.problem(stop=stop, keep=[{"metric": "loss"}], final=["test"])
    _, results, sink = toy.train(problem, tmp_path)
    assert (
        steps_of(sink) == [5, 10, 15][:looks] and [result["steps"] for result in results] == [5] * 3
    )
    assert [result["at best loss"]["step"] for result in results] == [5] * 3
    ended = toy.Snapshots(folder=tmp_path, first=5 * looks)  # killed before it could tell
    assert Trainer(Problem(problem.configs), ended).run() == results and not ended.points


def test_weights_are_kept_where_a_metric_was_best(ruled):
    trainer, results, sink = ruled
    for metric, best in (("holdout_loss", np.argmin), ("holdout_accuracy", np.argmax)):
        at = [steps_of(sink)[i] for i in best(curve(sink, metric), axis=0)]
        for e, step in enumerate(at):
            at_best = results[e][f"at best {metric}"]
            assert at_best["step"] == step
            assert at_best[metric] == pytest.approx(results[e]["extremes"][metric], abs=1e-5)
            then = sink.state(step).weights
            for name, W in then.items():
                assert trainer.period.best_weights(trainer.whole, metric)[name][e].equal(W[e])
            here = steps_of(sink).index(step)
            assert at_best["l1"] == pytest.approx(curve(sink, "l1")[here, e], rel=1e-6)
        assert any(step < result["steps"] for step, result in zip(at, results, strict=True))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"stop": {"metric": "holdout_acuracy", "at_least": 1.0}}, "did you mean holdout_accuracy"),
        ({"stop": {"metric": "test_accuracy", "at_least": 1.0}}, "unknown metric 'test_accuracy'"),
        ({"keep": [{"metric": "holdout_los"}]}, "did you mean holdout_loss"),
        ({"keep": [{"metric": "l1"}]}, "unknown metric 'l1'"),
        ({"measures": ["l2"]}, "unknown measure 'l2'"),
    ],
)
def test_a_misspelt_metric_is_refused_before_the_first_step(how: dict, message: str):
    with pytest.raises(UnknownName, match=message):
        Trainer(toy.problem(**how), Memory())
    Trainer(toy.problem(keep=[{"metric": "l1"}], measures=["l1"]), Memory())


def test_a_split_that_is_not_there_is_refused_before_the_first_step():
    online = toy.config(task={"m": None}, online=True, batch=8)
    with pytest.raises(DudleyError, match="m of the task and"):
        Trainer(Problem([online]), Memory())
    online["training"] |= {"evaluate": ["holdout"], "steps": 3}
    assert len(toy.train(Problem([online]))[1]) == 1


def test_final_splits_are_looked_at_once_with_the_last_weights_and_those_kept():
    rules = {"evaluate": ["holdout"], "final": ["test"], "keep": [{"metric": "holdout_loss"}]}
    trainer, results, sink = toy.train(toy.problem(**rules))
    assert not any("test_loss" in point for _, point in sink.points)
    whole, data = trainer.whole, trainer.problem.split("test")
    best = trainer.period.best_weights(whole, "holdout_loss")
    for group, weights in (("final", whole.weights), ("at best holdout_loss", best)):
        outputs = trainer.problem.ensemble.evaluate(weights, data.inputs).detach()
        for e, result in enumerate(results):
            loss = torch.nn.functional.cross_entropy(outputs[e], data.labels[e])
            assert result[group]["test_loss"] == pytest.approx(loss.item(), abs=1e-6)
            right = (outputs[e].argmax(-1) == data.labels[e]).double().mean()
            assert result[group]["test_accuracy"] == pytest.approx(right.item())
    images = {
        "task": {"name": "mnist01", "m": 4},
        "model": {"name": "shallow-encoder", "d": 64, "d_m": 2},
    }
    with pytest.raises(DudleyError, match="split of mnist01"):
        Trainer(Problem([toy.config(loss="logistic", final=["test"]) | images]), Memory())


def test_a_sink_that_asks_to_stop_is_obeyed_at_the_next_evaluation(tmp_path: Path):
    class Asks(toy.Snapshots):
        def should_stop(self) -> bool:
            return True

    sink = Asks(folder=tmp_path)
    assert Trainer(toy.problem(), sink, Pace()).run() is None
    assert steps_of(sink) == [5] and list(sink.files) == [5]


@pytest.mark.parametrize("batch", [None, 7])
@pytest.mark.parametrize("rules", [{}, RULED], ids=["plain", "ruled"])
def test_gone_on_with_from_any_checkpoint_it_ends_bit_by_bit_the_same(
    tmp_path: Path, rules: dict, batch: int | None, monkeypatch
):
    monkeypatch.setitem(module.CHECK, "cpu", 2)
    clipped = {"name": "clipped", "limit": 0.5, "optimiser": RULED["optimiser"]}
    how = {"steps": 13, "evaluate_every": 4} | rules | {"optimiser": clipped, "batch": batch}
    problem = toy.problem((16,) * 6 if batch else SIZES, **how)
    whole, results, sink = toy.train(problem, tmp_path)
    assert isinstance(sink, toy.Snapshots)
    for step in list(sink.files)[:: 5 if rules else 1]:
        again = toy.Snapshots(folder=tmp_path, first=step)
        resumed = Trainer(Problem(problem.configs), again)
        assert json.dumps(resumed.run(), sort_keys=True) == json.dumps(results, sort_keys=True)
        assert steps_of(again) == [s for s in steps_of(sink) if s > step]
        for at, metrics in again.points:
            then = dict(sink.points)[at]
            assert metrics.keys() == then.keys()
            assert all((metrics[name] == then[name]).all() for name in then)
        for (name, W), (_, W_whole) in zip(
            resumed.whole.tensors(), whole.whole.tensors(), strict=True
        ):
            assert W.equal(W_whole), name


def test_some_evaluations_become_points_and_all_are_looked_at(free):
    """Curves get thinner; results stay."""
    how = {name: value for name, value in RULED.items() if name not in ("stop", "keep")}
    _, results, sink = toy.train(toy.problem(SIZES, points_every=4, **how))
    steps = [step for step in steps_of(free[2]) if step % 8 == 0 or step == LAST]
    assert steps_of(sink) == steps and len(steps) > 3
    assert results == free[1]

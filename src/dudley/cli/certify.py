"""``dudley certify`` and ``dudley verify``: bounds on a model's error that others can recompute."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dudley.cli.output import paragraph, print_json
from dudley.core.errors import InputError
from dudley.core.rounding import ceiling, floor

if TYPE_CHECKING:
    from dudley.certify.auto import Ranking
    from dudley.certify.certificate import Certificate

certify_app = typer.Typer(
    help="Upper bounds on the error of one model.", no_args_is_help=True, rich_markup_mode=None
)
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
Delta = Annotated[float, typer.Option(help="The bound fails with at most this probability.")]
Out = Annotated[Path | None, typer.Option(help="The certificate file to write (.json).")]
MODEL, TRAIN, CERTIFICATE = "model.safetensors", "train.npz", "certificate.json"
DOCUMENTS = "documents.npz"  # of a language model
MNIST = "mnist01"
Declare = Annotated[
    list[str] | None,
    typer.Option("--declare", help="method.name=value, fixed before the data; value in JSON."),
]


@certify_app.command("model")
def certify_model(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A model file (.safetensors), a folder that certify train wrote, or an example.",
        ),
    ],
    train: Annotated[
        Path | None, typer.Option(help="The training set (.npz or .parquet: X, y).")
    ] = None,
    holdout: Annotated[
        Path | None, typer.Option(help="Examples that no choice has seen (.npz or .parquet).")
    ] = None,
    method: Annotated[
        str,
        typer.Option(help="hold-out, norm-cover, occam, pac-bayes, several with commas, or auto."),
    ] = "auto",
    network: Annotated[
        Path | None, typer.Option(help="The network file, for weights without a header.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help='Of the inputs, JSON: {"name": "bits", "T": 32}.')
    ] = None,
    delta: Delta = 0.05,
    declare: Declare = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Bound the error of a model, and write a certificate that others can verify.

    With --method auto and --out, weights that no short code describes are also compressed on the
    training data; what comes out is written beside the certificate, with one of its own.

    Example: dudley certify model sparse-and --method auto
    """
    from dudley.certify import files
    from dudley.certify.run import AUTO, certify, examples
    from dudley.report.files import expect_place, written

    if out is not None:
        expect_place(out, (".json",))
    told = declarations(declare)
    if (network is None) != (encoding is None):
        raise InputError("weights without a header", "--network and --encoding", "one of them")
    path, train = within(path, MODEL), train or beside(path, TRAIN)
    if network is None or encoding is None:
        model = files.load(path)
    else:
        model = files.described(path, network, parsed(encoding, "--encoding"))
        if out is not None:
            path = out.with_suffix(".model.safetensors")
            with written(path) as file:
                model.save(file)
    known = examples(train)
    ranking = certify(model, known, holdout, method, delta, told)
    data = holdout if ranking.best.method == "hold-out" else train
    print_ranking(ranking, out, f"dudley verify {out} --model {path} --data {data}", as_json)
    if method == AUTO and out is not None and "occam" in ranking.refused and not as_json:
        among = len(ranking.certificates) + len(ranking.refused)
        compressed(model, known, among, delta, told.get("occam", {}), out)


def within(path: Path, name: str) -> Path:
    """The file itself, or the one of that name in a folder or in a shipped example."""
    from dudley.networks.files import EXAMPLES

    folder = path if path.exists() else EXAMPLES / path.name
    return folder / name if folder.is_dir() else path


def beside(path: Path, name: str) -> Path | None:
    """The file of that name in the same folder, where a folder or an example was named."""
    found = within(path, name)
    return found if found != path and found.is_file() else None


@certify_app.command("train")
def certify_train(
    task: Annotated[
        str,
        typer.Argument(metavar="TASK", help="and, or, majority, mnist01, or a data file (X, y)."),
    ],
    method: Annotated[
        str, typer.Option(help="The method to train for: norm-cover, occam or pac-bayes.")
    ] = "occam",
    n: Annotated[int, typer.Option(min=1, help="Training examples of a task.")] = 10_000,
    T: Annotated[int, typer.Option("--T", min=1, help="Bits of a planted function.")] = 32,
    s: Annotated[int, typer.Option("--s", min=1, help="Bits that it reads.")] = 3,
    encoding: Annotated[
        str | None, typer.Option(help='Of a data file, JSON: {"name": "bits", "T": 32}.')
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the data and of the training.")] = 0,
    delta: Delta = 0.05,
    out: Annotated[Path, typer.Option(help="Folder for model, data and certificate.")] = Path(
        "dudley-certificate"
    ),
    as_json: Json = False,
) -> None:
    """Train a model whose certificate is small; write the model, its data and the certificate.

    Example: dudley certify train and --T 8 --n 500 --method norm-cover
    """
    import numpy as np

    from dudley.certify.auto import best_of
    from dudley.certify.fit.recipes import RECIPES
    from dudley.certify.hypothesis import Hypothesis
    from dudley.certify.pictures import POPULATION
    from dudley.report.files import written

    fit = RECIPES[method]
    if out.exists() and not out.is_dir():
        raise InputError("--out", "a folder", f"the file {out}")
    train, test, told = _examples(task, n, T, s, seed, encoding)
    if sys.stderr.isatty():
        print(f"training for {method} on {train.n:,} examples …", file=sys.stderr)
    model = fit(train, told, seed)
    declared = {method: {"population": POPULATION}} if task == MNIST else None
    ranking = best_of(model, train, None, [method], delta, declared)
    out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / TRAIN, X=train.X, y=train.y)
    with written(out / MODEL) as file:
        model.save(file)
    print_ranking(ranking, out / CERTIFICATE, f"dudley verify {out}", as_json)
    if test is not None and isinstance(model, Hypothesis) and not as_json:
        wrong = int((model.margins(test) <= 0).sum())
        print(f"on {test.n:,} fresh examples the model errs {wrong:,} times: {wrong / test.n:.3g}")


def _examples(task: str, n: int, T: int, s: int, seed: int, encoding: str | None):
    """Training data, test data of a task, and the encoding."""
    from dudley.certify.data import read
    from dudley.certify.fit.recipes import BLOCKS
    from dudley.certify.pictures import pictures
    from dudley.certify.samples import drawn

    if Path(task).suffix in (".npz", ".parquet"):
        if encoding is None:
            fix = 'fix it before the data: {"name": "bits", "T": 32}, "codes" or "rows"'
            raise InputError("data file", "--encoding", "none", fix)
        return read(task), None, parsed(encoding, "--encoding")
    if encoding is not None:
        raise InputError("--encoding", "a data file", f"the task {task}")
    if task == MNIST:
        return pictures(n, seed), pictures(split="test"), BLOCKS
    config = {"name": task, "T": T, "s": s}
    return drawn(config, n, seed), drawn(config, 100_000, seed, "test"), {"name": "bits", "T": T}


def compressed(
    model: Any, train: Any, among: int, delta: float, told: dict[str, Any], out: Path
) -> None:
    """Another model near this one that a short code describes, and its own certificate.

    Compression may look at the training data as often as it likes. It holds together with the
    numbers of the model itself: the share of δ that Occam was promised is spent here.
    """
    from dudley.certify.auto import method_named
    from dudley.certify.fit.quantised import compress
    from dudley.report.files import written

    small = compress(model, train, **told)
    found = method_named("occam")(small, train, delta=delta, among=among, **told)
    place, file = (out.with_suffix(f".compressed.{kind}") for kind in ("safetensors", "json"))
    with written(place) as part:
        small.save(part)
    with written(file) as part:
        part.write_text(found.text(), encoding="utf-8")
    print(f"\nOf the compressed model {place}, not of the one that was given:")
    show(found)
    print(f"\nwrote {file}; check it: dudley verify {file} --model {place} --data DATA")


@certify_app.command("picture")
def certify_picture(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A model file (.safetensors), a folder that certify train wrote, or an example.",
        ),
    ],
    train: Annotated[
        Path | None, typer.Option(help="The training set (.npz or .parquet: X, y).")
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(help="Examples that no choice has seen: the measured error and the hold-out."),
    ] = None,
    delta: Delta = 0.05,
    declare: Declare = None,
    paper: Annotated[
        list[str] | None, typer.Option(help="Published bounds of this paper only; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for picture.svg, .png, .md and .json.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Set every certificate and every published bound beside a model's measured error.

    Each line says what is to blame for its size; statements that do not apply say why. Compression
    and a posterior for PAC-Bayes are fitted on the training data.

    Example: dudley certify picture sparse-and --paper mwigo2026
    """
    from dudley.certify import files
    from dudley.certify.run import examples
    from dudley.certify.standing import standing
    from dudley.report import standing as tables

    path, train = within(path, MODEL), train or beside(path, TRAIN)
    if out is not None and out.exists() and not out.is_dir():
        raise InputError("--out", "a folder", f"the file {out}")
    known = examples(train)
    if known is None:
        raise InputError("picture", "--train, the data that the model was trained on", "none")
    told, papers = declarations(declare), tuple(paper or ())
    found = standing(files.load(path), known, examples(test), delta, told, papers=papers)
    if out is not None:
        from dudley.report.picture import write

        write(found, out)
    if as_json:
        print_json("standing", [found.to_json()])
        return
    print(tables.text(found))
    if out is None:
        print("\nnothing written; --out FOLDER keeps the figure and the tables")
    else:
        print(f"\nwrote picture.svg, .png, .md and .json into {out}")


def parsed(text: str, what: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(what, "a JSON object", error) from None
    if not isinstance(found, dict):
        raise InputError(what, "a JSON object", text)
    return found


def declarations(given: list[str] | None) -> dict[str, dict[str, Any]]:
    """``method.name=value`` by method.

    >>> declarations(["occam.seed=3", "hold-out.interval=betting"])
    {'occam': {'seed': 3}, 'hold-out': {'interval': 'betting'}}
    """
    told: dict[str, dict[str, Any]] = {}
    for pair in given or []:
        place, equals, text = pair.partition("=")
        method, dot, name = place.partition(".")
        if not (equals and dot and name):
            raise InputError("--declare", "method.name=value", pair)
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        told.setdefault(method, {})[name] = value
    return told


def print_ranking(ranking: Ranking, out: Path | None, check: str, as_json: bool) -> None:
    """Write the best certificate, and print."""
    from dudley.report.files import written

    if out is not None:
        with written(out) as file:
            file.write_text(ranking.best.text(), encoding="utf-8")
    if as_json:
        print_json("certificates", [one.to_json() for one in ranking.certificates])
        return
    show(ranking.best)
    for other in ranking.certificates[1:]:
        print(f"  {'beside it':<18} {other.method}: {other.value:.6g}")
    for name, why in ranking.refused.items():
        print(paragraph(f"{name} refused: {why}", 21, f"  {'beside it':<19}"))
    if out is None:
        print("\nnothing written; --out FILE.json keeps the certificate")
    else:
        print(f"\nwrote {out}; check it: {check}")


def show(one: Certificate) -> None:
    """A certificate for people: the number, why it is what it is, what it rests on."""
    told = one.to_json()
    print(paragraph(f"{one.quantity} ≤ {ceiling(told['value'], 6)}"))
    if one.vacuous:
        print("  vacuous: guessing the most frequent class may do as well")
    n = one.data["n"]
    print(f"  with probability at least 1 − {one.delta:g} over {n:,} examples; method {one.method}")
    if one.declared["population"]:
        print(paragraph(one.declared["population"], 21, f"  {'population':<19}"))
    for name, value in told["facts"].items():
        if value not in ([], {}):
            print(paragraph(_plain(value), 21, f"  {name.replace('_', ' '):<19}"))
    print(f"  {'price':<18} {told['nats']:.6g} nats for what was chosen after the data")
    for price in told["prices"]:
        print(paragraph(price["note"], 34, f"  {'':<18} {price['nats']:>8.4g}  {price['name']}: "))
    most = told["baseline"]
    print(
        f"  {'baseline':<18} class {most['class']} always: {most['errors']:,} errors here, "
        f"a risk of {floor(most['error_at_least'])} at least"
    )
    for words in one.advice:
        print(paragraph(words, 4, "  → "))
    for words in one.declarations:
        print(paragraph(words, 4, "  · "))


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return str(value)


def verify(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="CERT",
            help="The certificate file, a folder that certify train wrote, or an example.",
        ),
    ],
    model: Annotated[Path | None, typer.Option(help="The model file.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="What it was made on: examples, or a language model's documents (.npz)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute a certificate again from the model and the data; exit code 1 if it does not hold.

    Example: dudley verify sparse-and
    """
    from dudley.certify import verify as check

    model = model or beside(path, MODEL)
    data = data or beside(path, TRAIN) or beside(path, DOCUMENTS)
    path = within(path, CERTIFICATE)
    told = check.read(path)
    if model is None or data is None:
        raise InputError("verify", "--model and --data", "one of them, or none")
    found = check.verify(told, *check.parts(told, model, data))
    if as_json:
        differences = [{"field": d.field, "what": str(d)} for d in found.differences]
        item = {
            "holds": found.holds,
            "value": found.value,
            "recomputed": found.recomputed,
            "differences": differences,
            "declarations": list(found.declarations),
        }
        print_json("verification", [item])
    else:
        if found.holds:
            print(f"holds: {told['quantity']} ≤ {ceiling(found.value, 6)}")
            print(f"  {found.recomputed} fields computed again and equal; method {told['method']}")
        else:
            print("does not hold")
        for difference in found.differences:
            print(paragraph(str(difference), 4, "  ✗ "))
        for words in found.declarations:
            print(paragraph(words, 4, "  · declared: "))
    if not found.holds:
        raise typer.Exit(1)

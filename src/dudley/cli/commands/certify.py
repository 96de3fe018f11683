"""``dudley certify``: bounds on a model's error that others can recompute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dudley.cli.certify_outcomes import certify_outcomes
from dudley.cli.certify_select import certify_select
from dudley.cli.certify_texts import certify_texts
from dudley.cli.declarations import Declare, DeltaOption, declarations, encoding_of
from dudley.cli.folder import (
    CERTIFICATE,
    MODEL,
    TRAIN,
    beside,
    keep,
    keep_all,
    within,
)
from dudley.cli.models import (
    ActivationOption,
    EpsilonOption,
    HeadsOption,
    LayoutOption,
    NormFirstOption,
    PadOption,
    RoleOption,
    RowOption,
    ScaleOption,
    read_model,
)
from dudley.cli.output import Json, paragraph, print_document, print_json
from dudley.cli.progress import Budget, TrainingBudget, watch_steps
from dudley.core.errors import InputError

if TYPE_CHECKING:
    from dudley.certificates.auto import Ranking

certify = typer.Typer(
    help="Upper bounds on the error of one model.", no_args_is_help=True, rich_markup_mode=None
)
Out = Annotated[Path | None, typer.Option(help="The certificate file to write (.json).")]
Given = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A model file, a folder of certify train, an example, or a checkpoint.",
    ),
]
Train = Annotated[Path | None, typer.Option(help="The training set (.npz or .parquet: X, y).")]
MNIST = "mnist01"
LONG_BUDGET = 600.0


@certify.command("model")
def certify_model(
    path: Given,
    train: Train = None,
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
    layout: LayoutOption = None,
    heads: HeadsOption = None,
    norm_first: NormFirstOption = None,
    epsilon: EpsilonOption = None,
    activation: ActivationOption = None,
    row: RowOption = None,
    role: RoleOption = None,
    pad: PadOption = None,
    scale: ScaleOption = 1.0,
    delta: DeltaOption = 0.05,
    declare: Declare = None,
    budget: Budget = 120,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Bound the error of a model; others can verify the certificate.

    MODEL may be a checkpoint: a folder of Hugging Face, or weights of torch's encoder, with options
    for what its file does not say (docs/certify.md). With --out the model is written beside.

    With --method auto and --out, weights that no short code describes are also compressed on the
    training data; what comes out is written beside the certificate, with one of its own. The
    budget is for that search.

    Example: dudley certify model sparse-and --method auto
    """
    from dudley.certificates.auto import at_share
    from dudley.certificates.certify import AUTO, certify as least, examples
    from dudley.core.files import expect_place

    if out is not None:
        expect_place(out, (".json",))
    declared = declarations(declare)
    if network is not None and encoding is None:
        raise InputError("weights without a header", "--network and --encoding", "one of them")
    train = train or beside(path, TRAIN)
    inputs, known, fresh = encoding and encoding_of(encoding), examples(train), examples(holdout)
    options = {"layout": layout, "heads": heads, "norm_first": norm_first, "epsilon": epsilon}
    options |= {"activation": activation, "row": row, "pad": pad, "scale": scale}
    options |= {"roles": tuple(role or ())}
    model, path = read_model(path, network, inputs or None, options, known or fresh, out)
    with watch_steps(budget) as watch:
        ranking = least(model, known, fresh, method, delta, declared, watch)
    data = holdout if ranking.best.method == "hold-out" else train
    if out is not None:
        keep(ranking.best, out)
    print_ranking(ranking, out, f"dudley verify {out} --model {path} --data {data}", as_json)
    if method == AUTO and out is not None and "occam" in ranking.refused and not as_json:
        methods = len(ranking.certificates) + len(ranking.refused)
        compressed(model, known, at_share(declared.get("occam", {}), delta, methods), out, budget)


@certify.command("train")
def certify_train(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="and, or, majority, mnist01, a data file (X, y), or for pick-to-learn a source: "
            "mnist, imdb, …",
        ),
    ],
    method: Annotated[
        str,
        typer.Option(help="What to train for: norm-cover, occam, pac-bayes or pick-to-learn."),
    ] = "occam",
    model: Annotated[
        str | None,
        typer.Option(
            help="For pick-to-learn: encoder, vit, hf:FOLDER or hf:minilm; else what fits the data."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="name=value, a setting of that training; value in JSON."),
    ] = None,
    warm: Annotated[
        bool | None,
        typer.Option("--warm/--cold", help="Go on from the model of the round before, or anew."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu (the default) or cuda, to train by pick-to-learn.")
    ] = None,
    beside: Annotated[
        bool | None,
        typer.Option(
            "--beside/--no-beside",
            help="Also train for the hold-out of the same examples (on with pick-to-learn).",
        ),
    ] = None,
    declare: Declare = None,
    n: Annotated[int, typer.Option(min=1, help="Training examples of a task.")] = 10_000,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Of a source: draw units of this kind, such as thread, one item of each."
        ),
    ] = None,
    T: Annotated[
        int | None,
        typer.Option(
            "--T", min=1, help="Bits of a planted function (32), or token ids of a text (128)."
        ),
    ] = None,
    s: Annotated[int, typer.Option("--s", min=1, help="Bits that it reads.")] = 3,
    encoding: Annotated[
        str | None, typer.Option(help='Of a data file, JSON: {"name": "bits", "T": 32}.')
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of data and training (0); for pick-to-learn random, drawn if not given."
        ),
    ] = None,
    delta: DeltaOption = 0.05,
    budget: TrainingBudget = None,
    out: Annotated[Path, typer.Option(help="Folder for model, data and certificate.")] = Path(
        "dudley-certificate"
    ),
    as_json: Json = False,
) -> None:
    """Train a model whose certificate is small.

    The model, its data and the certificate are written into one folder. With --method
    pick-to-learn any named training is certified on the examples that it picks, and a run that was
    killed goes on from the folder; settings and declarations that are not given are those of a
    recipe for the task.

    Example: dudley certify train and --T 8 --n 500 --method norm-cover
    """
    from dudley.certificates.auto import best_of, with_hold_out
    from dudley.certificates.fit.recipes import RECIPES, train_for
    from dudley.certificates.hypothesis import Hypothesis
    from dudley.certificates.methods.pick_to_learn.checkpoint import recorded_seed
    from dudley.certificates.order import declared_seed
    from dudley.cli.certify_picks import PICKS, PickOptions, settings_of, train_picks
    from dudley.cli.pick_examples import BITS, PickTask, pick_examples

    if out.exists() and not out.is_dir():
        raise InputError("--out", "a folder", f"the file {out}")
    stated = declarations(declare)
    for name in stated:
        if name != method:
            raise InputError("--declare", f"{method}.name=value, the method trained for", name)
    if method == PICKS:
        seed = declared_seed(seed, recorded_seed(out))
        drawn = pick_examples(PickTask(task, n, T, s, seed, model, unit, encoding))
        options = PickOptions(
            task, settings_of(settings), warm, device or "cpu", seed, delta,
            drawn.declared | stated.get(PICKS, {}), beside is not False, budget or 0, out,
        )  # fmt: skip
        train_picks(drawn, options, as_json)
        return
    if any(value is not None for value in (model, settings, warm, device, beside, unit)):
        expected = "--method pick-to-learn, to which --model, --set and the like belong"
        raise InputError("--method", expected, method)
    seed = 0 if seed is None else seed
    RECIPES[method]  # refuses another name before data are drawn
    budget = LONG_BUDGET if budget is None else budget
    train, test, inputs, declared = _examples(task, n, T or BITS, s, seed, encoding)
    with watch_steps(budget) as watch:
        watch.begin(f"training for {method} on {train.n:,} examples")
        trained = train_for(method, train, inputs, seed, watch)
        remark = watch.remark
        declared |= stated.get(method, {})
        ranking = best_of(trained, train, None, [method], delta, {method: declared}, watch)
    if test is not None:  # as many fresh examples as training had
        fresh = test.part(slice(0, train.n))
        ranking = with_hold_out(ranking, trained, None, fresh, delta)
    keep_all(trained, train, ranking.best, out)
    print_ranking(ranking, out / CERTIFICATE, f"dudley verify {out}", as_json)
    if remark:
        print(paragraph(f"dudley: {remark}"), file=sys.stderr)
    if test is not None and isinstance(trained, Hypothesis) and not as_json:
        wrong = int((trained.margins(test) <= 0).sum())
        print(f"on {test.n:,} fresh examples the model errs {wrong:,} times: {wrong / test.n:.3g}")


certify.command("select")(certify_select)
certify.command("outcomes")(certify_outcomes)


certify.command("language")(certify_texts)


def print_ranking(ranking: Ranking, out: Path | None, check: str, as_json: bool) -> None:
    """The best certificate and what stands beside it; ``out`` is where it was written."""
    from dudley.show.pages import certificate as pages

    items = [certificate.to_json() for certificate in ranking.all]
    if as_json:
        print_json("certificates", items)
        return
    ending = f"wrote {out}; check it: {check}"
    if out is None:
        ending = "nothing written; --out FILE.json keeps the certificate"
    print_document(pages.ranking(items, ranking.refused, ending))


def _examples(task: str, n: int, T: int, s: int, seed: int, encoding: str | None):
    """Training data, test data of a task, the encoding, and what is declared with it."""
    from dudley.certificates.data import read
    from dudley.certificates.fit.recipes import BLOCKS
    from dudley.certificates.pictures import DECLARED, pictures
    from dudley.certificates.samples import draw_examples

    if Path(task).suffix in (".npz", ".parquet"):
        if encoding is None:
            fix = 'fix it before the data: {"name": "bits", "T": 32}, "codes" or "rows"'
            raise InputError("data file", "--encoding", "none", fix)
        return read(task), None, encoding_of(encoding), {}
    if encoding is not None:
        raise InputError("--encoding", "a data file", f"the task {task}")
    if task == MNIST:
        return pictures(n, seed), pictures(split="test"), BLOCKS, DECLARED
    config, bits = {"name": task, "T": T, "s": s}, {"name": "bits", "T": T}
    return draw_examples(config, n, seed), draw_examples(config, 100_000, seed, "test"), bits, {}


def compressed(model: Any, train: Any, declared: dict[str, Any], out: Path, budget: float) -> None:
    """Another model near this one that a short code describes, and its own certificate.

    Compression may look at the training data as often as it likes. It holds together with the
    numbers of the model itself: the share of δ that Occam was promised is spent here.
    """
    from dudley.certificates.base import method_named
    from dudley.certificates.fit.quantised import compress
    from dudley.core.files import written
    from dudley.show.document import Document, Listing, Prose, Section
    from dudley.show.pages import certificate as pages

    with watch_steps(budget) as watch:
        watch.begin("compression")
        try:
            small = compress(model, train, watch=watch, **declared)
        except InputError as refusal:
            print("\n" + paragraph(f"not compressed: {refusal}"))
            return
        watch.say("certificate of the compressed model")
        certificate = method_named("occam")(small, train, **declared)
    weights, file = (out.with_suffix(f".compressed.{kind}") for kind in ("safetensors", "json"))
    with written(weights) as part:
        small.save(part)
    keep(certificate, file)
    print(f"\nOf the compressed model {weights}, not of the one that was given:")
    check = f"wrote {file}; check it: dudley verify {file} --model {weights} --data DATA"
    remark = [Section("", (Prose(watch.remark),))] if watch.remark else []
    ending = Section("", (Listing(check),))
    print_document(Document("", (pages.summary(certificate.to_json()), *remark, ending)))


@certify.command("picture")
def certify_picture(
    path: Given,
    train: Train = None,
    test: Annotated[
        Path | None,
        typer.Option(help="Examples that no choice has seen: the measured error and the hold-out."),
    ] = None,
    delta: DeltaOption = 0.05,
    declare: Declare = None,
    paper: Annotated[
        list[str] | None, typer.Option(help="Published bounds of this paper only; may be repeated.")
    ] = None,
    budget: Budget = 120,
    out: Annotated[
        Path | None, typer.Option(help="Folder for picture.svg, .png, .md and .json.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Set every certificate and published bound beside the error.

    Each line says what is to blame for its size; statements that do not apply say why. Compression
    and a posterior for PAC-Bayes are fitted on the training data.

    Example: dudley certify picture sparse-and --paper mwigo2026
    """
    from dudley.certificates import files
    from dudley.certificates.certify import examples
    from dudley.certificates.standing import standing
    from dudley.show.standing import document

    path, train = within(path, MODEL), train or beside(path, TRAIN)
    if out is not None and out.exists() and not out.is_dir():
        raise InputError("--out", "a folder", f"the file {out}")
    known = examples(train)
    if known is None:
        raise InputError("picture", "--train, the data that the model was trained on", "none")
    declared, papers = declarations(declare), tuple(paper or ())
    model, fresh = files.load(path), examples(test)
    with watch_steps(budget) as watch:
        stands = standing(model, known, fresh, delta, declared, papers=papers, watch=watch)
    if out is not None:
        from dudley.show.figures.picture import write

        write(stands, out)
    if as_json:
        print_json("standing", [stands.to_json()])
        return
    print_document(document(stands))
    if out is None:
        print("\nnothing written; --out FOLDER keeps the figure and the tables")
    else:
        print(f"\nwrote picture.svg, .png, .md and .json into {out}")

"""``dudley verify``: a certificate computed again from the model and the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dudley.cli.folder import (
    CANDIDATES,
    CERTIFICATE,
    DOCUMENTS,
    JOURNAL,
    MODEL,
    OUTCOME_TABLE,
    OUTCOMES,
    TRAIN,
    UNITS,
    beside,
    within,
)
from dudley.cli.output import Json, print_document, print_json
from dudley.cli.progress import ReplayBudget
from dudley.core.errors import InputError

if TYPE_CHECKING:
    from dudley.certificates.kernel.report import KernelReport
    from dudley.certificates.verify import Verification


def verify(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="CERT",
            help="The certificate file, a folder that certify train wrote, or an example.",
        ),
    ],
    model: Annotated[
        Path | None, typer.Option(help="The model file, or a list of candidates (.json).")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="What it was made on: examples, documents, predictions or outcomes."),
    ] = None,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="Of pick-to-learn: train again, and demand the same picks and model."
        ),
    ] = False,
    texts: Annotated[
        Path | None,
        typer.Option(help="Of certify language: the texts, to evaluate the checkpoints again."),
    ] = None,
    part: Annotated[
        int | None,
        typer.Option(min=1, help="With --texts: so many documents, drawn at random, at a price."),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="The folder of the start, or minilm, to replay or evaluate."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu (the default) or cuda, to replay or evaluate.")
    ] = None,
    budget: ReplayBudget = 0,
    by_kernel: Annotated[
        bool,
        typer.Option("--coq", help="Let the kernel of Coq check theorem, tail and price as well."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compute a certificate again from the model and the data.

    With --replay the declared training is carried out again, from the data alone, and must pick
    the same examples and give the same weights; it takes as long as the first time, on the same
    kind of device, unless --budget ends it. With --texts the checkpoints of a language model's
    pass are evaluated again on their blocks, all or a part. With --coq the claim is written down as
    a theorem, and a proof assistant that is installed on this machine checks it (docs/proof.md);
    the first time it takes a minute to compile the proofs. Exit code 1 if the certificate does not
    hold.

    Example: dudley verify sparse-and
    """
    from dudley.certificates import verify as check
    from dudley.cli.verify_texts import verify_texts
    from dudley.show.pages.verification import document

    if not replay and texts is None and (start is not None or device is not None):
        expected = "--replay or --texts, to which --start and --device belong"
        raise InputError("verify", expected, "neither")
    if budget and not replay:
        raise InputError("verify", "--replay, to which --budget belongs", "no --replay")
    if texts is None and part is not None:
        raise InputError("verify", "--texts, to which --part belongs", "no --texts")
    model = model or beside(path, MODEL) or beside(path, CANDIDATES)
    if model is None and (journal := beside(path, JOURNAL)) is not None:
        model = journal.parent
    names = (TRAIN, DOCUMENTS, OUTCOMES, UNITS)
    data = data or next(filter(None, (beside(path, name) for name in names)), None)
    path = within(path, CERTIFICATE)
    certificate = check.read(path)
    if by_kernel:
        expect_kernel(certificate)
    alone = replay or certificate["method"] == "outcomes"  # whose model is known by its outcomes
    if certificate["method"] == "outcomes" and data is not None:
        data = within(data, OUTCOME_TABLE)
    parts = {"data": data} if alone else {"model": model, "data": data}
    if not replay and not check.needs_data(certificate):
        del parts["data"]
    if absent := [f"no --{name}" for name, file in parts.items() if file is None]:
        expected = "--model and --data, or a folder with certificate, model and data"
        raise InputError("verify", expected, " and ".join(absent))
    if replay:
        assert data is not None
        verification = replayed(certificate, data, device or "cpu", start, budget)
    elif texts is not None:
        verification = verify_texts(certificate, path.parent, texts, part, start, device)
    else:
        verification = check.verify(certificate, *check.parts(certificate, model, data))
    kernel = kernel_report(certificate, verification, data) if by_kernel else None
    if as_json:
        differences = [{"field": d.field, "what": str(d)} for d in verification.differences]
        item = {
            "holds": verification.holds,
            "value": verification.value,
            "recomputed": verification.recomputed,
            "differences": differences,
            "remarks": list(verification.remarks),
            "declarations": list(verification.declarations),
        }
        if kernel is not None:
            item["kernel"] = kernel.to_json()
        print_json("verification", [item])
    else:
        print_document(document(certificate, verification, kernel))
    if not verification.holds or (kernel is not None and not kernel.accepted):
        raise typer.Exit(1)


def expect_kernel(certificate: dict[str, Any]) -> None:
    """Refuse, before anything is computed, what no kernel can check here."""
    from dudley.certificates.kernel.claim import expect_covered
    from dudley.certificates.kernel.coq import coq

    expect_covered(certificate)
    coq()


def kernel_report(
    certificate: dict[str, Any], verification: Verification, data: Path | None
) -> KernelReport | None:
    """The kernel's word, once the certificate is what the program computes."""
    from dudley.certificates.kernel.check import check

    return check(certificate, verification, data) if verification.holds else None


def replayed(
    certificate: dict[str, Any], data: Path, device: str, start: Path | None, budget: float
) -> Verification:
    """Train again as the certificate declares; only pick-to-learn declares a training."""
    from dudley.certificates.data import read
    from dudley.certificates.learners.training import learner_of
    from dudley.certificates.methods.pick_to_learn.method import PickToLearn
    from dudley.certificates.training import verify_training
    from dudley.cli.pick_examples import start_folder
    from dudley.cli.progress import watch_steps
    from dudley.core.watch import Spent

    if certificate["method"] != PickToLearn.name:
        got = f"a certificate of {certificate['method']}"
        raise InputError("--replay", f"a certificate of {PickToLearn.name}", got)
    folder = None if start is None else start_folder(str(start))
    learner = learner_of(certificate["declared"].get("learner", {}), device, folder)
    with watch_steps(budget) as watch:
        watch.begin("training again")

        def say(progress: Any) -> None:
            watch.say(str(progress))
            watch.look()

        try:
            return verify_training(certificate, learner, read(data), say=say)
        except Spent:
            fix = "a larger --budget, or 0 for no end; without --replay nothing is trained"
            got = f"an end of the {budget:g} s before it"
            raise InputError("training again", "the declared last round", got, fix) from None

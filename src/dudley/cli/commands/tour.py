"""``dudley tour``: the main job for a newcomer, start to end, on a model that is trained here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dudley.cli.folder import CERTIFICATE, MODEL, TRAIN, keep_all
from dudley.cli.output import Json, print_document, print_json
from dudley.cli.progress import watch_steps
from dudley.core.errors import InputError
from dudley.core.extras import expect_installed
from dudley.show.document import Document, DocumentBlock, Points, Properties, Prose, Section

if TYPE_CHECKING:
    from dudley.certificates.data import Dataset
    from dudley.certificates.hypothesis import Hypothesis
    from dudley.show.pages.stamp import Stamp

T, S, SEED, DELTA = 32, 3, 1, 0.05
TASK = {"name": "majority", "T": T, "s": S}
ENCODING = {"name": "bits", "T": T}
POSTERIOR = {"steps": 300, "batch": 512, "seed": SEED}
BROKEN = "trauger2024/lemma-3.5"
NORMS = ("op", "fro", "l11", "row2inf", "linf")
FILES = {"model": MODEL, "data": TRAIN, "certificate": CERTIFICATE, "page": "index.html"}


def tour(
    n: Annotated[int, typer.Option(help="Training examples.", min=100)] = 20_000,
    paper: Annotated[
        list[str] | None, typer.Option(help="Published bounds of this paper only; may be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the report and its files.")] = Path(
        "dudley-report"
    ),
    as_json: Json = False,
) -> None:
    """Tell the whole story of one model in under two minutes.

    Train a head, measure it, set every published bound beside it, run a counterexample, certify
    the model, verify the certificate; a report of it opens in a browser.

    Example: dudley tour --n 2000 --paper mwigo2026
    """
    if out.exists() and not out.is_dir():
        raise InputError("--out", "a folder", f"the file {out}")
    expect_installed("torch", "the tour")
    expect_installed("matplotlib", "the report of the tour", "plots")
    story = Story(n, tuple(paper or ()), out)
    start = time.perf_counter()
    for number, (title, step) in enumerate(story.steps, 1):
        with watch_steps() as watch:
            watch.say(title)
            blocks = step()
        if not as_json:
            print_document(Document("", (Section(f"{number} · {title}", tuple(blocks)),)))
            print(flush=True)
    story.facts["seconds"] = round(time.perf_counter() - start, 1)
    if as_json:
        print_json("tour", [story.facts])
    else:
        print(f"done in {story.facts['seconds']:.0f} s")
        print(f"Open {(out / FILES['page']).resolve()}")
        print("Next: dudley derive bert-base n=1e6 --explain    dudley lab list")
    if not story.stamp.holds:
        raise typer.Exit(1)


@dataclass
class Story:
    """The steps; each leaves facts, and blocks that say what it came to."""

    n: int
    papers: tuple[str, ...]
    out: Path
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> list[tuple[str, Callable[[], list[DocumentBlock]]]]:
        return [
            (f"Train an attention head: majority of {S} hidden bits among {T}", self.train),
            ("Measure it: norms with proved upper ends", self.measure),
            ("Every bound and every certificate beside the measured error", self.stand),
            ("Break a published statement", self.break_one),
            ("Certify the model from its training data alone", self.certify),
            ("Verify the certificate from its files, as a stranger would", self.verify),
            ("Write it all down", self.write),
        ]

    def train(self) -> list[DocumentBlock]:
        from dudley.certificates.comparison.cost import counted
        from dudley.certificates.fit.heads import HeadFit, fit_head
        from dudley.certificates.samples import draw_examples

        start = time.perf_counter()
        self.data: Dataset = draw_examples(TASK, self.n, SEED)
        self.test: Dataset = draw_examples(TASK, self.n, SEED, "test")
        self.model: Hypothesis = fit_head(self.data, ENCODING, HeadFit(seed=SEED))
        wrong = {
            name: int((self.model.margins(data) <= 0).sum())
            for name, data in (("train", self.data), ("test", self.test))
        }
        count = sum(W.size for W in self.model.weights.values())
        self.facts["training"] = {
            "task": TASK, "n": self.n, "seed": SEED, "weights": count, "errors": wrong,
            "seconds": round(time.perf_counter() - start, 1),
        }  # fmt: skip
        errors = f"{counted(wrong['train'], 'error')} on them"
        errors += f", {counted(wrong['test'], 'error')} on as many fresh ones"
        return [Prose(f"{count} weights, {self.n:,} examples: {errors}")]

    def measure(self) -> list[DocumentBlock]:
        from dudley.show.pages import tour as pages
        from dudley.weights.certified import norms

        upper = {name.partition(".")[2]: norms(W) for name, W in self.model.weights.items()}
        self.facts["norms"] = {
            name: {norm: ends[norm] for norm in NORMS if norm in ends}
            for name, ends in upper.items()
        }
        return [pages.norms(self.facts["norms"])]

    def stand(self) -> list[DocumentBlock]:
        from dudley.certificates.fit.posterior import PosteriorTraining
        from dudley.certificates.standing import standing
        from dudley.show.standing import MARKS, bounds, measured, reasons

        plan = PosteriorTraining(**POSTERIOR)
        stands = standing(self.model, self.data, self.test, DELTA, plan=plan, papers=self.papers)
        self.facts["standing"] = stands.to_json()
        lost = sum(map(len, reasons(stands).values()))
        return [
            Prose(measured(stands)),
            bounds(stands),
            Prose(MARKS),
            Prose(f"{lost} further statements do not apply; the report says why"),
        ]

    def break_one(self) -> list[DocumentBlock]:
        from dudley.core.rounding import floor
        from dudley.show.counterexamples import against
        from dudley.theorems import registry

        first = against(BROKEN)[0]
        statement = registry.load()[BROKEN]
        record = first.to_json()
        self.facts["broken"] = statement.to_json() | {"counterexamples": [record]}
        printed, derived = (record["forms"][form] for form in ("printed", "derived"))
        return [
            Prose(f"{BROKEN}: {statement.says}"),
            Prose(f"counterexample {first.name}: {first.story}"),
            Prose(
                f"printed {printed:.4g}, but provably at least {floor(first.lower_bound)}: "
                f"{first.ratio:.3g} times too small; derived with explicit constants {derived:.4g}"
            ),
            *map(Prose, registry.caveats([statement])),
        ]

    def certify(self) -> list[DocumentBlock]:
        from dudley.certificates.certify import certify
        from dudley.core.rounding import ceiling

        best = certify(self.model, self.data, method="norm-cover", delta=DELTA).best
        keep_all(self.model, self.data, best, self.out)
        self.facts["certificate"] = best.to_json()
        number = f"at most {ceiling(best.value, 3)}, with probability {1 - DELTA:g}"
        return [
            Prose(f"{best.quantity}: {number} over the {self.n:,} examples; no test set is used"),
            Points(tuple(best.advice), mark="→"),
        ]

    def verify(self) -> list[DocumentBlock]:
        from dudley.certificates import verify
        from dudley.show.pages.stamp import Stamp

        certificate = verify.read(self.path("certificate"))
        files = self.path("model"), self.path("data")
        verification = verify.verify(certificate, *verify.parts(certificate, *files))
        self.stamp: Stamp = Stamp.of(verification, *files)
        forged = certificate | {"value": round(certificate["value"] / 2, 10)}
        caught = not verify.verify(forged, self.model, self.data).holds
        self.facts["verified"] = {
            "holds": verification.holds,
            "recomputed": verification.recomputed,
            "forgery_caught": caught,
            "declarations": list(verification.declarations),
        }
        verdict = "holds" if verification.holds else "DOES NOT HOLD"
        again = f"{verification.recomputed} fields computed again from the files"
        forgery = "caught" if caught else "NOT CAUGHT"
        return [
            Prose(f"{verdict}: {again}; halving the number is {forgery}"),
            Prose("what no one can check:"),
            Points(verification.declarations),
        ]

    def write(self) -> list[DocumentBlock]:
        from dudley.core.files import written
        from dudley.show import as_html
        from dudley.show.pages.tour import document

        as_html.write(document([self.facts], self.stamp), self.path("page"))
        self.facts["files"] = {name: str(self.path(name)) for name in FILES}
        record = json.dumps(self.facts, indent=1, ensure_ascii=False, allow_nan=False)
        with written(self.out / "tour.json") as file:
            file.write_text(record + "\n", encoding="utf-8")
        return [Properties(tuple(self.facts["files"].items()))]

    def path(self, name: str) -> Path:
        return self.out / FILES[name]

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
from dudley.cli.output import Json, paragraph, print_json, width
from dudley.core.errors import InputError

if TYPE_CHECKING:
    from dudley.certificates.data import Dataset
    from dudley.certificates.hypothesis import Hypothesis
    from dudley.show.pages.stamp import Stamp

T, S, SEED, DELTA = 32, 3, 1, 0.05
TASK = {"name": "majority", "T": T, "s": S}
ENCODING = {"name": "bits", "T": T}
POSTERIOR = {"steps": 300, "batch": 512, "seed": SEED}
BROKEN = "trauger2024/lemma-3.5"
WIDE = 118  # columns that the whole table takes
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

    Train a head, measure it, set every published bound beside it, break a false theorem, certify
    the model, verify the certificate; a report of it opens in a browser.

    Example: dudley tour --n 2000 --paper mwigo2026
    """
    if out.exists() and not out.is_dir():
        raise InputError("--out", "a folder", f"the file {out}")
    story = Story(n, tuple(paper or ()), out)
    from rich.console import Console

    console = Console(highlight=False, stderr=as_json, quiet=as_json)
    start = time.perf_counter()
    for number, (title, step) in enumerate(story.steps, 1):
        console.rule(f"{number} · {title}", align="left")
        with console.status("working …"):
            lines = step()
        for line in lines:
            text = line if isinstance(line, Row) else paragraph(line, 4)
            console.print(text, markup=False, soft_wrap=True)
    story.facts["seconds"] = round(time.perf_counter() - start, 1)
    if as_json:
        print_json("tour", [story.facts])
    else:
        console.rule(f"done in {story.facts['seconds']:.0f} s", align="left")
        console.print(f"Open {(out / FILES['page']).resolve()}", markup=False, soft_wrap=True)
        console.print("Next: dudley derive bert-base n=1e6 --explain    dudley lab list")
    if not story.stamp.holds:
        raise typer.Exit(1)


@dataclass
class Story:
    """The steps; each leaves facts, and lines that say what was found."""

    n: int
    papers: tuple[str, ...]
    out: Path
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> list[tuple[str, Callable[[], list[str]]]]:
        return [
            (f"Train an attention head: majority of {S} hidden bits among {T}", self.train),
            ("Measure it: norms with proved upper ends", self.measure),
            ("Every bound and every certificate beside the measured error", self.stand),
            ("Break a published statement", self.break_one),
            ("Certify the model from its training data alone", self.certify),
            ("Verify the certificate from its files, as a stranger would", self.verify),
            ("Write it all down", self.write),
        ]

    def train(self) -> list[str]:
        from dudley.certificates.fit.heads import HeadFit, fit_head
        from dudley.certificates.samples import drawn

        start = time.perf_counter()
        self.data: Dataset = drawn(TASK, self.n, SEED)
        self.test: Dataset = drawn(TASK, self.n, SEED, "test")
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
        return [
            f"{count} weights, {self.n:,} examples: {wrong['train']} errors on them, "
            f"{wrong['test']} on as many fresh ones"
        ]

    def measure(self) -> list[str]:
        from dudley.core.rounding import ceiling
        from dudley.weights.certified import norms

        found = {name.partition(".")[2]: norms(W) for name, W in self.model.weights.items()}
        self.facts["norms"] = {
            name: {norm: own[norm] for norm in NORMS if norm in own} for name, own in found.items()
        }
        return [
            f"{name:<4} " + "  ".join(f"{norm} ≤ {ceiling(x)}" for norm, x in own.items())
            for name, own in self.facts["norms"].items()
        ]

    def stand(self) -> list[str]:
        from dudley.certificates.fit.posterior import PosteriorTraining
        from dudley.certificates.standing import standing
        from dudley.show import standing as told

        plan = PosteriorTraining(**POSTERIOR)
        found = standing(self.model, self.data, self.test, DELTA, plan=plan, papers=self.papers)
        self.facts["standing"] = found.to_json()
        whole, rows = width() >= WIDE, [told.HEAD, *told.every(found)]
        table = told.aligned(rows if whole else [narrowed(row) for row in rows], words=whole)
        lost = sum(map(len, told.reasons(found).values()))
        return [
            told.measured(found),
            *map(Row, table),
            told.MARKS,
            f"{lost} further statements do not apply; the report says why",
        ]

    def break_one(self) -> list[str]:
        from dudley.core.rounding import floor
        from dudley.show.counterexamples import against
        from dudley.theorems import registry

        first = against(BROKEN)[0]
        statement = registry.load()[BROKEN]
        told = first.to_json()
        self.facts["broken"] = statement.to_json() | {"counterexamples": [told]}
        printed, derived = (told["forms"][form] for form in ("printed", "derived"))
        return [
            f"{BROKEN}: {statement.says}",
            f"counterexample {first.name}: {first.story}",
            f"printed {printed:.4g}, but provably at least {floor(first.lower_bound)}: "
            f"{first.ratio:.3g} times too small; derived with explicit constants {derived:.4g}",
        ]

    def certify(self) -> list[str]:
        from dudley.certificates.certify import certify
        from dudley.core.rounding import ceiling

        best = certify(self.model, self.data, method="norm-cover", delta=DELTA).best
        keep_all(self.model, self.data, best, self.out)
        self.facts["certificate"] = best.to_json()
        return [
            f"{best.quantity}: at most {ceiling(best.value, 3)}, with probability {1 - DELTA:g} "
            f"over the {self.n:,} examples; no test set is used",
            *best.advice,
        ]

    def verify(self) -> list[str]:
        from dudley.certificates import verify
        from dudley.show.pages.stamp import Stamp

        told, files = verify.read(self.path("certificate")), (self.path("model"), self.path("data"))
        found = verify.verify(told, *verify.parts(told, *files))
        self.stamp: Stamp = Stamp.of(found, *files)
        forged = told | {"value": round(told["value"] / 2, 10)}
        caught = not verify.verify(forged, self.model, self.data).holds
        self.facts["verified"] = {
            "holds": found.holds, "recomputed": found.recomputed, "forgery_caught": caught,
            "declarations": list(found.declarations),
        }  # fmt: skip
        return [
            f"{'holds' if found.holds else 'DOES NOT HOLD'}: {found.recomputed} fields computed "
            f"again from the files; halving the number is {'caught' if caught else 'NOT CAUGHT'}",
            "what no one can check:",
            *(f"  · {text}" for text in found.declarations),
        ]

    def write(self) -> list[str]:
        from dudley.core.files import written
        from dudley.show import as_html
        from dudley.show.pages.tour import document

        as_html.write(document([self.facts], self.stamp), self.path("page"))
        self.facts["files"] = {name: str(self.path(name)) for name in FILES}
        told = json.dumps(self.facts, indent=1, ensure_ascii=False, allow_nan=False)
        with written(self.out / "tour.json") as file:
            file.write_text(told + "\n", encoding="utf-8")
        return [f"{name:<12} {path}" for name, path in self.facts["files"].items()]

    def path(self, name: str) -> Path:
        return self.out / FILES[name]


class Row(str):
    """A line that is not to be broken."""


def narrowed(row: list[str]) -> list[str]:
    """The first name, what is printed and proved, and from which n it says something."""
    name, printed, proved, _, needed, _ = row
    first, _, others = name.partition(",")
    mark = others[others.index("†") - 1 :] if "†" in others else ""
    return [first + mark, printed, proved, needed.partition(" (")[0].removeprefix("below ")]

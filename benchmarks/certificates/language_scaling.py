"""One pass of byte-level GPTs of several sizes over reviews or source packages, on a CUDA machine.

    python benchmarks/certificates/language_scaling.py --sample reviews --data FOLDER \
        --out results/certificates/language-reviews.json
    python benchmarks/certificates/debian_texts.py --root ROOT --out packages.jsonl
    python benchmarks/certificates/language_scaling.py --sample packages --texts packages.jsonl \
        --out results/certificates/language-packages.json

Fixed beforehand is all of `SAMPLES`, `SIZES`, `DESCENT` and `PLAN`: what a unit is and where it is
cut, the sizes, the training, and which size reads how many units under which seeds of the order.
Nothing here was set by a look at these texts. The stretch is the last half of the units read, and
δ = 0.05 for both numbers together. Copies and near-copies are left out by the rules of the sources,
so a certificate is about a unit that had not come before, and a model drawn anew for it.

`MARGINS` says what is expected of the runs over all reviews: the bounds within so many bits per
byte of what was measured, and the one on totals below what ``xz -9`` needs for the same units as
one file. Packages are few, and no margin is expected of them.

Each run has a folder of its own below ``--work``, and goes on from there after a kill when the same
command is given again; runs that ``--out`` has are passed over. ``--rows`` adds those of other
records, each in place of an earlier row of the same run. Compressors need no GPU, and minutes:
``--train-only`` leaves them out, and the same command without it adds them. ``--size``,
``--units``, ``--seed`` and ``--longest`` make other runs than the plan's, at any size on a
processor; a row says which it was, and of which form its bound on totals is (`TOTALS_FORM`).
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.certificates.sources.base import SOURCES
from dudley.certificates.texts.base import model_of
from dudley.certificates.texts.beside import Compared, compared
from dudley.certificates.texts.documents import Documents
from dudley.certificates.texts.forms import TOTALS_FORM, TextPass
from dudley.certificates.texts.learner import TextDescent
from dudley.certificates.texts.one_pass import CertifiedTexts, certify_texts
from dudley.certificates.texts.reading import texts_of
from dudley.core.backend import torch
from dudley.core.files import written
from dudley.core.provenance import provenance

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "results/certificates/store/language-scaling"


@dataclass(frozen=True)
class TextSample:
    """What a unit is, and where it is cut; shorter ones are left out."""

    unit: str
    longest: int
    shortest: int


@dataclass(frozen=True)
class PassRun:
    """A size, how many units it reads (0 is all), and the seed of their order."""

    size: str
    units: int
    seed: int


SAMPLES = {
    "reviews": TextSample("review", 2048, 100),
    "packages": TextSample("source package", 32_768, 1000),
}
SIZES: dict[str, dict[str, Any]] = {
    "5m": {"d": 256, "layers": 6, "heads": 4},
    "20m": {"d": 512, "layers": 6, "heads": 8},
    "50m": {"d": 640, "layers": 10, "heads": 10},
    "85m": {"d": 768, "layers": 12, "heads": 12},
}
CONTEXT = 2048  # longer units are read in windows
DESCENT = {
    "reviews": TextDescent(batch=32, rate=8e-4, warmup=100, least=0.05, half=True),
    "packages": TextDescent(batch=2, rate=8e-4, warmup=100, least=0.05, half=True),
}
PLAN = {
    "reviews": (
        *(PassRun("20m", 0, seed) for seed in (0, 1, 2)),
        *(PassRun(size, 0, 0) for size in ("5m", "50m", "85m")),
        *(PassRun("20m", units, 0) for units in (3125, 6250, 12_500, 25_000)),
    ),
    "packages": tuple(PassRun(size, 0, 0) for size in ("5m", "20m", "50m")),
}
MARGINS = {"reviews": 0.01}  # bits per byte, of runs over all units


def units_of(sample: str, data: Path | None, texts: Path | None) -> tuple[Iterator[bytes], Any]:
    """The texts of a sample, and where they are from: what is said beside a file of texts."""
    if texts is not None:
        said = texts.with_suffix(".json")
        words = json.loads(said.read_text(encoding="utf-8")) if said.is_file() else {}
        return texts_of(texts), {"file": texts.name} | words
    pool = SOURCES["imdb"]().pool(data)
    return (text.encode().replace(b"\0", b" ") for text in pool.items.X), asdict(pool.provenance)


def row_of(run: PassRun, made: CertifiedTexts) -> dict[str, Any]:
    """The certificates of a pass."""
    forms = {
        name: {
            "value": certificate.value,
            "mean_loss": certificate.facts.mean_loss,
            "limit": certificate.facts.limit,
            "counted": certificate.facts.counted,
            "quantity": certificate.quantity,
        }
        for name, certificate in made.certificates.items()
    }
    return {
        "run": asdict(run),
        "weights": made.weights,
        "bytes": sum(map(len, made.stretch)),
        "forms": forms,
        "totals_form": TOTALS_FORM,
        "apart": {name: form["value"] - form["mean_loss"] for name, form in forms.items()},
        "seconds_of_last_call": round(made.seconds, 1),
    }


def stretch_of(row: dict[str, Any], documents: Documents) -> tuple[bytes, ...]:
    """The documents of the stretch of a row."""
    run = row["run"]
    order = UnitOrder.of(documents.texts, run["seed"]).rows[: run["units"] or documents.n]
    texts = tuple(documents.texts[i] for i in order[len(order) // 2 :])
    if sum(map(len, texts)) != row["bytes"]:
        raise SystemExit(f"{run} read other texts than these")
    return texts


def add_compared(row: dict[str, Any], compressors: list[Compared], margin: float | None) -> None:
    """What compressors need for the same stretch, and whether what was expected came."""
    xz = next(each.totals for each in compressors if each.name.startswith("xz"))
    row["beside"] = [asdict(each) for each in compressors]
    row["expected"] = {"below_xz": row["forms"]["totals"]["value"] < xz}
    if margin is not None and row["run"]["units"] == 0:
        row["expected"]["within_margin"] = max(row["apart"].values()) <= margin


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", choices=SAMPLES, required=True)
    parser.add_argument("--data", type=Path, help="where the package of the reviews lies")
    parser.add_argument("--texts", type=Path, help="JSON lines of units, in place of a package")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=Path, action="append", default=[])
    parser.add_argument("--train-only", action="store_true")
    parser.add_argument("--size", action="append", choices=SIZES)
    parser.add_argument("--units", action="append", type=int)
    parser.add_argument("--seed", action="append", type=int)
    parser.add_argument("--longest", type=int)
    parser.add_argument("--shortest", type=int)
    parser.add_argument("--set", action="append", default=[], help="of the model: name=number")
    options = parser.parse_args(arguments)
    plan, sample, descent = PLAN[options.sample], SAMPLES[options.sample], DESCENT[options.sample]
    chosen = (options.size, options.units, options.seed)
    if any(chosen):
        defaults = zip(chosen, (("20m",), (0,), (0,)), strict=True)
        plan = tuple(PassRun(*each) for each in itertools.product(*(a or b for a, b in defaults)))
    changed = {"longest": options.longest, "shortest": options.shortest}
    sample = replace(sample, **{name: value for name, value in changed.items() if value})
    if options.device == "cpu":
        descent = TextDescent()
    settings = {name: int(value) for name, value in (each.split("=") for each in options.set)}
    raw, source = units_of(options.sample, options.data, options.texts)
    documents = Documents.of(raw, sample.longest, sample.shortest, distinct=True)
    counts = {name: getattr(documents, name) for name in ("n", "cut", "short", "copies")}
    record: dict[str, Any] = {
        "delta": 0.05,
        "sample": asdict(sample) | {"source": source, "units": counts},
        "descent": asdict(descent),
        "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu",
        "rows": [],
    }
    for path in (options.out, *options.rows):
        if path.exists():
            earlier = json.loads(path.read_text(encoding="utf-8"))
            record |= {name: earlier[name] for name in ("descent", "device", "provenance")}
            added = [row["run"] for row in earlier["rows"]]
            record["rows"] = [row for row in record["rows"] if row["run"] not in added]
            record["rows"] += earlier["rows"]

    def write() -> None:
        order = [asdict(run) for run in PLAN[options.sample]]
        last = len(order)
        record["rows"].sort(key=lambda r: order.index(r["run"]) if r["run"] in order else last)
        with written(options.out) as file:
            file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    for run in plan:
        if asdict(run) in [row["run"] for row in record["rows"]]:
            continue
        shape = {"context": min(CONTEXT, sample.longest), "windows": True}
        made = certify_texts(
            model_of("gpt", SIZES[run.size] | shape | settings),
            documents,
            options.work / f"{options.sample}-{run.size}-{run.units}-{run.seed}",
            TextPass(n=run.units, seed=run.seed, unit=sample.unit),
            descent,
            device=options.device,
            say=lambda line: print(line, flush=True),
        )
        record["rows"].append(row_of(run, made))
        print(json.dumps(record["rows"][-1]), flush=True)
        record["provenance"] = provenance()
        write()
    if options.train_only:
        return
    of_stretch: dict[tuple[int, int], list[Compared]] = {}
    for row in record["rows"]:
        if "beside" not in row:
            key = row["run"]["units"], row["run"]["seed"]
            if key not in of_stretch:
                of_stretch[key] = list(compared(stretch_of(row, documents)))
            add_compared(row, of_stretch[key], MARGINS.get(options.sample))
    write()


if __name__ == "__main__":
    main()

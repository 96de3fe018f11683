"""Results of benchmarks/gpu_train.py as the record of edelman2021-and: plain names, findings.

    PYTHONPATH=src python benchmarks/experiment_records.py RAW results

RAW holds and.parquet, train.json and provenance.json of a GPU run of the printed protocol.
Provenance (machine, sources, seconds) is that of the run; findings are made here, and so are the
trained norms that bounds are read at, on a processor, unless they are there already.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]

import pyarrow.parquet as pq  # noqa: E402

from dudley.lab.conduct import record  # noqa: E402
from dudley.lab.experiment import EXPERIMENTS, Bench  # noqa: E402
from dudley.lab.experiments.edelman2021_and import experiment as edelman2021_and  # noqa: E402
from dudley.lab.shared.training_table import PLAIN  # noqa: E402

NAME, PART, PROTOCOL = "edelman2021-and", "and", "protocol"


def plain(path: Path) -> dict:
    """The columns of a raw table under plain names."""
    raw = pq.read_table(path)
    columns = {
        name: raw[full].to_numpy() for name, full in PLAIN.items() if full in raw.column_names
    }
    curves = [name for name in raw.column_names if name.startswith("curve.")]
    return columns | {name.removeprefix("curve."): [*raw[name].to_numpy()] for name in curves}


def convert(raw: Path, results: Path) -> None:
    run = json.loads((raw / "provenance.json").read_text(encoding="utf-8"))
    timed = json.loads((raw / "train.json").read_text(encoding="utf-8"))["parts"][PART]
    config = EXPERIMENTS[NAME].config("paper")
    if config[PROTOCOL] != run["config"][PART]:
        raise SystemExit(f"{PART}: the run's protocol is not the experiment's")
    folder, columns = results / NAME / "paper", plain(raw / f"{PART}.parquet")
    folder.mkdir(parents=True, exist_ok=True)
    edelman2021_and.keep(config, columns, folder)
    if not (folder / "bounds.parquet").is_file():
        edelman2021_and.bounds(config, folder, Bench())
    record(NAME, "paper", config, folder, Bench(), timed["seconds"])
    path = folder / "provenance.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    here = {key: document[key] for key in ("src_sha256", "machine", "precision")}
    document["made_here"] = {"findings.json": here, "bounds.parquet": here}
    carried = ("command", "src_sha256", "machine", "precision", "seed")
    document |= {key: run[key] for key in carried} | {"packing": run["packing"][PART]}
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("raw", type=Path)
    parser.add_argument("results", type=Path)
    options = parser.parse_args()
    convert(options.raw, options.results)


if __name__ == "__main__":
    main()

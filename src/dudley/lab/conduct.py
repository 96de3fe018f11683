"""Conduct an experiment: run, analyse, and leave results with their provenance in a folder.

A results folder holds the tables, ``findings.json`` and ``provenance.json`` (config and its hash,
seeds, versions, device, seconds, packing, sha256 of the sources and of every output).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dudley import __version__
from dudley.core.errors import InputError
from dudley.core.files import written
from dudley.core.outside import executed
from dudley.core.provenance import gpu_driver, provenance
from dudley.core.sources import code_digest
from dudley.lab.experiment import SCALES, Bench, Experiment, Finding
from dudley.lab.outside import file_of, known
from dudley.lab.record import FINDINGS, RECORD, findings
from dudley.lab.shared.sequential import designed

if TYPE_CHECKING:
    from dudley.lab.store.location import RunLocation
    from dudley.lab.store.store import Store

Seen = TypeVar("Seen")
VERSIONS = ("numpy", "scipy", "torch", "pyarrow", "numba")


def conduct(
    name: str, scale: str, folder: Path, bench: Bench | None = None, design: str = "full"
) -> list[Finding]:
    """Run an experiment at a scale into a folder, and say what was found."""
    if scale not in SCALES:
        raise InputError("scale", " | ".join(SCALES), scale)
    experiment, bench = known()[name], bench or Bench()
    config = designed(experiment, scale, design)
    folder.mkdir(parents=True, exist_ok=True)
    for table in folder.glob("*.parquet"):  # of a run that was broken off, perhaps of another one
        table.unlink()
    earlier = starts(bench.location(folder))
    start = time.perf_counter()
    experiment.run(config, folder, bench)
    record(name, scale, config, folder, bench, time.perf_counter() - start, earlier)
    return findings(folder)


def starts(location: RunLocation) -> list[dict[str, str]]:
    """Which processes began or continued the grids at a location, and with which sources."""
    every = itertools.chain(*in_every_store(location, lambda store: store.starts()).values())
    first: dict[tuple[str, str], str] = {}
    for at, owner, code in sorted(every):
        first.setdefault((owner, code), at)
    return [{"at": at, "src_sha256": code} for (_, code), at in first.items()]


def packing(location: RunLocation) -> dict[str, list[int]]:
    """How many trials each batch of every grid at a location holds.

    The last digits of results depend on it: a kernel may round otherwise in another batch.
    """
    return in_every_store(location, lambda store: [len(batch) for batch in store.packing])


def in_every_store(location: RunLocation, look: Callable[[Store], Seen]) -> dict[str, Seen]:
    """Call a function on every store at a location: the answers by the names of the stores.

    Where there is no store, there are no answers.
    """
    from dudley.lab.store.find import stores
    from dudley.lab.store.store import Store

    try:
        locations = stores(location)
    except InputError:  # there is none
        return {}
    seen = {}
    for name, inner in locations.items():
        with closing(Store.open(inner)) as store:
            seen[name] = look(store)
    return seen


def record(
    name: str,
    scale: str,
    config: dict[str, Any],
    folder: Path,
    bench: Bench,
    seconds: float,
    earlier: Sequence[Mapping[str, str]] = (),
) -> None:
    """Analyse the tables of a folder, and write findings and provenance beside them.

    ``seconds`` are those of the last start; those that it went on from are told beside it.
    """
    analyse(name, config, folder, scale)
    provenance_record = provenance() | {
        "experiment": name,
        "scale": scale,
        **digests_of(config, folder.glob("*.parquet")),
        "machine": _machine(bench.device),
        "precision": "float32" if bench.device == "cpu" else config.get("precision", "fast"),
        "seconds": seconds,
        "packing": packing(bench.location(folder)),
        **outside_file(known()[name]),
        **({"earlier_starts": list(earlier)} if earlier else {}),
        **({} if bench.memory is None else {"memory_of_a_batch": bench.memory}),
        **({} if bench.on == "local" else {"on": bench.on, "workers": bench.workers}),
    }
    _write(folder / RECORD, provenance_record)


def outside_file(experiment: Experiment) -> dict[str, Any]:
    """The file that the user named, by name and sha256, where it brought the experiment."""
    file = file_of(experiment)
    if file not in executed():
        return {}
    return {"file": {"name": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}}


def digests_of(config: Mapping[str, Any], outputs: Iterable[Path]) -> dict[str, Any]:
    """The config of a record, and the sha256 of the config, of the sources and of its files."""
    text = json.dumps(config, sort_keys=True)
    return {
        "config": json.loads(text),
        "config_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "src_sha256": code_digest(),
        "outputs": {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(outputs)},
    }


def analyse(name: str, config: dict[str, Any], folder: Path, scale: str) -> list[Finding]:
    """What follows from the tables, written to findings.json; nothing is decided by smoke."""
    conclusions = [one.at_scale(scale) for one in known()[name].analyse(config, folder)]
    _write(folder / FINDINGS, [finding.as_json() for finding in conclusions])
    return conclusions


def _write(path: Path, content: Any) -> None:
    """Write JSON; if that fails, the file stays as it was before."""
    with written(path) as part:
        part.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _machine(device: str) -> dict[str, Any]:
    machine: dict[str, Any] = {"dudley": __version__, "python": platform.python_version()}
    for package in VERSIONS:
        try:
            machine[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            machine[package] = None
    if device.startswith("cuda"):
        from dudley.core.backend import torch

        machine |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda}
        machine["driver"] = gpu_driver()
    return machine

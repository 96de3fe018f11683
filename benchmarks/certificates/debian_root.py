"""Unpack binary packages of Debian's source packages, drawn by a seed, into a folder of their own.

    apt-get update -o Acquire::Languages=en
    apt-cache dumpavail > avail.txt
    python benchmarks/certificates/debian_root.py --avail avail.txt --sources 3000 --seed 0 ROOT
    python benchmarks/certificates/debian_texts.py --root ROOT --release WORDS --out packages.jsonl

Sources are drawn without replacement from those of the list, all where ``--sources`` is 0. Those
that another list has (``--without``) are left out before. Of each the binary packages of at most
`MOST` bytes are taken, the smallest first, while they have at most `TOGETHER` in all, or with
``--one`` the smallest alone: what is larger are mostly programs and pictures. `apt-get download`
brings them and checks their hashes; they are unpacked, not installed, and nothing of them is run.
``ROOT`` gets the records that `dudley.certificates.texts.debian` reads. ``--apt OPTION`` is handed
on to apt.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

MOST, TOGETHER = 300_000, 600_000
MANY = 100  # packages of one call of apt
KEYS = ("Package", "Source", "Version", "Architecture")


def by_source(avail: Path) -> dict[str, dict[str, dict[str, str]]]:
    """The records of a list of binary packages, by source and name."""
    records: dict[str, dict[str, dict[str, str]]] = {}
    for stanza in avail.read_text(encoding="utf-8", errors="replace").split("\n\n"):
        record = dict(re.findall(r"^([A-Za-z-]+): *(.*)$", stanza, re.MULTILINE))
        if "Package" in record:
            source = record.get("Source", record["Package"]).split(" ")[0]
            records.setdefault(source, {})[record["Package"]] = record
    return records


def drawn(options: argparse.Namespace) -> dict[str, dict[str, str]]:
    """The records of the binary packages of so many sources, by name."""
    records = by_source(options.avail)
    left_out = {source for avail in options.without for source in by_source(avail)}
    sources = sorted(records.keys() - left_out)
    order = np.random.default_rng(options.seed).permutation(len(sources))
    chosen: dict[str, dict[str, str]] = {}
    for i in order[: options.sources or None]:
        whole = 0
        packages = records[sources[i]].values()
        smallest = sorted(packages, key=lambda record: (int(record["Size"]), record["Package"]))
        for record in smallest[:1] if options.one else smallest:
            whole += int(record["Size"])
            if int(record["Size"]) <= MOST and whole <= TOGETHER:
                chosen[record["Package"]] = record
    return chosen


def unpack(archive: Path, record: dict[str, str], root: Path) -> None:
    """The files of an archive, and their names as dpkg lists them."""
    extract = ["tar", "-x", "-C", root, "--no-same-owner", "--no-same-permissions"]
    tar = _output(["dpkg-deb", "--fsys-tarfile", archive])
    lines = _output(["tar", "-t"], tar).decode("utf-8", "replace").splitlines()
    listed = root / "var/lib/dpkg/info" / f"{record['Package']}.list"
    paths = "".join(f"{line.removeprefix('.')}\n" for line in lines)
    listed.write_text(paths, encoding="utf-8")
    _output([*extract, "--skip-old-files"], tar)


def _output(command: list[str | Path], stdin: bytes = b"") -> bytes:
    return subprocess.run(command, input=stdin, check=True, capture_output=True).stdout


def download(
    records: dict[str, dict[str, str]], folder: str, options: list[str]
) -> dict[str, Path]:
    """The archives that apt brings, by the name of the package."""
    apt = ["apt-get", "download", "-q", *(f"-o{option}" for option in options)]
    wanted = [f"{name}={record['Version']}" for name, record in records.items()]

    def bring(part: list[str]) -> None:
        subprocess.run([*apt, *part], cwd=folder, stdout=subprocess.DEVNULL, check=False)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(bring, (wanted[i : i + MANY] for i in range(0, len(wanted), MANY))))
    return {path.name.split("_")[0]: path for path in Path(folder).glob("*.deb")}


def stanza(record: dict[str, str]) -> str:
    """What the records of the root say of a package."""
    lines = [f"{key}: {record[key]}" for key in KEYS if key in record]
    return "\n".join([*lines, "Status: install ok installed"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--avail", type=Path, required=True)
    parser.add_argument("--sources", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--without", type=Path, action="append", default=[])
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--apt", action="append", default=[])
    options = parser.parse_args()
    records = drawn(options)
    (options.root / "var/lib/dpkg/info").mkdir(parents=True)
    size = sum(int(record["Size"]) for record in records.values())
    print(f"{len(records):,} binary packages, {size / 1e6:,.0f} MB", flush=True)
    unpacked = []
    with tempfile.TemporaryDirectory() as folder:
        archives = download(records, folder, options.apt)
        for name, record in records.items():
            if name in archives:
                unpack(archives[name], record, options.root)
                unpacked.append(record)
    status = "\n\n".join(map(stanza, unpacked)) + "\n"
    (options.root / "var/lib/dpkg/status").write_text(status, encoding="utf-8")
    print(f"{len(unpacked):,} unpacked")


if __name__ == "__main__":
    main()

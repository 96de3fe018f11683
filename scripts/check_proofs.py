"""Check every proof of `proof/` with Coq, and what it rests on: `make proof`.

    python scripts/check_proofs.py [-j JOBS]

The sources are built in `build/proof`. Then Coq is asked for the assumptions of every theorem. All
must be closed under the global context, but for Coq's own real numbers and primitive integers: an
axiom, a parameter or an admitted proof fails, and so does a source that is not in `_CoqProject`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROOF, BUILD = ROOT / "proof", ROOT / "build" / "proof"
GET = (
    "make proof needs Coq 8.16 with mathcomp 1.15: "
    "apt-get install coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics"
)
UNPROVED = re.compile(r"\b(Admitted|admit|Axioms?|Parameters?|Conjectures?|bypass_check)\b")
COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
STATED = re.compile(r"^(?:Theorem|Corollary|Lemma|Fact|Proposition)\s+([^\s:({\[]+)", re.MULTILINE)
CLOSED = "Closed under the global context"
COQS = re.compile(r"(Coq\.Reals\.|ClassicalDedekindReals\.|Uint63\.|PrimInt63\.)")


def listed() -> list[str]:
    """The names of the sources, in the order of `_CoqProject`."""
    lines = (PROOF / "_CoqProject").read_text(encoding="utf-8").splitlines()
    return [line.removesuffix(".v") for line in lines if line.endswith(".v")]


def unproved(text: str) -> list[str]:
    """The commands of a source that assume what they should prove; comments are left out."""
    return [match[0] for match in UNPROVED.finditer(COMMENT.sub("", text))]


def assumed(output: str) -> list[str]:
    """What Coq printed beyond closed theorems and its own real numbers and integers."""
    lines = [line for line in output.splitlines() if line and not line[0].isspace()]
    return [line for line in lines if line not in (CLOSED, "Axioms:") and not COQS.match(line)]


def build(names: list[str], jobs: int) -> None:
    """Compile the sources in the build folder; what has not changed is not compiled again."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for stale in {path.stem for path in BUILD.glob("*.v")} - set(names):
        for path in BUILD.glob(f"{stale}.*"):
            path.unlink()
    for file in ("_CoqProject", *(f"{name}.v" for name in names)):
        if not same(PROOF / file, BUILD / file):
            shutil.copy(PROOF / file, BUILD / file)
    run("coq_makefile", "-f", "_CoqProject", "-o", "Makefile.coq")
    run("make", "--no-print-directory", "-f", "Makefile.coq", f"-j{jobs}")


def same(source: Path, copy: Path) -> bool:
    return copy.is_file() and copy.read_bytes() == source.read_bytes()


def run(*command: str) -> str:
    """The output of a command in the build folder; where it fails, so do we."""
    done = subprocess.run(command, cwd=BUILD, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}make proof: {command[0]} failed")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", type=int, default=1, metavar="JOBS")
    jobs = parser.parse_args().j
    if not shutil.which("coqc") or not shutil.which("coq_makefile"):
        print(GET, file=sys.stderr)
        sys.exit(2)
    names, texts = listed(), {p.stem: p.read_text(encoding="utf-8") for p in PROOF.glob("*.v")}
    if set(names) != set(texts):
        sys.exit(f"_CoqProject and proof/ differ: {', '.join(sorted(set(names) ^ set(texts)))}")
    if odd := [f"{name}.v: {word}" for name in names for word in unproved(texts[name])]:
        sys.exit("not proved:\n" + "\n".join(odd))
    build(names, jobs)
    theorems = [f"{name}.{stated}" for name in names for stated in STATED.findall(texts[name])]
    lines = [f"From dudley Require {' '.join(names)}."]
    lines += [f"Print Assumptions {theorem}." for theorem in theorems]
    (BUILD / "Assumptions.v").write_text("\n".join(lines) + "\n", encoding="utf-8")
    output = run("coqc", "-Q", ".", "dudley", "-w", "none", "Assumptions.v")
    (BUILD / "assumptions.txt").write_text(output, encoding="utf-8")
    if odd := assumed(output):
        sys.exit("these proofs assume more than Coq's own numbers:\n" + "\n".join(odd))
    closed = output.splitlines().count(CLOSED)
    if closed + output.splitlines().count("Axioms:") != len(theorems):
        sys.exit(f"{len(theorems)} theorems, but Coq answered for {closed}")
    print(f"{len(theorems)} theorems in {len(names)} files; {closed}: {CLOSED.lower()}")


if __name__ == "__main__":
    main()

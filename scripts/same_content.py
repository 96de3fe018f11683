"""Two checkouts of the package: is everything that they show the same?

    python scripts/same_content.py OLD NEW [--words]

Compared are the committed pages (ERRATA.md, docs/), the records (results/), what commands print
(--json, and with --words the terminal text too), pages that `dudley report` writes, and answers of
the explorer. What must differ is put on one footing first: the version, the digest of the
sources, times, and the places of moved source files. Each difference is shown; exit 1 if there is
any. Use it before and after a change that is to change nothing.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SHOWN = 12  # lines of a difference
VALUES = "n=1e6 T=128 d=64 k=64 X.row2inf=1 W_QK.l11=20 W_v.l11=1 W_c.l11=1 w.l1=1 delta=0.05"
COMMANDS = [
    "derive single-head n=1e5 delta=0.05 --explain",
    "derive bert-base n=1e6 --proof",
    "derive --checkpoint tiny-bert n=1e6 delta=0.05 T=6",
    "theorems",
    "theorems --paper li2026",
    "theorems show edelman2021/theorem-4.2",
    "theorems show li2026/theorem-3",
    f"compare {VALUES}",
    f"compare {VALUES} --sweep T=16:512:lin5 --missing",
    "compare d=64 k=64 X.row2inf=1 W.l11=2 epsilon=0.5",
    "evaluate trauger2024/lemma-3.6 d=64 k=64 W.l11=1 X.row2inf=1 epsilon=0.5",
    "construct and --T 10 --s 3 --indices 1,4,7",
    "construct majority --T 12 --s 3 --coherence 0.05 --form printed --indices 1,4,7",
    "measure tiny-bert",
    "certify model sparse-and",
    "verify sparse-and",
    "audit trauger2024/lemma-3.5 --seed 1",
    "lab list",
    "--help",
    "lab run --help",
    "certify model --help",
]
QUERY = VALUES.replace(" ", "&")
ADDRESSES = [
    "/",
    "/app.css",
    "/app.js",
    f"/api/bounds?{QUERY}",
    f"/api/bounds?{QUERY}&source=calculus",
    "/api/bounds?n=-1",
    "/api/statements",
    "/api/statements/edelman2021/theorem-4.2",
    "/api/blocks",
    "/api/experiments",
    "/api/experiments/committed/edelman2021-and/paper",
    "/api/figures/committed/edelman2021-and/paper/success.svg",
]
EXPLORER = """
import json, sys
from dudley.web.app import create_app
from dudley.web.check import ask
from dudley.web.safety import Settings
app = create_app(Settings())
answers = {}
for address in json.loads(sys.argv[1]):
    answer = ask(app, address)
    answers[address] = [answer.status, answer.body.decode()]
print(json.dumps(answers))
"""
# (pattern, what stands for it): what may differ between two versions of the sources.
FOOTING = [
    (r"dudley 0\.\d+\.\d+", "dudley VERSION"),
    (r'"dudley": "0\.\d+\.\d+"', '"dudley": "VERSION"'),
    (r"0\.[12]\.0(?=[\"'\s<])", "VERSION"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME"),
    (r"src/dudley/(theorems/)?witness/", "src/dudley/WITNESS/"),
    (r"src/dudley/(theorems/)?constructions/", "src/dudley/CONSTRUCTIONS/"),
    (r"src/dudley/(measure|weights)/", "src/dudley/WEIGHTS/"),
    (r'"(seconds|wall_s|elapsed|time|date)": [^,}\n]+', r'"\1": TIME'),
    (r"\b\d+(\.\d+)? (ms|s|seconds)\b", "TIME"),
]


def on_one_footing(text: str) -> str:
    for pattern, meaning in FOOTING:
        text = re.sub(pattern, meaning, text)
    return text


def run(tree: Path, words: list[str], folder: str) -> str:
    """What a command of this checkout prints, and its exit code."""
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "COLUMNS": "100",
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=environment, cwd=folder
    )
    return f"{done.stdout}\n{done.stderr}\nexit {done.returncode}\n"


def committed(tree: Path) -> dict[str, str]:
    """Pages and records as they are committed."""
    listed = subprocess.run(
        ["git", "ls-files", "ERRATA.md", "docs", "results"],
        capture_output=True,
        text=True,
        cwd=tree,
        check=True,
    )
    contents = {}
    for name in listed.stdout.split():
        path = tree / name
        if path.suffix in (".md", ".json", ".svg", ".csv", ".toml"):
            contents[name] = path.read_text(encoding="utf-8")
        else:
            contents[name] = path.read_bytes().hex()
    return contents


def printed(tree: Path, words_too: bool) -> dict[str, str]:
    """What commands print, what `report` writes and what the explorer answers."""
    contents = {}
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            words = ["-m", "dudley", *command.split()]
            contents[f"{command} --json"] = run(tree, [*words, "--json"], folder)
            if words_too:
                contents[command] = run(tree, words, folder)
        results = tree / "results" / "edelman2021-and" / "paper"
        for source, name in (("sparse-and", "certificate"), (str(results), "experiment")):
            for ending in ("html", "md", "tex"):
                page = Path(folder) / f"{name}.{ending}"
                run(tree, ["-m", "dudley", "report", source, "--out", str(page)], folder)
                text = page.read_text(encoding="utf-8") if page.is_file() else "none"
                contents[f"report {name}.{ending}"] = text
        answers = run(tree, ["-c", EXPLORER, json.dumps(ADDRESSES)], folder)
        try:
            answered = json.loads(answers.splitlines()[0])
        except (IndexError, json.JSONDecodeError):
            answered = {"explorer": answers}
        contents |= {f"explorer {address}": str(a) for address, a in answered.items()}
    return {name: text.replace(str(tree), "TREE") for name, text in contents.items()}


def differences(old: dict[str, str], new: dict[str, str]) -> list[str]:
    texts = []
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            texts.append(f"{name}: only {'before' if name in old else 'after'}")
            continue
        before, after = on_one_footing(old[name]), on_one_footing(new[name])
        if before != after:
            lines = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=0)
            cut = [line[:200] for line in list(lines)[2 : 2 + SHOWN]]
            texts.append("\n    ".join([f"{name}: differs", *cut]))
    return texts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--words", action="store_true", help="compare terminal text too")
    choices = parser.parse_args()
    old, new = choices.old.resolve(), choices.new.resolve()
    before = committed(old) | printed(old, choices.words)
    after = committed(new) | printed(new, choices.words)
    texts = differences(before, after)
    print("\n".join(texts) or "nothing differs")
    print(f"{len(before)} things compared, {len(texts)} differ")
    return bool(texts)


if __name__ == "__main__":
    sys.exit(main())

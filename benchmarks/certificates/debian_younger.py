"""Write the descriptions of Debian packages that first came after a day, one source package a line.

    /usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*sid*Translation-en* > translation.txt
    python benchmarks/certificates/debian_root.py --avail sid.txt --without trixie.txt \\
        --without bookworm.txt --without bullseye.txt --sources 0 --one --seed 0 ROOT
    python benchmarks/certificates/debian_younger.py --root ROOT --descriptions translation.txt \\
        --since 2025-03-01 --release WORDS --out younger.jsonl

``ROOT`` has a package of each source that no list of ``--without`` names. A source is *younger* if
the first entry of its changelog is of that day or later, and nothing says that entries before were
left out; where no changelog is found it is not. The text is the long description of that package on
one line. A text that another package of ``--descriptions`` has as well, whatever its source and
age, is left out. The texts are their authors' and are not shipped; the summary beside them
(``.json``) has counts and the hash.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from email.utils import parsedate_to_datetime
from pathlib import Path

from dudley.certificates.texts.debian import source_packages
from dudley.core.files import written
from dudley.core.provenance import provenance

ENTRY = re.compile(r"^ -- .*?>  ?(.+?)\s*$", re.MULTILINE)
CUT = "Older entries have been removed"
CHANGELOGS = ("changelog.Debian.gz", "changelog.gz")


def descriptions(translation: Path) -> dict[str, str]:
    """The long descriptions of packages by name, each on one line."""
    whole, by_name = translation.read_text(encoding="utf-8", errors="replace"), {}
    for stanza in whole.split("\n\n"):
        name = re.search(r"^Package: (\S+)$", stanza, re.MULTILINE)
        text = re.search(r"^Description(?:-en)?: (.*(?:\n .*)*)", stanza, re.MULTILINE)
        if name and text:
            lines = (line.strip() for line in text[1].splitlines())
            by_name[name[1]] = " ".join(line for line in lines if line != ".")
    return by_name


def first_day(changelog: Path) -> date | None:
    """The day of the first entry; None where it is not known."""
    text = gzip.decompress(changelog.read_bytes()).decode("utf-8", "replace")
    entries = ENTRY.findall(text)
    if not entries or CUT in text:
        return None
    try:
        return min(parsedate_to_datetime(entry) for entry in entries[-1:]).date()
    except ValueError:
        return None


def younger(root: Path, since: date) -> Iterator[tuple[str, str, date]]:
    """Source, binary package and first day of what came on that day or later."""
    for source in source_packages(root):
        for path in source.files:
            if path.name in CHANGELOGS and path.parent.parent.name == "doc":
                day = first_day(path)
                if day is not None and day >= since:
                    yield source.name, path.parent.name, day
                break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--descriptions", type=Path, required=True)
    parser.add_argument("--since", type=date.fromisoformat, required=True)
    parser.add_argument("--release", default="", help="version and date of the lists")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    texts = descriptions(options.descriptions)
    times = Counter(texts.values())
    lines, days, repeated = [], [], 0
    for source, package, day in younger(options.root, options.since):
        text = texts.get(package, "")
        repeated += times[text] > 1
        if times[text] == 1:
            line = {"source": source, "package": package, "first": str(day), "text": text}
            lines.append(json.dumps(line, ensure_ascii=False) + "\n")
            days.append(day)
    whole = "".join(lines).encode()
    with written(options.out) as file:
        file.write_bytes(whole)
    summary = {
        "release": options.release,
        "since": str(options.since),
        "source_packages": len(lines),
        "first": [str(min(days)), str(max(days))],
        "text of another package": repeated,
        "sha256": hashlib.sha256(whole).hexdigest(),
        "provenance": provenance(),
    }
    out = json.dumps(summary, indent=1) + "\n"
    options.out.with_suffix(".json").write_text(out, encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()

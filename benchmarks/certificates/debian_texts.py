"""Write the texts of Debian packages as JSON lines, one source package a line, with licences.

    python benchmarks/certificates/debian_texts.py --root / --out packages.jsonl

The rule of what is read and what is left out is that of `dudley.certificates.texts.debian`. The
texts are their authors' and are not shipped; the summary beside them (``.json``) has counts,
licences and the hash. Then

    dudley certify language packages.jsonl --distinct --unit "source package" --longest 32768 \
        --shortest 1000 --model gpt --set windows=true
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from dudley.certificates.texts.debian import package_texts
from dudley.core.files import written
from dudley.core.provenance import provenance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path("/"))
    parser.add_argument("--release", default="", help="version and date of the system")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    licences: Counter[str] = Counter()
    packages = size = shared = unshared = 0
    whole = hashlib.sha256()
    with written(options.out) as place, place.open("w", encoding="utf-8") as file:
        for package in package_texts(options.root):
            line = json.dumps(asdict(package), ensure_ascii=False) + "\n"
            file.write(line)
            whole.update(line.encode())
            licences.update(package.licences)
            packages += 1
            size += len(package.text.encode())
            unshared, shared = unshared + package.paragraphs, shared + package.shared
    summary = {
        "release": options.release,
        "source_packages": packages,
        "bytes": size,
        "paragraphs": {"read": unshared, "left out as shared": shared},
        "licences": dict(licences.most_common()),
        "sha256": whole.hexdigest(),
        "provenance": provenance(),
    }
    text = json.dumps(summary, indent=1, ensure_ascii=False) + "\n"
    options.out.with_suffix(".json").write_text(text, encoding="utf-8")
    print(json.dumps({name: summary[name] for name in ("source_packages", "bytes", "paragraphs")}))


if __name__ == "__main__":
    main()

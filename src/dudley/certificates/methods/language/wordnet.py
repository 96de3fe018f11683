"""WordNet's glosses: 117,659 short definitions in the Debian package ``wordnet-base``.

A document is the gloss of one synset: a definition and, for some, examples. Texts that occur twice
and texts shorter than ``shortest`` are left out. ``apt-get install wordnet-base`` puts the files
into /usr/share/wordnet (WordNet 3.0 licence, Princeton University: free to use and to distribute);
no text of theirs is part of this package. Miller 1995.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from dudley.certificates.methods.language.corpus import Corpus
from dudley.core.errors import InputError

FOLDER = Path("/usr/share/wordnet")
PACKAGE = "wordnet-base 1:3.0-37 (Debian 12)"
FILES = ("data.adj", "data.adv", "data.noun", "data.verb")
# Of the four files, one after another.
SHA256 = "512500d3515c3ebb31bb9bce65910968272a93103d6d4687f99cefaa1f6e11ed"


def glosses(folder: str | Path = FOLDER) -> list[tuple[str, str]]:
    """(synset, text) for every synset, in the order of the files, which must be the known ones."""
    raw = []
    for name in FILES:
        path = Path(folder) / name
        if not path.is_file():
            fix = "apt-get install wordnet-base"
            raise InputError("WordNet", f"the file {name} in {folder}", "none", fix)
        raw.append(path.read_bytes())
    digest = hashlib.sha256(b"".join(raw)).hexdigest()
    if digest != SHA256:
        raise InputError("WordNet", f"files of {PACKAGE}, sha256 {SHA256[:12]}…", digest)
    return [
        (f"{name}:{line.split(' ', 1)[0]}", line.split(" | ", 1)[1].strip())
        for name, whole in zip(FILES, raw, strict=True)
        for line in whole.decode("latin-1").splitlines()
        if not line.startswith("  ")  # the licence
    ]


def wordnet(T: int = 64, shortest: int = 16, folder: str | Path = FOLDER) -> Corpus:
    """The glosses as a corpus, each text once."""
    seen: dict[str, str] = {}
    for synset, text in glosses(folder):
        if len(text) >= shortest:
            seen.setdefault(text, synset)
    return Corpus.of(list(seen), list(seen.values()), T, shortest)

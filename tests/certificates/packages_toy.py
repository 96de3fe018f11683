"""Small packages with the layout of the real ones: wheels, tarballs, and folders of both."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def metadata(name: str, version: str, licence: str) -> str:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nLicense: {licence}\n\nwords\n"


def wheel(folder: Path, name: str, version: str, files: Mapping[str, bytes], licence="MIT") -> Path:
    """A wheel as pip downloads it."""
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            archive.writestr(file, content)
        archive.writestr(f"{stem}.dist-info/METADATA", metadata(name, version, licence))
        archive.writestr(f"{stem}.dist-info/RECORD", "".join(f"{file},,\n" for file in files))
    return path


def tarball(
    folder: Path, name: str, version: str, files: Mapping[str, bytes], licence="ISC"
) -> Path:
    """A .tgz as npm packs it."""
    path = folder / f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
    described = json.dumps({"name": name, "version": version, "license": licence}).encode()
    with tarfile.open(path, "w:gz") as archive:
        for file, content in {"package.json": described, **files}.items():
            member = tarfile.TarInfo(f"package/{file}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def installed(folder: Path, archive: Path) -> Path:
    """A wheel's files where pip puts them."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return folder


def node_module(folder: Path, name: str, archive: Path) -> Path:
    """A tarball's files where npm puts them; the folder that has ``node_modules``."""
    home = folder / "node_modules" / name
    home.mkdir(parents=True)
    with tarfile.open(archive) as packed:
        for member in packed:
            target = home / member.name.removeprefix("package/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(packed.extractfile(member).read())
    return folder


def idx(array: np.ndarray) -> bytes:
    """An IDX file of bytes."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


def mnist_files(X: np.ndarray, y: np.ndarray, test: int) -> dict[str, bytes]:
    parts = {"train": slice(None, -test), "t10k": slice(-test, None)}
    return {
        f"data/{part}-{kind}-ubyte": idx(array[rows])
        for part, rows in parts.items()
        for kind, array in (("images-idx3", X), ("labels-idx1", y))
    }


def mail_files(mails: Mapping[str, str]) -> dict[str, bytes]:
    """``{"spam-1/00001": mail}`` as files of JSON."""
    return {
        f"data/{name}.json": json.dumps({"group": name.partition("/")[0], "text": text}).encode()
        for name, text in mails.items()
    }

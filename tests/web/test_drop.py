"""Dropped files: measured or verified as by the command line; refused otherwise."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from dudley.core.errors import InputError
from dudley.networks.files import EXAMPLES
from dudley.web import drop
from dudley.web.app import create_app
from dudley.web.check import Reply, ask
from dudley.web.safety import Settings
from dudley.weights.measure import measure
from each import each

CERTIFICATE = EXAMPLES / "sparse-and"
PARTS = ("certificate.json", "model.safetensors", "train.npz")


def sent(fetch, parts: dict[str, bytes], **more: str) -> Reply:
    announced = [("file", f"{name}:{len(data)}") for name, data in parts.items()]
    address = "/api/files?" + urlencode([*announced, *more.items()])
    return fetch(address, method="POST", body=b"".join(parts.values()))


def read_parts(folder: Path, *names: str) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


def test_a_certificate_is_verified(fetch):
    answer = sent(fetch, read_parts(CERTIFICATE, *PARTS)).json()
    assert answer["holds"] is True and answer["recomputed"] > 20
    assert answer["title"] == "Verified: at most 1.32 % errors"


def test_a_forged_certificate_does_not_hold(fetch):
    parts = read_parts(CERTIFICATE, *PARTS)
    said = json.loads(parts["certificate.json"])
    parts["certificate.json"] = json.dumps(said | {"value": said["value"] / 2}).encode()
    answer = sent(fetch, parts).json()
    assert answer["holds"] is False and answer["title"] == "Does not hold"
    assert answer["lead"] == [], "what is not true is not at the head"
    assert answer["html"].index("computed") < answer["html"].index("What the file claims")


def test_a_certificate_alone_is_read_and_not_called_verified(fetch):
    answer = sent(fetch, read_parts(CERTIFICATE, "certificate.json")).json()
    assert answer["holds"] is None and answer["kind"] == "certificate"
    assert answer["title"] == "Not verified: the file claims at most 1.32 % errors"
    assert "Not verified" in answer["html"] and "Drop the model" in answer["html"]


def test_weights_are_measured_as_by_the_library(fetch):
    answer = sent(
        fetch, read_parts(EXAMPLES / "tiny-bert", "model.safetensors", "config.json")
    ).json()
    rows = measure("tiny-bert").to_json()["rows"]
    assert answer["kind"] == "measurement" and answer["html"].count("<tr>") >= len(rows) > 5


def test_a_layout_is_a_name_and_never_a_path(fetch, tmp_path: Path):
    mapping = tmp_path / "mapping.toml"
    mapping.write_text("secret = 1", encoding="utf-8")
    parts = read_parts(EXAMPLES / "tiny-bert", "model.safetensors")
    for layout in (str(mapping), "/etc/passwd", "nobody"):
        answer = sent(fetch, parts, layout=layout)
        assert answer.status == 400 and "model type" in answer.json()["error"]
        assert "secret" not in answer.json()["error"]


def bomb() -> bytes:
    """An archive of less than a MB that holds 80 MiB."""
    archive_bytes = io.BytesIO()
    with (
        zipfile.ZipFile(archive_bytes, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("X.npy", "w") as file,
    ):
        for _ in range(5):
            file.write(bytes(1 << 24))
    return archive_bytes.getvalue()


def test_a_bomb_is_not_unpacked(fetch):
    parts = read_parts(CERTIFICATE, *PARTS) | {"train.npz": bomb()}
    answer = sent(fetch, parts)
    assert answer.status == 400 and "MiB unpacked" in answer.json()["error"]


def pickled() -> bytes:
    """An archive whose array is a pickle that would make a file."""
    archive_bytes = io.BytesIO()
    np.savez(archive_bytes, X=np.array([Trap()], dtype=object), y=np.array([0]))
    return archive_bytes.getvalue()


class Trap:
    def __reduce__(self):
        return (open, ("/tmp/dudley-was-executed", "w"))


HOSTILE = {
    "header of 10^15 bytes": {"model.safetensors": (10**15).to_bytes(8, "little") + b"{}"},
    "empty": {"model.safetensors": b""},
    "no JSON": {"certificate.json": b"{"},
    "deep JSON": {"certificate.json": b"[" * 100_000},
    "another's JSON": {"certificate.json": b'{"a": 1}'},
    "a certificate without fields": {"certificate.json": b'{"schema": "dudley.certificate/2"}'},
    "no archive": read_parts(CERTIFICATE, *PARTS) | {"train.npz": b"PK no"},
    "a pickle": read_parts(CERTIFICATE, *PARTS) | {"train.npz": pickled()},
    "two models": {"a.safetensors": b"x", "b.safetensors": b"y"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line(fetch, name: str):
    answer = sent(fetch, HOSTILE[name])
    assert answer.status == 400, answer.body
    error = answer.json()["error"]
    assert "expected" in error and "\n" not in error and "/tmp" not in error
    assert not Path("/tmp/dudley-was-executed").exists()


@each(
    ("announced", "words"),
    [
        ([], "1 to 8"),
        (["a.json:1"] * 9, "1 to 8"),
        (["a.json:1", "a.json:1"], "a.json twice"),
        (["../a.json:1"], "a plain name"),
        (["/etc/a.json:1"], "a plain name"),
        ([".a.json:1"], "a plain name"),
        (["a\n.json:1"], "NAME:BYTES"),
        (["a.pt:1"], "ends in .safetensors"),
        (["a.bin:1"], "ends in .safetensors"),
        (["a.json"], "NAME:BYTES"),
        (["a.json:-1"], "NAME:BYTES"),
        (["a.safetensors:600", "b.npz:600"], "together"),
        ([f"a.json:{33 << 20}"], "of JSON"),
    ],
)
def test_names_and_sizes_are_refused_before_a_byte_is_read(announced: list[str], words: str):
    with pytest.raises(InputError, match=words):
        drop.read_announcement(announced, 1000 if "600" in str(announced) else 1 << 30)


@pytest.mark.parametrize("change", [-1, 1])
def test_bytes_must_be_as_announced(fetch, change: int):
    body = (CERTIFICATE / "certificate.json").read_bytes()
    address = f"/api/files?file=certificate.json:{len(body) + change}"
    answer = fetch(address, method="POST", body=body)
    assert answer.status == 400 and "bytes" in answer.json()["error"]


def test_the_limit_is_that_of_the_settings():
    app = create_app(Settings(limit=1 << 20))
    answer = ask(app, f"/api/files?file=a.npz:{2 << 20}", method="POST")
    assert answer.status == 400 and "at most 1 MiB" in answer.json()["error"]


def test_nothing_stays(fetch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert sent(fetch, read_parts(CERTIFICATE, *PARTS)).status == 200
    assert sent(fetch, HOSTILE["empty"]).status == 400
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("heads", ["²", "0", "1025", "1" * 5000, "-1", "x"])
def test_heads_that_are_no_number_are_refused(fetch, heads: str):
    answer = sent(fetch, {"model.safetensors": b"x"}, heads=heads)
    assert answer.status == 400 and "a number from 1 to 1024" in answer.json()["error"]

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


def sent(asked, parts: dict[str, bytes], **more: str) -> Reply:
    told = [("file", f"{name}:{len(data)}") for name, data in parts.items()]
    address = "/api/files?" + urlencode([*told, *more.items()])
    return asked(address, method="POST", body=b"".join(parts.values()))


def held(folder: Path, *names: str) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


def test_a_certificate_is_verified(asked):
    told = sent(asked, held(CERTIFICATE, *PARTS)).json()
    assert told["holds"] is True and told["recomputed"] > 20
    assert told["title"] == "Verified: at most 1.32 % errors"


def test_a_forged_certificate_does_not_hold(asked):
    parts = held(CERTIFICATE, *PARTS)
    said = json.loads(parts["certificate.json"])
    parts["certificate.json"] = json.dumps(said | {"value": said["value"] / 2}).encode()
    told = sent(asked, parts).json()
    assert told["holds"] is False and told["title"] == "Does not hold"
    assert told["lead"] == [], "what is not true is not at the head"
    assert told["html"].index("computed") < told["html"].index("What the file claims")


def test_a_certificate_alone_is_read_and_not_called_verified(asked):
    told = sent(asked, held(CERTIFICATE, "certificate.json")).json()
    assert told["holds"] is None and told["kind"] == "certificate"
    assert told["title"] == "Not verified: the file claims at most 1.32 % errors"
    assert "Not verified" in told["html"] and "Drop the model" in told["html"]


def test_weights_are_measured_as_by_the_library(asked):
    told = sent(asked, held(EXAMPLES / "tiny-bert", "model.safetensors", "config.json")).json()
    rows = measure("tiny-bert").to_json()["rows"]
    assert told["kind"] == "measurement" and told["html"].count("<tr>") >= len(rows) > 5


def test_a_layout_is_a_name_and_never_a_path(asked, tmp_path: Path):
    mapping = tmp_path / "mapping.toml"
    mapping.write_text("secret = 1", encoding="utf-8")
    parts = held(EXAMPLES / "tiny-bert", "model.safetensors")
    for layout in (str(mapping), "/etc/passwd", "nobody"):
        answer = sent(asked, parts, layout=layout)
        assert answer.status == 400 and "model type" in answer.json()["error"]
        assert "secret" not in answer.json()["error"]


def bomb() -> bytes:
    """An archive of less than a MB that holds 80 MiB."""
    held = io.BytesIO()
    with (
        zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("X.npy", "w") as file,
    ):
        for _ in range(5):
            file.write(bytes(1 << 24))
    return held.getvalue()


def test_a_bomb_is_not_unpacked(asked):
    parts = held(CERTIFICATE, *PARTS) | {"train.npz": bomb()}
    answer = sent(asked, parts)
    assert answer.status == 400 and "MiB unpacked" in answer.json()["error"]


def pickled() -> bytes:
    """An archive whose array is a pickle that would make a file."""
    held = io.BytesIO()
    np.savez(held, X=np.array([Trap()], dtype=object), y=np.array([0]))
    return held.getvalue()


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
    "no archive": held(CERTIFICATE, *PARTS) | {"train.npz": b"PK no"},
    "a pickle": held(CERTIFICATE, *PARTS) | {"train.npz": pickled()},
    "two models": {"a.safetensors": b"x", "b.safetensors": b"y"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line(asked, name: str):
    answer = sent(asked, HOSTILE[name])
    assert answer.status == 400, answer.body
    error = answer.json()["error"]
    assert "expected" in error and "\n" not in error and "/tmp" not in error
    assert not Path("/tmp/dudley-was-executed").exists()


@each(
    ("told", "words"),
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
def test_names_and_sizes_are_refused_before_a_byte_is_read(told: list[str], words: str):
    with pytest.raises(InputError, match=words):
        drop.announced(told, 1000 if "600" in str(told) else 1 << 30)


@pytest.mark.parametrize("change", [-1, 1])
def test_bytes_must_be_as_announced(asked, change: int):
    body = (CERTIFICATE / "certificate.json").read_bytes()
    address = f"/api/files?file=certificate.json:{len(body) + change}"
    answer = asked(address, method="POST", body=body)
    assert answer.status == 400 and "bytes" in answer.json()["error"]


def test_the_limit_is_that_of_the_settings():
    app = create_app(Settings(limit=1 << 20))
    answer = ask(app, f"/api/files?file=a.npz:{2 << 20}", method="POST")
    assert answer.status == 400 and "at most 1 MiB" in answer.json()["error"]


def test_nothing_stays(asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert sent(asked, held(CERTIFICATE, *PARTS)).status == 200
    assert sent(asked, HOSTILE["empty"]).status == 400
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("heads", ["²", "0", "1025", "1" * 5000, "-1", "x"])
def test_heads_that_are_no_number_are_refused(asked, heads: str):
    answer = sent(asked, {"model.safetensors": b"x"}, heads=heads)
    assert answer.status == 400 and "a number from 1 to 1024" in answer.json()["error"]

"""A certificate in MLflow: by the names that are used, and in the real package where it is."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import dudley as du
from dudley.certificates.certificate import Certificate
from dudley.certificates.price import Bill
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing


def certificate() -> Certificate:
    data = {"n": 100, "sha256": "0" * 64}
    baseline = {"class": 0, "errors": 50, "error_at_least": 0.4}
    return Certificate("hold-out", 0.0123456789012, Bill(0.05), {}, {}, {}, {}, data, baseline)


def test_the_file_the_number_and_its_terms_are_logged(monkeypatch):
    calls, stub = {}, ModuleType("mlflow")
    for name in ("log_text", "log_metric", "set_tags"):
        setattr(stub, name, lambda *words, name=name: calls.setdefault(name, words))
    monkeypatch.setitem(sys.modules, "mlflow", stub)
    made = certificate()
    assert du.log_certificate(made) == "certificate.json"
    text, file = calls["log_text"]
    assert json.loads(text)["method"] == "hold-out" and file == "certificate.json"
    metric, value = calls["log_metric"]
    assert metric == "certified_upper_bound" and made.value <= value < made.value + 1e-9
    (tags,) = calls["set_tags"]
    assert tags["dudley.delta"] == "0.05" and tags["dudley.data.sha256"] == "0" * 64
    with pytest.raises(InputError, match="one that was just made"):
        du.log_certificate({"value": 0.0})  # type: ignore[arg-type]


def test_without_mlflow_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ExtraMissing, match="needs mlflow, which is absent"):
        du.log_certificate(certificate())


def test_the_real_package_takes_it(tmp_path: Path, require):
    require("mlflow", find_spec("mlflow") is not None, "no package mlflow")
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        file = du.log_certificate(certificate())
    logged = mlflow.get_run(run.info.run_id).data
    assert logged.metrics["certified_upper_bound"] == pytest.approx(0.0123456789)
    assert logged.tags["dudley.method"] == "hold-out"
    (written,) = (tmp_path / "runs").rglob(file)
    assert json.loads(written.read_text(encoding="utf-8"))["delta"] == 0.05

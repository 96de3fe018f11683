"""A certificate in a run of MLflow: the file as an artefact, the number as a metric, its terms as
tags.

MLflow's names that are used are ``log_text``, ``log_metric`` and ``set_tags``, as in version 3.17.
The run is the active one, or one that MLflow begins.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dudley.certificates import digits
from dudley.certificates.certificate import Certificate
from dudley.core.boundary.text import line
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing

METRIC, PREFIX = "certified_upper_bound", "dudley."
LONGEST = 500  # characters of a tag


def log_certificate(certificate: Certificate[Any, Any, Any], file: str = "certificate.json") -> str:
    """Log the certificate; the name of the artefact is returned."""
    if not isinstance(certificate, Certificate):
        raise InputError("certificate", "one that was just made", type(certificate).__name__)
    try:
        mlflow: Any = import_module("mlflow")
    except ImportError:
        raise ExtraMissing("logging to MLflow needs mlflow, which is absent") from None
    mlflow.log_text(certificate.text(), file)
    mlflow.log_metric(METRIC, digits.up(certificate.value))
    tags = {
        "method": certificate.method,
        "delta": f"{certificate.delta:g}",
        "quantity": line(certificate.quantity, LONGEST),
        "data.sha256": str(certificate.data.get("sha256", "")),
        "vacuous": str(certificate.vacuous).lower(),
    }
    mlflow.set_tags({PREFIX + name: value for name, value in tags.items()})
    return file

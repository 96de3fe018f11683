"""A section of a model card, and the entry of its ``model-index``, for a certificate.

A card begins with YAML between two lines ``---``. The entry follows the model-index of
huggingface_hub 2.4.0 (task, dataset, metrics); ``verified`` is left out, for it is the Hub's word.
Texts are written as JSON writes them, with every sign beyond ASCII spelled out, which is YAML too.
The metric is named as what it is: an upper bound, with its confidence. The table of a file may say
anything: its numbers stand there as what the file claims.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from dudley.certificates.certificate import RISK, Certificate
from dudley.core.boundary.text import line
from dudley.core.confidence import confidence
from dudley.core.rounding import ceiling
from dudley.show.as_markdown import below
from dudley.show.document import Points, Properties, Prose, Section
from dudley.show.pages.certificate import amount, answers_of, checked, counted, says
from dudley.show.pages.stamp import Stamp


def model_card(
    certificate: Certificate[Any, Any, Any] | dict[str, Any],
    model: str,
    task: str = "other",
    dataset: str = "held-out examples",
    dataset_type: str = "other",
) -> str:
    """The card: the model-index, and a section with the number and what it rests on."""
    made = isinstance(certificate, Certificate)
    item, stamp = checked(certificate.to_json() if made else certificate), Stamp(made or None)
    index = model_index(item, model, task, dataset, dataset_type, stamp)
    return f"---\n{index}---\n\n{card_section(item, stamp)}"


def model_index(
    item: dict[str, Any], model: str, task: str, dataset: str, dataset_type: str, stamp: Stamp
) -> str:
    """The lines of YAML."""
    kind = "error_rate" if item["quantity"] == RISK else "risk"
    sure = confidence(item["delta"])
    bound = stamp.says(f"upper bound (confidence {sure}, {item['method']})")
    name = f"{bound}: {item['quantity']}"
    rows = [
        "model-index:",
        f"- name: {quoted(model)}",
        "  results:",
        "  - task:",
        f"      type: {quoted(task)}",
        "    dataset:",
        f"      name: {quoted(dataset)}",
        f"      type: {quoted(dataset_type)}",
        "    metrics:",
        f"    - type: {quoted(kind)}",
        f"      value: {Decimal(ceiling(item['value'])):f}",
        f"      name: {quoted(name)}",
    ]
    return "\n".join(rows) + "\n"


def card_section(item: dict[str, Any], stamp: Stamp) -> str:
    """The Markdown below."""
    most = stamp.says(f"at most {amount(item, item['value'])}")
    number = f"{line(item['quantity'], 500)}: {most}"
    sentence = f"With probability at least {confidence(item['delta'])} over the examples, {number}."
    rows = (
        ("method", line(item["method"], 80)),
        ("counted on", counted(item)),
        ("better than guessing", says(item).text),
        ("data", f"sha256 {line(item['data']['sha256'], 64)}"),
    )
    points = Points(tuple(line(each, 500) for each in item["declarations"]))
    claim = () if stamp.holds else (stamp.notice(),)
    blocks = (
        *claim,
        Prose(sentence),
        Properties(rows),
        Prose("It rests on:"),
        points,
        Prose(check(item)),
    )
    sections = (Section("Certified error", blocks), *answers_of(item))
    return "\n\n".join(below(sections, 2)) + "\n"


def check(item: dict[str, Any]) -> str:
    """How others check it."""
    what = "the data" if item["method"] == "outcomes" else "the model and the data"
    return f"``dudley verify certificate.json`` with {what} computes it again."


def quoted(text: str) -> str:
    """A text in YAML."""
    return json.dumps(line(text, 500))

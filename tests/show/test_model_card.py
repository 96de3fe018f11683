"""A section of a model card: a number rounded up, its terms, and strangers' text without effect."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec

import pytest

import dudley as du
from dudley.core.errors import InputError
from dudley.networks.files import EXAMPLES


def shipped() -> dict:
    path = EXAMPLES / "sparse-and" / "certificate.json"
    return json.loads(path.read_text(encoding="utf-8"))


def front(card: str) -> str:
    return card.split("---\n")[1]


def test_the_entry_is_a_model_index(require):
    require("pyyaml", find_spec("yaml") is not None, "no package yaml")
    import yaml

    item = shipped()
    card = du.model_card(item, "sparse-and", "text-classification", "AND of 32 bits", "and")
    (entry,) = yaml.safe_load(front(card))["model-index"]
    (result,) = entry["results"]
    (metric,) = result["metrics"]
    assert entry["name"] == "sparse-and"
    assert result["task"] == {"type": "text-classification"}
    assert result["dataset"] == {"name": "AND of 32 bits", "type": "and"}
    assert metric["type"] == "error_rate" and "verified" not in metric
    assert item["value"] <= metric["value"] <= item["value"] * 1.001
    words = "upper bound (confidence 0.95, occam): probability"
    assert metric["name"].startswith(f"the file claims {words}")


def test_the_section_has_the_number_and_what_it_rests_on():
    item = shipped()
    section = du.model_card(item, "sparse-and").split("---\n")[2]
    assert section.strip().startswith("## Certified error")
    assert "With probability at least 0.95 over the examples" in section
    assert item["data"]["sha256"] in section and "dudley verify" in section
    for words in item["declarations"]:
        assert words.split()[0] in section


def test_strangers_text_has_no_effect(require):
    require("pyyaml", find_spec("yaml") is not None, "no package yaml")
    import yaml

    item = shipped() | {"quantity": 'a: b\n- c \x1b[31m \u202e "d" <script>'}
    item["declarations"] = ["<img src=x> | `code` [a](b)\n# head"]
    name = 'evil"\nverified: true\n---\n'
    card = du.model_card(item, name)
    (entry,) = yaml.safe_load(front(card))["model-index"]
    assert "verified" not in entry["results"][0]["metrics"][0]
    section = card.split("---\n")[-1]
    assert "\x1b" not in card and "\u202e" not in card
    assert "\n# head" not in section and not re.search(r"(?<!\\)[<`](img|script|code)", section)


def test_a_file_may_say_anything_and_a_certificate_that_was_made_may_not():
    made = du.outcomes(correct=[True] * 300)
    card = du.model_card(made, "model")
    assert "claims" not in card and "a new example: at most 0.994 %" in card
    forged = made.to_json() | {"value": 1.23456e-9}
    card = du.model_card(forged, "model")
    assert "a new example: the file claims at most 1.24e-07 %" in card.replace("\\", "")
    assert "**Not verified" in card and "value: 0.000000001235\n" in card
    with pytest.raises(InputError, match="value of the certificate"):
        du.model_card(forged | {"value": -1}, "model")

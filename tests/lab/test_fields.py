"""The fields of a configuration: every one has a meaning, and the page has them all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from dudley.core.errors import UnknownName
from dudley.lab.fields import fields_of, kinds, page, shipped, units

PAGE = Path(__file__).resolve().parents[2] / "docs/train.md"
UNITS = [(kind, name) for kind in kinds() for name in shipped(kind)]


@dataclass
class Box:
    """For these tests."""

    # how many sides, said above
    sides: int
    open: bool = False  # has it no lid?
    bare: int = 0


@pytest.mark.parametrize(("kind", "name"), UNITS)
def test_every_field_has_a_meaning(kind: str, name: str):
    assert all(field.meaning and field.type for field in fields_of(units(kind)[name]))


def test_comments_are_read_beside_and_above():
    sides, open_, bare = fields_of(Box)
    assert (sides.meaning, sides.default) == ("how many sides, said above", "")
    assert (open_.meaning, open_.default) == ("has it no lid?", "False")
    assert bare.meaning == ""


def test_the_page_has_them_all():
    text = page()
    assert text in PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for _, name in UNITS)


def test_an_unknown_kind_is_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean optimiser"):
        units("optimizer")

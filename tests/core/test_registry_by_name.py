"""A registry whose pattern holds ``{name}`` imports a unit when its name is looked up."""

import importlib
import sys

import pytest

from dudley.core.errors import UnknownName


def test_a_name_is_looked_up_in_the_module_that_is_called_by_it(tmp_path, monkeypatch):
    package = tmp_path / "strange_units"
    for name in ("first_one", "other"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").write_text("")
        key = name.replace("_", "-")
        (package / name / "unit.py").write_text(
            f"from strange_units import units\nunits.register({key!r})({name!r})\n"
        )
    (package / "__init__.py").write_text(
        "from dudley.core.registry import Registry\n"
        "units = Registry('unit', 'strange_units.{name}.unit')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    units = importlib.import_module("strange_units").units
    assert units["first-one"] == "first_one"
    assert "strange_units.other.unit" not in sys.modules
    units.register("a-stranger")("outside")
    assert units["a-stranger"] == "outside" and "no/name" not in units and "absent" not in units
    assert sorted(units) == ["a-stranger", "first-one", "other"]
    with pytest.raises(UnknownName, match="did you mean other"):
        units["othr"]

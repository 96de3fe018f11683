"""Registries keep order, refuse doubles, and name the nearest key."""

import pytest

from dudley.core.errors import UnknownName
from dudley.core.registry import Registry


def test_registry():
    tools = Registry("tool")

    @tools.register("hammer")
    class Hammer: ...

    tools.register("saw")(print)
    assert tools["hammer"] is Hammer
    assert list(tools) == ["hammer", "saw"]
    assert len(tools) == 2
    assert "saw" in tools
    assert "axe" not in tools
    assert tools.items() == [("hammer", Hammer), ("saw", print)]
    with pytest.raises(ValueError, match="twice"):
        tools.register("saw")(len)
    assert tools["saw"] is print
    with pytest.raises(UnknownName, match=r"unknown tool 'hamer'; did you mean hammer\?"):
        tools["hamer"]
    with pytest.raises(UnknownName, match="known: hammer, saw"):
        tools["zzz"]

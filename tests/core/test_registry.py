"""Registries keep order, refuse doubles, and name the nearest key."""

import sys
from threading import Event, Thread

import pytest

from dudley.core.errors import UnknownName
from dudley.core.registry import Registry, modules_of


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


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of units ``b`` and ``a``, which read the registry before they register."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    here = sys.modules[__name__]
    tools = Registry("tool", "tools_outside.b|a")
    monkeypatch.setattr(here, "tools", tools, raising=False)
    monkeypatch.setattr(here, "entered", Event(), raising=False)
    monkeypatch.setattr(here, "leave", Event(), raising=False)
    (tmp_path / "tools_outside").mkdir()
    (tmp_path / "tools_outside" / "__init__.py").touch()
    for name in "ab":
        (tmp_path / "tools_outside" / f"{name}.py").write_text(
            f"import sys\n"
            f"test = sys.modules[{__name__!r}]\n"
            f"assert {name!r} not in test.tools\n"
            f"test.entered.set()\n"
            f"assert test.leave.wait(60)\n"
            f"test.tools.register({name!r})(object())\n"
        )
    yield here
    for name in [name for name in sys.modules if name.startswith("tools_outside")]:
        del sys.modules[name]


def test_a_registry_is_filled_from_its_modules_in_the_order_of_the_pattern(package):
    package.leave.set()
    assert list(package.tools) == ["b", "a"]
    assert modules_of("tools_outside.*") == ["tools_outside.a", "tools_outside.b"]


def test_a_thread_that_reads_meanwhile_waits_until_a_registry_is_full(package):
    seen: list[list[str]] = []
    readers = [Thread(target=lambda: seen.append(list(package.tools))) for _ in range(2)]
    readers[0].start()
    assert package.entered.wait(60)
    readers[1].start()
    readers[1].join(0.2)  # one that does not wait has read by now
    package.leave.set()
    for reader in readers:
        reader.join(60)
    assert seen == [["b", "a"]] * 2

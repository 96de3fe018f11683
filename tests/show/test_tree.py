"""The tree of a network as a figure: every node and block of it, with the numbers of `explain`."""

import re
import xml.etree.ElementTree as ET

import pytest

import dudley as du
from dudley.networks.explain import culprit
from dudley.networks.files import EXAMPLES, load
from dudley.show.figures.tree import BAR, LONGEST, svg

SVG = "{http://www.w3.org/2000/svg}"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.toml"))


@pytest.fixture(scope="module", params=NAMES)
def drawn(request) -> tuple[du.Capacity, ET.Element]:
    net = load(request.param)
    cap = du.capacity(net.network, net.inputs, n=1e6, loss=net.loss)
    return cap, ET.fromstring(svg(cap, net.title))


def words(root: ET.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def test_every_line_of_the_text_is_drawn(drawn):
    """Nodes with radius and Lipschitz constant, blocks with their share, and the culprit."""
    cap, root = drawn
    text, drawn_words = str(cap.explain()), words(root)
    nodes = re.findall(r"─ (.+?)   radius (.+? → .+?),  Lipschitz (.+)", text)
    assert nodes
    for name, radius, lipschitz in nodes:
        assert {name, radius, lipschitz} <= set(drawn_words)
    shares = re.findall(r"share (\S+%)", text)
    assert sorted(word for word in drawn_words if word.endswith("%")) == sorted(shares)
    assert f"culprit: {culprit(cap)}" in drawn_words


def test_bars_are_as_long_as_the_shares(drawn):
    cap, root = drawn
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.get("x") == str(BAR)]
    lengths = sorted(float(bar.get("width", "nan")) for bar in bars)
    assert lengths == sorted(round(LONGEST * row.share, 1) for row in cap.shares[0])
    assert abs(sum(lengths) - LONGEST) < 0.1 * len(bars) + 1e-9


def test_nothing_leaves_the_figure(drawn):
    _, root = drawn
    width, height = (float(root.get(side, "nan")) for side in ("width", "height"))
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x", "nan")) < width
        assert 0 <= float(text.get("y", "nan")) < height


def test_a_title_is_escaped():
    net = load("single-head")
    cap = du.capacity(net.network, net.inputs, n=1e6, loss=net.loss)
    assert "a < b & c" in words(ET.fromstring(svg(cap, "a < b & c")))

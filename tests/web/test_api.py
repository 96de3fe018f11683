"""What the page asks for, compared with the library."""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import pytest

from dudley.networks import files
from dudley.networks.capacity import capacity
from dudley.networks.described import ID
from dudley.show.figures.curves import log10
from dudley.theorems import registry
from dudley.theorems.comparison import compare
from dudley.theorems.gaps import gaps
from dudley.web import bounds, page

HERE = {"n": 1e5, "T": 16, "d": 8, "k": 8, "X.row2inf": 1.0, "W_QK.l11": 2.0, "W_v.l11": 1.0,
        "W_c.l11": 1.0, "w.l1": 1.0, "epsilon": 0.5}  # fmt: skip
AXIS = "n=1e3:1e7:log5"
COVERS = "covering number of linear maps"


def query(**more) -> str:
    return "/api/bounds?" + urlencode(HERE | more, doseq=True)


def test_the_point_is_the_comparison(fetch):
    answer = fetch(query(source="trauger2024", form="derived", quantity=COVERS)).json()
    rows = compare(HERE, papers=("trauger2024",), forms=("derived",)).groups[COVERS]
    values = {f"{row.id} derived": float(b) for row in rows for b in row.bounds("derived") if b}
    assert {one["name"]: one["value"] for one in answer["entries"]} == values and len(values) > 3
    assert answer["picked"] == list(values)[: bounds.SHOWN]
    assert "Rademacher complexity of linear maps" in answer["others"]
    assert answer["table"].count("<tr>") == 1 + len(rows)


def test_all_bounds_are_gaps_as_the_library_converts_them(fetch):
    answer = fetch(query(margin=0.5, delta=0.1)).json()
    ranked = gaps({**HERE, "margin": 0.5, "delta": 0.1})
    values = {
        f"{row.id} {form}": b.value
        for row in ranked.rows
        for form in row.curves
        if (b := row.bounds(form)[0]) is not None
    }
    entries = {one["name"]: one.get("value") for one in answer["entries"]}
    assert {name: x for name, x in entries.items() if x is not None} == values
    assert answer["picked"][0] == f"{ID} derived"
    assert len(answer["picked"]) == bounds.SHOWN <= len(values)
    assert "compare within a class" in answer["table"]


def test_the_curves_are_those_that_are_shown(fetch):
    names = ["trauger2024/lemma-3.6 printed", f"{ID} derived"]
    chart = fetch(query(sweep=AXIS, curve=names)).json()["chart"]
    swept = gaps(HERE, AXIS)
    assert chart["names"] == names and [c["order"] for c in chart["curves"]] == [0, 1]
    for name, curve in zip(names, chart["curves"], strict=True):
        id, form = name.split()
        assert curve["y"] == [log10(b) for b in swept.row(id).bounds(form) if b]
    picked = fetch(query()).json()["picked"]
    assert len(fetch(query(sweep=AXIS)).json()["chart"]["names"]) == len(picked)
    nothing = fetch(
        "/api/bounds?" + urlencode({"d": 3, "sweep": AXIS, "quantity": "excess risk of one head"})
    )
    assert nothing.json() == {"chart": None}
    flat = fetch(query(sweep="T=2:64:log3", curve=names[:1])).json()["chart"]["curves"][0]
    assert flat["note"] == "does not depend on T"


@pytest.mark.parametrize("margin", [0.5, 2.0])
def test_the_network_of_a_situation_is_that_of_the_calculus(fetch, margin: float):
    address = query(source="calculus", margin=margin, L=2, H=3, delta=0.1)
    (answer,) = fetch(address).json()["entries"]
    tables = {
        "schema": "dudley.net/1",
        "input": {"T": 16, "d": 8, "X": {"row2inf": 1.0}},
        "layer": [{"node": "heads", "H": 3, "repeat": 2, "k": 8, "W_QK": {"l11": 2.0},
                   "W_v": {"l11": 1.0}, "W_c": {"l11": 1.0}}],
        "output": {"w": {"l1": 1.0}},
        "loss": {"margin": margin},
    }  # fmt: skip
    made = files.build(tables, {})
    gap = capacity(made.network, made.inputs, 1e5, made.loss).gap(0.1)
    assert answer["value"] == pytest.approx(gap.value, rel=1e-12)
    assert answer["of"] == "L layers"


def test_the_margin_moves_the_network(fetch):
    address = query(source="calculus", sweep="margin=0.1:10:log4", curve=f"{ID} derived")
    (curve,) = fetch(address).json()["chart"]["curves"]
    assert curve["y"] == sorted(curve["y"], reverse=True) and len(set(curve["y"])) > 1


def test_without_a_norm_there_is_no_network(fetch):
    fewer = {name: value for name, value in HERE.items() if name != "W_c.l11"}
    answer = fetch("/api/bounds?" + urlencode(fewer | {"source": "calculus"})).json()
    assert answer["entries"] == [] and "a norm of W_c" in answer["notes"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"n": "nan"}, "a finite number"),
        ({"delta": "2"}, "strictly between 0 and 1"),
        ({"W_QK.l12": "1"}, "did you mean"),
        ({"n": "abc"}, "a number"),
        ({"source": "nobody"}, "source: expected"),
        ({"source": "calculus", "sweep": "n=1e3:1e7:log999"}, "at most 200 points"),
        ({"source": "calculus", "sweep": "n=0:1:log5"}, "n: expected an integer"),
        ({"quantity": "covering number of linear map"}, "did you mean covering number of linear"),
        ({"curve": [str(i) for i in range(8)], "sweep": AXIS}, "at most 7"),
    ],
)
def test_bad_input_gives_a_refusal_and_no_number(fetch, more: dict, words: str):
    answer = fetch(query(**more))
    assert answer.status == 400
    assert words in answer.json()["error"] and set(answer.json()) == {"error"}


def test_every_statement_has_its_page(fetch):
    listed = fetch("/api/statements").json()["statements"]
    assert {s["id"] for s in listed} == set(registry.load())
    answer = fetch("/api/statements/trauger2024/lemma-3.5").json()
    assert answer["verdict"] == "false" and "AISTATS 2024" in answer["judgement"]
    assert answer["charts"] and "<math" in answer["html"]
    inputs = answer["counterexamples"]["wrong-side"]
    assert inputs["k"] == 10000 and "<code>k=10000</code>" in answer["html"]
    assert answer["heading"] == COVERS
    missing = fetch("/api/statements/trauger2024/lemma-3.55")
    assert missing.status == 404 and "lemma-3.5" in missing.json()["error"]


@pytest.mark.slow
def test_examples_are_explained(fetch):
    examples = fetch("/api/blocks").json()["examples"]
    assert {"single-head", "bert-base"} <= set(examples)
    for name, tables in examples.items():
        body = json.dumps({"network": tables, "n": 1e6, "delta": 0.1}).encode()
        answer = fetch("/api/architecture", method="POST", body=body).json()
        made = files.load(name)
        cap = capacity(made.network, made.inputs, 1e6, made.loss)
        assert answer["gap"] == json.loads(json.dumps(cap.gap(0.1).to_json())), name
        assert answer["text"] == cap.explain()
        assert sum(leaves(answer["tree"])) + sum(
            b["share"] for b in answer["shared"]
        ) == pytest.approx(1)


def leaves(tree: dict) -> list[float]:
    shares = [block["share"] for block in tree["blocks"]]
    return shares + [share for inner in tree["inside"] for share in leaves(inner)]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b"[1]", "an object"),
        (b'{"network": {}}', "schema"),
        (b'{"network": {}, "n": "many"}', "a number"),
        (b'{"network": {"layer": [{"repeat": 1e9}]}}', "at most 1000"),
        (b'{"network": {"layer": ' + json.dumps([{}] * 99).encode() + b"}}", "at most 64 blocks"),
        (b" " * (257 << 10), "at most 256 KiB"),
    ],
)
def test_a_bad_network_is_refused(fetch, body: bytes, words: str):
    answer = fetch("/api/architecture", method="POST", body=body)
    assert answer.status == 400 and words in answer.json()["error"]


def test_the_page_asks_for_nothing_outside():
    text = page.html() + page.style() + page.script()
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(""", text)
    assert not re.search(r"<!--[A-Z]+-->", page.html())
    assert "style=" not in page.html() and "onclick=" not in page.html()
    assert len(text.encode()) < 200_000


def test_every_slider_is_a_name_and_stands_in_its_range():
    settings = bounds.settings()
    for slider in settings["sliders"]:
        assert slider["meaning"] and slider["from"] < slider["to"]
        assert slider["at"] is None or slider["from"] <= slider["at"] <= slider["to"]
    wanted = {"n", "T", "d", "k", "L", "H", "delta", "margin"}
    assert wanted <= {slider["name"] for slider in settings["sliders"]}

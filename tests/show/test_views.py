"""Results in Python and in notebooks: one screen, escaped, with rows and figures behind it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

import dudley as du
from dudley import lab
from dudley.certificates.retrained import CertifiedRetraining
from dudley.core.errors import DudleyError, InputError
from dudley.core.extras import ExtraMissing
from dudley.core.shown import Shown
from dudley.lab.grid.batch import Cost
from dudley.networks.files import EXAMPLES as EXAMPLE_MODELS
from dudley.networks.general import GeneralHead
from dudley.show import as_text
from dudley.show.document import Document
from dudley.show.pages import certificate as certificate_page, comparison as comparison_page
from dudley.show.views import VIEWS, ResultView
from dudley.show.views.base import SCREEN
from each import each

HERE = {"d": 64, "k": 64, "T": 32, "n": 1e5, "X.row2inf": 1.0, "W.l11": 2.0, "epsilon": 0.5}
HERE |= {"W_QK.l11": 20.0, "W_v.l11": 1.0, "W_c.l11": 1.0, "w.l1": 1.0, "sigma.lipschitz": 1.0}
S = du.Spectral(1.0)
HEAD = du.Head(d=64, W_QK=du.L11(20.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
NET = HEAD >> du.Readout(w=du.L1(1.0))
TOKENS = du.Tokens(row2inf=1.0, T=128)
MANY = tuple(f"candidate {i}" for i in range(5000))
DEEP = du.Repeat(
    du.pre_ln_block(
        du.MLP(8, 16, S, S), du.LayerNorm(8, 1e-5, du.LInf(1.0), du.L2(1.0)), d=8, H=2,
        W_Q=S, W_K=S, W_v=S, W_c=S,
    ), 96,
)  # fmt: skip


def trials(count: int) -> tuple[lab.Trial, ...]:
    return tuple(lab.Trial({"m": i, "note": "x" * 400}, i) for i in range(count))


def table(rows: int, columns: int) -> lab.TrialTable:
    some = ({f"c{j}": f"{i} {'long ' * 100}" for j in range(columns)} for i in range(rows))
    return lab.TrialTable(tuple(some))


@dataclass(frozen=True)
class Sampled(du.ProjectRows):
    """A node of one's own that holds an array."""

    X: Any = None


# Of each public class an object, as large as people have it.
EXAMPLES: dict[str, Callable[[], Any]] = {
    "Activate": lambda: du.Activate("gelu"),
    "Bound": lambda: du.capacity(NET, TOKENS, n=1e6).gap(0.05),
    "CandidateFactor": lambda: du.CandidateFactor("prompt", MANY),
    "CandidateList": lambda: du.CandidateList((du.CandidateFactor("prompt", MANY),)),
    "Capacity": lambda: du.capacity(NET, TOKENS, n=1e4),
    "Chain": lambda: du.Chain(tuple(du.Dense(8, du.Spectral(1 + i)) for i in range(200))),
    "Comparison": lambda: du.compare(HERE, "n=1e2:1e9:log3"),
    "Constraint": lambda: du.L11(1.0) & du.Spectral(2.0) & du.Rank(3),
    "CrossEntropy": lambda: du.CrossEntropy(1.0),
    "Dense": lambda: du.Dense(8, S),
    "DudleyError": lambda: DudleyError("no"),
    "GeneralHead": lambda: GeneralHead(du.PowerLaw(1.0), du.PowerLaw(1.0)),
    "Encoded": lambda: du.Encoded(np.ones((5000, 384)), "a frozen encoder"),
    "Grid": lambda: du.Grid(),
    "Head": lambda: HEAD,
    "Heads": lambda: du.Heads(HEAD, 12),
    "InputError": lambda: InputError("n", "a number", "x" * 10_000),
    "LayerNorm": lambda: du.LayerNorm(8, 1e-5, du.LInf(1.0)),
    "LinearMap": lambda: du.LinearMap((8, 8), S),
    "Logits": lambda: du.Logits(1000, S),
    "Loss": lambda: du.Loss(),
    "Margin": lambda: du.Margin(1.0),
    "Measurement": lambda: du.measure("tiny-bert"),
    "MultiHeadAttention": lambda: du.MultiHeadAttention(8, 2, W_Q=S, W_K=S, W_v=S, W_c=S),
    "NotYetPaid": lambda: du.NotYetPaid("no"),
    "Observed": lambda: du.Observed(1.0),
    "OutcomeStream": lambda: du.OutcomeStream(),
    "Parallel": lambda: du.Parallel((HEAD, HEAD)),
    "Pool": lambda: du.Pool(),
    "Positions": lambda: du.Positions(8, 6, S),
    "PowerLaw": lambda: du.PowerLaw(1.0),
    "ProjectRows": lambda: du.ProjectRows(),
    "Readout": lambda: du.Readout(S),
    "Repeat": lambda: DEEP,
    "Residual": lambda: du.Residual(du.Dense(8, S)),
    "Robust": lambda: du.Robust(du.Loss()),
    "Situation": lambda: du.Situation(HERE),
    "StreamDeclared": lambda: du.StreamDeclared(),
    "Sweep": lambda: du.Sweep.parse("n=1e2:1e9:log5000"),
    "SwiGLU": lambda: du.SwiGLU(8, 16, S, S, S),
    "Tokens": lambda: TOKENS,
    "UnitOrder": lambda: du.UnitOrder.of(MANY, 0),
    "UnknownName": lambda: du.UnknownName("norm", "l3", MANY),
    # dudley.lab
    "Batch": lambda: lab.Batch(0, trials(200), Cost(1, 1.0)),
    "Cost": lambda: Cost(1, 1.0),
    "RunLocation": lambda: lab.RunLocation(Path("a") / "folder"),
    "Trial": lambda: trials(1)[0],
    "TrialGrid": lambda: lab.TrialGrid(trials(200), "grid", 0),
    "TrialTable": lambda: table(500, 90),
}
# What needs a folder, a database, a running trial: objects without a text of their own.
ELSEWHERE = {"Prequential", "Store", "Session", "Runner", "BatchStatus", "Summary"}
ELSEWHERE |= {"BatchFailed", "Lost", "StoreFailed"}
SHOWN = ("Comparison", "Measurement", "Capacity", "Repeat", "TrialTable")


def public_classes() -> set[str]:
    named = {name: getattr(module, name) for module in (du, lab) for name in dir(module)}
    return {name for name, value in named.items() if isinstance(value, type)}


def test_every_public_class_has_an_example():
    assert public_classes() == {*EXAMPLES} | ELSEWHERE


@each("name", EXAMPLES)
def test_no_text_is_longer_than_a_screen(name: str):
    lines = str(EXAMPLES[name]()).split("\n")
    assert sum(max(1, -(-len(line) // 120)) for line in lines) <= SCREEN


def test_a_long_text_is_cut_and_says_so():
    long = EXAMPLES["TrialTable"]()
    *head, last = str(long).split("\n")
    assert len(head) == SCREEN - 1 and long.text().split("\n")[: SCREEN - 1] == head
    left = len(long.text().split("\n")) - len(head)
    assert last == f"… {left} more lines; .text() has all"


def test_a_comparison_prints_what_the_command_does():
    both = du.compare({"d": 64, "k": 64, "X.row2inf": 1, "W.l11": 2, "epsilon": 0.5})
    assert str(both) == as_text.text(comparison_page.summary(both))
    assert "trauger2024/lemma-3.3" in str(both)


def test_a_measurement_shows_the_largest_norm_of_each_role():
    measured = du.measure("tiny-bert")
    (line,) = [line for line in str(measured).split("\n") if line.split()[:1] == ["W_QK"]]
    largest = max(row.op.upper for row in measured.rows if row.role == "W_QK")
    _, size, count, op, *_ = line.split()
    assert (size, count) == ("8×8", "4") and largest <= float(op) <= largest * 1.001


def test_a_network_is_a_tree():
    tied = S.tied("A")
    lines = str(du.Dense(8, tied) >> du.Repeat(du.Dense(8, S), 12) >> du.Dense(8, tied)).split("\n")
    assert lines == [
        "Chain   832 weights",
        "├─ Dense   d = 8, W: op ≤ 1 (tied: A)",
        "├─ Repeat   L = 12",
        "│  └─ 12 × Dense   d = 8, W: op ≤ 1",
        "└─ Dense   d = 8, W: op ≤ 1 (tied: A)",
    ]
    assert str(du.Dense(8, du.Rank(2))) == "Dense   d = 8, W: rank ≤ 2   64 weights"
    assert str(Sampled(np.zeros((30, 30)))).startswith("Sampled   X = [[0. 0.")
    assert str(du.Parallel((HEAD, HEAD, HEAD))).split("\n")[1].startswith("└─ 3 × Head")


def test_a_capacity_says_why_there_is_no_gap():
    seen = du.Head(8, W_QK=du.L11(du.Observed(3.0)), W_v=S, W_c=S) >> du.Readout(du.L2(1.0))
    text = str(du.capacity(seen, TOKENS, n=1e6))
    assert "no gap: read off after training, and not paid for" in text
    cap = du.capacity(NET, TOKENS, n=1e6)
    assert f"risk − training loss ≤ {float(cap.gap(0.05)):.6g}" in str(cap)


@each("n,moves", [(100, True), (1e6, False), (None, False)])
def test_what_moves_to_another_n_says_so(n: float | None, moves: bool):
    cap = du.capacity(NET, TOKENS, n=n)
    words = "not at n = 100, where the bound says nothing: the gap is 0.5 at n = 2.99e+05"
    assert (f"\n({words})\n" in cap.explain()) == moves
    slopes = cap.elasticities()
    assert (slopes.note == words) == moves == (f"({words})" in str(slopes).split("\n")[0])
    assert bool(slopes.note) == moves


def test_a_clipped_complexity_says_what_was_clipped():
    """The chain's own value is above the range, and falls to it as n grows to where none is cut."""
    cut, values = [], []
    for n in (1e2, 1e3, 1e4, 5e4, 1e5, 1e6):
        (complexity, _) = du.capacity(NET, TOKENS, n=n).gap(0.05).terms
        _, clipped, value = complexity.note.partition(
            ", clipped at 1, the range of the losses: chaining gives "
        )
        cut.append(bool(clipped))
        assert bool(clipped) == (complexity.value == 1)
        values += [float(value)] if clipped else []
    assert cut == [True] * 4 + [False] * 2
    assert values == sorted(values, reverse=True) and 1 < values[-1] < 1.2


def test_certificates_print_as_the_command_does():
    folder = EXAMPLE_MODELS / "sparse-and"
    ranking = du.certify(folder / "model.safetensors", train=folder / "train.npz")
    best = ranking.best
    first = f"{best.quantity} ≤ 0.0135356"
    for result in (best, ranking, CertifiedRetraining(cast(Any, None), cast(Any, None), best)):
        lines = str(result).split("\n")
        assert lines[0] == first and len(lines) < SCREEN
    assert str(best) == as_text.text(Document("", (certificate_page.summary(best.to_json()),)))
    assert best.text().startswith("{")  # the file, as ever
    assert [row["method"] for row in ranking.table()] == [one.method for one in ranking.all]
    assert ranking.table()[0] == best.table()[0] and best.table()[0]["n"] == 2000
    assert "over 400" in str(du.outcomes(correct=np.arange(400) % 100 > 0))


class Elements(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self):
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


@each("name", SHOWN)
def test_html_has_no_script_and_the_same_words(name: str):
    result = EXAMPLES[name]()
    page = Elements()
    page.feed(result._repr_html_())
    assert not page.tags & {"script", "button", "style"}
    letters = re.findall(r"[A-Za-z_]{4,}", str(result).split("\n")[2])
    assert letters and all(word in " ".join(page.cells) for word in letters)


def test_html_is_escaped():
    bad = "<script>alert(1)</script>"
    html = lab.TrialTable(({bad: bad}, {bad: "&"}))._repr_html_()
    assert "<script" not in html and html.count("&lt;script&gt;") == 2
    assert "<script" not in du.Activate("relu")._repr_html_()


class Frames(ModuleType):
    """Stands for pandas: a frame is the rows that it was made of."""

    DataFrame = list


@each("name", SHOWN)
def test_rows_are_plain_and_alike(name: str, monkeypatch):
    result = EXAMPLES[name]()
    rows = result.table()
    assert rows and len({tuple(row) for row in rows}) == 1
    plain = (str, int, float, bool, type(None))
    assert all(isinstance(value, plain) for row in rows for value in row.values())
    monkeypatch.setitem(sys.modules, "pandas", Frames("pandas"))
    assert result.to_pandas() == rows
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ExtraMissing, match=r"pip install '\.\[pandas\]'"):
        result.to_pandas()


def test_pandas_makes_a_frame(require):
    from importlib.util import find_spec

    require("pandas", find_spec("pandas") is not None, "pip install '.[pandas]'")
    both = du.compare(HERE, "n=1e3:1e5:log3", papers=("trauger2024",))
    frame = both.to_pandas()
    assert len(frame) == len(both.table()) and list(frame.columns) == list(both.table()[0])


def test_rows_of_a_comparison_hold_every_outcome():
    both = du.compare(HERE, "n=1e3:1e5:log3", papers=("trauger2024",))
    rows = both.table()
    assert len(rows) == sum(len(curve) for row in both.rows for curve in row.curves.values())
    for row in rows:
        outcome = both.row(row["statement"]).curves[row["form"]][both.points.index(row["n"])]
        assert row["refused"] == (outcome if isinstance(outcome, str) else "")
        assert row["value"] == (None if isinstance(outcome, str) else outcome.value)


def test_shares_of_a_capacity_add_up():
    rows = du.capacity(NET, TOKENS, n=1e6).table()
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    assert [row["block"].rpartition(".")[2] for row in rows] == ["W_QK", "W_v", "W_c", "w"]


def test_rows_of_a_network_count_its_weights():
    rows = NET.table()
    assert sum(row["rows"] * row["columns"] for row in rows) == 3 * 64 * 64 + 64
    with pytest.raises(InputError, match="knows its input width"):
        du.Activate("relu").table()


def test_figures_are_drawn_without_a_window():
    pytest.importorskip("matplotlib")
    cap = du.capacity(NET, TOKENS, n=1e6)
    both = du.compare(HERE, "n=1e3:1e5:log3", papers=("trauger2024",))
    (gap,) = cap.figure().axes
    n, values = gap.lines[0].get_data()
    assert values == pytest.approx(cap.gaps(n, 0.05)) and values[0] == 1 and values[-1] < 0.0101
    assert len(both.figure().axes) == len(comparison_page.panels(both))
    (norms,) = du.measure("tiny-bert").figure().axes
    assert "W_QK" in [curve.get_label() for curve in norms.lines]
    assert "matplotlib.pyplot" not in vars(sys.modules["dudley.show.figures.figure"])


@each("name", ("Repeat", "TrialTable"))
def test_what_has_no_figure_says_so(name: str):
    with pytest.raises(DudleyError, match="no figure"):
        EXAMPLES[name]().figure()


def test_without_matplotlib_a_figure_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ExtraMissing, match=r"pip install '\.\[plots\]'"):
        du.measure("tiny-bert").figure()


def test_every_shown_class_has_its_view():
    def below(cls: type) -> set[type]:
        return {cls}.union(*(below(sub) for sub in cls.__subclasses__()))

    names = {cls.shown_as for cls in below(Shown) if hasattr(cls, "shown_as")}
    assert {"comparison", "measurement", "capacity", "network", "trials"} <= names
    assert all(issubclass(VIEWS[name], ResultView) for name in names)
